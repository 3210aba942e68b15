"""Level 4: deliveries and answers, and the values that they carry."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fake_ledger.files import Body, json_body
from fake_ledger.run_builder import RunBuilder
from fake_ledger.wave_plans import data_edge, task, wave_plan
from unit.conformance.judged_run import findings, judged
from unit.conformance.steps import last_code

SALT, OTHER_SALT = bytes(range(32)), bytes(range(1, 33))
TEXT = Body(b"some text")


def level_4(story: RunBuilder, directory: Path) -> list[tuple[str, int | None]]:
    return [finding for finding in findings(judged(story.write(directory))) if finding[0][1] == "4"]


def delivered(source: dict[str, Any], output: Body, value: Body) -> RunBuilder:
    """Task `a` has an output, and `b` is handed a value that is made of it."""
    story = RunBuilder(wave_plan({"a": task(), "b": task(needs=[data_edge(source, "x")])}))
    story.deliver("b", "x", value, story.complete("a", output))
    return story


@pytest.mark.requirement("LEDGER-SEMANTICS-018", "LEDGER-KIND-004")
@pytest.mark.parametrize(
    ("source", "output", "value"),
    [
        ({"task": "a"}, TEXT, TEXT),
        ({"task": "a"}, Body(b"\xff\xfe", "image/png"), Body(b"\xff\xfe", "image/png")),
        ({"task": "a"}, Body(b'{"a": 1}', "application/json"), Body(b'{"a": 1}', "application/json")),
        ({"task": "a"}, Body(b"text", salt=SALT), Body(b"text", salt=OTHER_SALT)),
        ({"task": "a"}, TEXT, Body(TEXT.content, salt=SALT)),
        ({"task": "a", "select": ""}, TEXT, json_body("some text")),
        ({"list": [{"task": "a"}, {"task": "a"}]}, TEXT, json_body(["some text", "some text"])),
        ({"object": {"b": {"task": "a"}, "a": {"list": []}}}, json_body(1.5), json_body({"a": [], "b": 1.5})),
        ({"task": "a", "select": "/x/1"}, json_body({"x": [0, {"y": None}]}), json_body({"y": None})),
        ({"task": "a", "select": "/a~1b/~0"}, json_body({"a/b": {"~": True}}), json_body(True)),
        ({"task": "a", "select": "/"}, json_body({"": 1}), json_body(1)),
        ({"list": [{"task": "a"}], "select": "/0/x"}, json_body({"x": "y"}), json_body("y")),
        ({"task": "a", "select": "/x"}, json_body({"x": 1e21}), json_body(1e21)),
        ({"task": "a", "select": "/x"}, json_body({"x": 2**53 - 1}), json_body(2**53 - 1)),
        ({"task": "a", "select": "/x"}, json_body({"x": 1}, SALT), json_body(1, OTHER_SALT)),
    ],
)
def test_a_delivery_is_the_value(tmp_path: Path, source: dict[str, Any], output: Body, value: Body) -> None:
    assert last_code(delivered(source, output, value), tmp_path) is None


@pytest.mark.requirement("LEDGER-SEMANTICS-007", "LEDGER-SEMANTICS-018")
@pytest.mark.parametrize(
    ("source", "output", "value"),
    [
        ({"task": "a"}, TEXT, Body(b"other text")),
        ({"task": "a"}, Body(b"text", salt=SALT), Body(b"texts", salt=SALT)),
        ({"task": "a", "select": ""}, TEXT, TEXT),
        ({"list": [{"task": "a"}]}, json_body([1]), Body(b"[[1] ]", "application/json")),
        ({"task": "a", "select": "/x"}, json_body({"y": 1}), json_body(1)),
        ({"task": "a", "select": "/01"}, json_body([1, 2]), json_body(2)),
        ({"task": "a", "select": "/-"}, json_body([1]), json_body(1)),
        ({"task": "a", "select": "/2"}, json_body([1, 2]), json_body(None)),
        ({"task": "a", "select": "/0"}, json_body("text"), json_body("t")),
        ({"task": "a", "select": "/x"}, Body(b'{"x": 1}', "application/json"), json_body(1)),
        ({"task": "a", "select": "/x"}, Body(b'{"x":1}'), json_body(1)),
        ({"list": [{"task": "a"}]}, Body(b"\xff"), json_body(["\ufffd"])),
    ],
)
def test_a_delivery_that_is_not_the_value_is_told(
    tmp_path: Path, source: dict[str, Any], output: Body, value: Body
) -> None:
    assert last_code(delivered(source, output, value), tmp_path) == "L407"


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
@pytest.mark.parametrize(
    ("source", "output", "value", "gone"),
    [
        ({"task": "a", "select": "/x"}, json_body({"x": 1}), json_body(2), 0),
        ({"task": "a", "select": "/x"}, json_body({"x": 1}), json_body(2, SALT), 1),
        ({"task": "a"}, Body(b"text", salt=SALT), Body(b"other"), 0),
        ({"task": "a"}, Body(b"text"), Body(b"other", salt=SALT), 1),
    ],
)
def test_a_body_that_is_needed_and_redacted_settles_nothing(
    tmp_path: Path, source: dict[str, Any], output: Body, value: Body, gone: int
) -> None:
    story = delivered(source, output, value)
    assert last_code(story, tmp_path / "there") == "L407"

    story.redact((output, value)[gone], "body", 2)

    assert level_4(story, tmp_path / "gone") == []


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
@pytest.mark.parametrize(
    ("source", "output", "value"),
    [({"task": "a"}, TEXT, Body(b"other")), ({"task": "a", "select": "/x"}, json_body({"x": 1}), json_body(2))],
)
def test_the_digest_of_a_plain_body_tells_its_bytes_even_if_it_is_redacted(
    tmp_path: Path, source: dict[str, Any], output: Body, value: Body
) -> None:
    story = delivered(source, output, value)
    story.redact(value, "value", 4)
    assert level_4(story, tmp_path / "other") == [("L407", 4)]

    same = delivered({"task": "a"}, TEXT, TEXT)
    same.redact(TEXT, "output", 2)
    assert level_4(same, tmp_path / "same") == []


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
@pytest.mark.parametrize("gone", [0, 1])
@pytest.mark.parametrize(("content", "code"), [(TEXT.content, None), (b"other", "L407")])
def test_a_plain_body_that_is_redacted_is_compared_with_a_salted_one_that_is_there(
    tmp_path: Path, gone: int, content: bytes, code: str | None
) -> None:
    bodies = [TEXT, Body(content, salt=SALT)]
    story = delivered({"task": "a"}, bodies[gone], bodies[1 - gone])

    story.redact(TEXT, "body", 2)

    assert level_4(story, tmp_path) == ([(code, 4)] if code else [])


@pytest.mark.requirement("LEDGER-SEMANTICS-018", "LEDGER-KIND-004")
@pytest.mark.parametrize("digits", [b"9007199254740992", b"-9007199254740992", b"1" + b"0" * 20, b"9" * 5_000])
def test_an_integer_beyond_the_safe_ones_has_no_canonical_form(tmp_path: Path, digits: bytes) -> None:
    output = Body(b'{"x":1,"y":' + digits + b"}", "application/json")
    assert last_code(delivered({"task": "a", "select": "/x"}, output, json_body(1)), tmp_path / "in") == "L407"

    whole = delivered({"task": "a"}, output, output)
    assert last_code(whole, tmp_path / "whole") is None


def nested(depth: int) -> Body:
    return Body(b"[" * depth + b"]" * depth, "application/json")


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
@pytest.mark.parametrize(("depth", "code"), [(254, None), (255, "L407"), (100_000, "L407")])
def test_a_body_that_is_needed_is_nested_at_most_254_deep(tmp_path: Path, depth: int, code: str | None) -> None:
    source = {"task": "a", "select": "/0"}

    assert last_code(delivered(source, nested(depth), nested(depth - 1)), tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
@pytest.mark.parametrize(("depth", "code"), [(253, None), (254, "L407")])
@pytest.mark.parametrize("part", [{"list": [{"task": "a"}]}, {"list": [{"list": [{"task": "a"}]}], "select": "/0"}])
def test_a_value_that_is_made_is_nested_at_most_254_deep(
    tmp_path: Path, depth: int, code: str | None, part: dict[str, Any]
) -> None:
    assert last_code(delivered(part, nested(depth), nested(depth + 1)), tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
def test_a_part_that_cannot_be_made_settles_nothing_beside_one_that_is_gone(tmp_path: Path) -> None:
    unmade = {"task": "a", "select": "/nowhere"}
    for number, parts in enumerate([[unmade, {"task": "b"}], [{"task": "b"}, unmade]]):
        plan = wave_plan({"a": task(), "b": task(), "c": task(needs=[data_edge({"list": parts}, "x")])})
        story = RunBuilder(plan)
        story.complete("a", json_body({}))
        ended = story.complete("b", TEXT)
        delivery = story.deliver("c", "x", json_body(["other"]), ended)
        assert level_4(story, tmp_path / f"{number}, there") == [("L407", delivery)]

        story.redact(TEXT, "output", ended - 1)
        assert level_4(story, tmp_path / f"{number}, gone") == []


@pytest.mark.requirement("LEDGER-VERIFY-001", "LEDGER-SEMANTICS-018")
def test_a_body_that_is_called_redacted_and_is_there_settles_what_it_holds(tmp_path: Path) -> None:
    story = delivered({"task": "a", "select": "/x"}, json_body({"x": 1}), json_body(2))
    story.redact(json_body({"x": 1}), "output", 2)
    story.redacted.clear()

    assert findings(judged(story.write(tmp_path))) == [("L306", 2), ("L407", 4), ("L501", None)]


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
def test_values_may_be_made_of_others_many_times_over(tmp_path: Path) -> None:
    source: dict[str, Any] = {"task": "a"}
    value: Any = 1
    for _ in range(120):
        source, value = {"list": [source]}, [value]

    assert last_code(delivered(source, json_body(1), json_body(value)), tmp_path) is None


@pytest.mark.requirement("LEDGER-SEMANTICS-007")
@pytest.mark.parametrize(
    ("code", "tell"),
    [
        (None, lambda story: story.complete("a", TEXT)),
        ("L403", lambda story: (story.start("a"), story.finish("a", TEXT))[1]),
        ("L404", lambda story: story.end("a", "skipped")),
        ("L426", lambda story: story.complete("a", TEXT) - 1),
    ],
)
def test_a_delivery_follows_from_the_end_of_its_source(
    tmp_path: Path, code: str | None, tell: Callable[[RunBuilder], int]
) -> None:
    story = RunBuilder(wave_plan({"a": task(), "b": task(needs=[data_edge({"task": "a"}, "x")])}))

    story.deliver("b", "x", TEXT, tell(story))

    assert last_code(story, tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-007")
def test_the_cause_is_the_end_of_the_source_that_ended_last(tmp_path: Path) -> None:
    both = {"list": [{"task": "a"}, {"task": "b"}]}
    for last_first in (True, False):
        story = RunBuilder(wave_plan({"a": task(), "b": task(), "c": task(needs=[data_edge(both, "x")])}))
        ends = [story.complete("b", json_body(2)), story.complete("a", json_body(1))]
        story.deliver("c", "x", json_body([1, 2]), ends[last_first])

        assert last_code(story, tmp_path / str(last_first)) == (None if last_first else "L426")


@pytest.mark.requirement("LEDGER-SEMANTICS-007")
def test_an_edge_is_delivered_once_and_before_the_unit_begins(tmp_path: Path) -> None:
    twice = delivered({"task": "a"}, TEXT, TEXT)
    twice.deliver("b", "x", TEXT, 3)
    assert last_code(twice, tmp_path / "twice") == "L409"

    begun = delivered({"task": "a"}, TEXT, TEXT)
    begun.start("b")
    begun.deliver("b", "x", TEXT, 3)
    assert last_code(begun, tmp_path / "begun") == "L409"

    ended = RunBuilder(wave_plan({"a": task(), "b": task(needs=[data_edge({"task": "a"}, "x")])}))
    cause = ended.complete("a", TEXT)
    ended.end("b", "stopped")
    ended.deliver("b", "x", TEXT, cause)
    assert last_code(ended, tmp_path / "ended") == "L409"


@pytest.mark.requirement("LEDGER-SEMANTICS-016")
@pytest.mark.parametrize(
    ("code", "tell"),
    [
        (None, lambda story: story.answer("o", TEXT, story.complete("a", TEXT))),
        ("L425", lambda story: story.answer("o", TEXT, 0)),
        ("L425", lambda story: story.answer("o", TEXT, story.end("a", "failed"))),
        ("L425", lambda story: story.answer("o", Body(b"other"), story.complete("a", TEXT))),
        ("L426", lambda story: story.answer("o", TEXT, story.complete("a", TEXT) - 1)),
    ],
)
def test_an_answer_is_the_value_of_its_output(
    tmp_path: Path, code: str | None, tell: Callable[[RunBuilder], int]
) -> None:
    story = RunBuilder(wave_plan({"a": task()}, outputs={"o": {"task": "a"}}))

    tell(story)

    assert last_code(story, tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-016")
def test_an_answer_is_given_once(tmp_path: Path) -> None:
    story = RunBuilder(wave_plan({"a": task()}, outputs={"o": {"task": "a"}}))
    ended = story.complete("a", TEXT)
    story.answer("o", TEXT, ended)
    story.answer("o", TEXT, ended)

    assert last_code(story, tmp_path) == "L425"
