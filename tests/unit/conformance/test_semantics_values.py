"""Level 4: deliveries and answers, and their values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fake_ledger.files import Body, json_body
from fake_ledger.run_builder import RunBuilder
from fake_ledger.wave_plans import data_edge, task, wave_plan
from unit.conformance.judged_run import findings, judge_directory
from unit.conformance.steps import last_code

SALT, OTHER_SALT = bytes(range(32)), bytes(range(1, 33))
TEXT = Body(b"some text")


def level_4_findings(builder: RunBuilder, directory: Path) -> list[tuple[str, int | None]]:
    return [finding for finding in findings(judge_directory(builder.write(directory))) if finding[0][1] == "4"]


def run_with_delivery(source: dict[str, Any], output: Body, value: Body) -> RunBuilder:
    """Build a run in which `b` receives a value from the output of `a`."""
    builder = RunBuilder(wave_plan({"a": task(), "b": task(needs=[data_edge(source, "x")])}))
    builder.deliver("b", "x", value, builder.complete("a", output))
    return builder


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
def test_a_delivery_has_the_value_of_its_source(
    tmp_path: Path, source: dict[str, Any], output: Body, value: Body
) -> None:
    assert last_code(run_with_delivery(source, output, value), tmp_path) is None


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
def test_a_delivery_with_a_different_value_is_a_finding(
    tmp_path: Path, source: dict[str, Any], output: Body, value: Body
) -> None:
    assert last_code(run_with_delivery(source, output, value), tmp_path) == "L407"


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
@pytest.mark.parametrize(
    ("source", "output", "value", "redacted"),
    [
        ({"task": "a", "select": "/x"}, json_body({"x": 1}), json_body(2), 0),
        ({"task": "a", "select": "/x"}, json_body({"x": 1}), json_body(2, SALT), 1),
        ({"task": "a"}, Body(b"text", salt=SALT), Body(b"other"), 0),
        ({"task": "a"}, Body(b"text"), Body(b"other", salt=SALT), 1),
    ],
)
def test_a_value_from_a_redacted_body_is_not_checked(
    tmp_path: Path, source: dict[str, Any], output: Body, value: Body, redacted: int
) -> None:
    builder = run_with_delivery(source, output, value)
    assert last_code(builder, tmp_path / "present") == "L407"

    builder.redact((output, value)[redacted], "body", 2)

    assert level_4_findings(builder, tmp_path / "redacted") == []


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
@pytest.mark.parametrize(
    ("source", "output", "value"),
    [({"task": "a"}, TEXT, Body(b"other")), ({"task": "a", "select": "/x"}, json_body({"x": 1}), json_body(2))],
)
def test_a_redacted_plain_body_is_compared_by_its_digest(
    tmp_path: Path, source: dict[str, Any], output: Body, value: Body
) -> None:
    builder = run_with_delivery(source, output, value)
    builder.redact(value, "value", 4)
    assert level_4_findings(builder, tmp_path / "other") == [("L407", 4)]

    same = run_with_delivery({"task": "a"}, TEXT, TEXT)
    same.redact(TEXT, "output", 2)
    assert level_4_findings(same, tmp_path / "same") == []


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
@pytest.mark.parametrize("redacted", [0, 1])
@pytest.mark.parametrize(("content", "code"), [(TEXT.content, None), (b"other", "L407")])
def test_a_redacted_plain_body_is_compared_with_a_salted_one(
    tmp_path: Path, redacted: int, content: bytes, code: str | None
) -> None:
    bodies = [TEXT, Body(content, salt=SALT)]
    builder = run_with_delivery({"task": "a"}, bodies[redacted], bodies[1 - redacted])

    builder.redact(TEXT, "body", 2)

    assert level_4_findings(builder, tmp_path) == ([(code, 4)] if code else [])


@pytest.mark.requirement("LEDGER-SEMANTICS-018", "LEDGER-KIND-004")
@pytest.mark.parametrize("digits", [b"9007199254740992", b"-9007199254740992", b"1" + b"0" * 20, b"9" * 5_000])
def test_an_unsafe_integer_has_no_canonical_form(tmp_path: Path, digits: bytes) -> None:
    output = Body(b'{"x":1,"y":' + digits + b"}", "application/json")
    assert last_code(run_with_delivery({"task": "a", "select": "/x"}, output, json_body(1)), tmp_path / "in") == "L407"

    whole = run_with_delivery({"task": "a"}, output, output)
    assert last_code(whole, tmp_path / "whole") is None


def nested(depth: int) -> Body:
    return Body(b"[" * depth + b"]" * depth, "application/json")


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
@pytest.mark.parametrize(("depth", "code"), [(254, None), (255, "L407"), (100_000, "L407")])
def test_a_selected_body_has_at_most_254_nesting_levels(tmp_path: Path, depth: int, code: str | None) -> None:
    source = {"task": "a", "select": "/0"}

    assert last_code(run_with_delivery(source, nested(depth), nested(depth - 1)), tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
@pytest.mark.parametrize(("depth", "code"), [(253, None), (254, "L407")])
@pytest.mark.parametrize("part", [{"list": [{"task": "a"}]}, {"list": [{"list": [{"task": "a"}]}], "select": "/0"}])
def test_a_built_value_has_at_most_254_nesting_levels(
    tmp_path: Path, depth: int, code: str | None, part: dict[str, Any]
) -> None:
    assert last_code(run_with_delivery(part, nested(depth), nested(depth + 1)), tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
def test_a_missing_part_is_not_checked_if_another_part_is_redacted(tmp_path: Path) -> None:
    missing = {"task": "a", "select": "/missing"}
    for number, parts in enumerate([[missing, {"task": "b"}], [{"task": "b"}, missing]]):
        plan = wave_plan({"a": task(), "b": task(), "c": task(needs=[data_edge({"list": parts}, "x")])})
        builder = RunBuilder(plan)
        builder.complete("a", json_body({}))
        ended = builder.complete("b", TEXT)
        delivery = builder.deliver("c", "x", json_body(["other"]), ended)
        assert level_4_findings(builder, tmp_path / f"{number}, present") == [("L407", delivery)]

        builder.redact(TEXT, "output", ended - 1)
        assert level_4_findings(builder, tmp_path / f"{number}, redacted") == []


@pytest.mark.requirement("LEDGER-VERIFY-001", "LEDGER-SEMANTICS-018")
def test_a_body_that_is_redacted_but_present_is_checked(tmp_path: Path) -> None:
    builder = run_with_delivery({"task": "a", "select": "/x"}, json_body({"x": 1}), json_body(2))
    builder.redact(json_body({"x": 1}), "output", 2)
    builder.redacted.clear()

    assert findings(judge_directory(builder.write(tmp_path))) == [("L306", 2), ("L407", 4), ("L501", None)]


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
def test_values_may_be_deeply_nested(tmp_path: Path) -> None:
    source: dict[str, Any] = {"task": "a"}
    value: Any = 1
    for _ in range(120):
        source, value = {"list": [source]}, [value]

    assert last_code(run_with_delivery(source, json_body(1), json_body(value)), tmp_path) is None


@pytest.mark.requirement("LEDGER-SEMANTICS-007")
@pytest.mark.parametrize(
    ("code", "add"),
    [
        (None, lambda builder: builder.complete("a", TEXT)),
        ("L403", lambda builder: (builder.start("a"), builder.finish("a", TEXT))[1]),
        ("L404", lambda builder: builder.end("a", "skipped")),
        ("L426", lambda builder: builder.complete("a", TEXT) - 1),
    ],
)
def test_a_delivery_follows_from_the_end_of_its_source(
    tmp_path: Path, code: str | None, add: Callable[[RunBuilder], int]
) -> None:
    builder = RunBuilder(wave_plan({"a": task(), "b": task(needs=[data_edge({"task": "a"}, "x")])}))

    builder.deliver("b", "x", TEXT, add(builder))

    assert last_code(builder, tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-007")
def test_the_cause_of_a_delivery_is_the_source_that_ended_last(tmp_path: Path) -> None:
    both = {"list": [{"task": "a"}, {"task": "b"}]}
    for is_last in (True, False):
        builder = RunBuilder(wave_plan({"a": task(), "b": task(), "c": task(needs=[data_edge(both, "x")])}))
        ends = [builder.complete("b", json_body(2)), builder.complete("a", json_body(1))]
        builder.deliver("c", "x", json_body([1, 2]), ends[is_last])

        assert last_code(builder, tmp_path / str(is_last)) == (None if is_last else "L426")


@pytest.mark.requirement("LEDGER-SEMANTICS-007")
def test_an_edge_is_delivered_once_before_the_unit_starts(tmp_path: Path) -> None:
    twice = run_with_delivery({"task": "a"}, TEXT, TEXT)
    twice.deliver("b", "x", TEXT, 3)
    assert last_code(twice, tmp_path / "twice") == "L409"

    started = run_with_delivery({"task": "a"}, TEXT, TEXT)
    started.start("b")
    started.deliver("b", "x", TEXT, 3)
    assert last_code(started, tmp_path / "started") == "L409"

    ended = RunBuilder(wave_plan({"a": task(), "b": task(needs=[data_edge({"task": "a"}, "x")])}))
    cause = ended.complete("a", TEXT)
    ended.end("b", "stopped")
    ended.deliver("b", "x", TEXT, cause)
    assert last_code(ended, tmp_path / "ended") == "L409"


@pytest.mark.requirement("LEDGER-SEMANTICS-016")
@pytest.mark.parametrize(
    ("code", "add"),
    [
        (None, lambda builder: builder.answer("o", TEXT, builder.complete("a", TEXT))),
        ("L425", lambda builder: builder.answer("o", TEXT, 0)),
        ("L425", lambda builder: builder.answer("o", TEXT, builder.end("a", "failed"))),
        ("L425", lambda builder: builder.answer("o", Body(b"other"), builder.complete("a", TEXT))),
        ("L426", lambda builder: builder.answer("o", TEXT, builder.complete("a", TEXT) - 1)),
    ],
)
def test_an_answer_has_the_value_of_its_output(
    tmp_path: Path, code: str | None, add: Callable[[RunBuilder], int]
) -> None:
    builder = RunBuilder(wave_plan({"a": task()}, outputs={"o": {"task": "a"}}))

    add(builder)

    assert last_code(builder, tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-016")
def test_an_answer_is_given_once(tmp_path: Path) -> None:
    builder = RunBuilder(wave_plan({"a": task()}, outputs={"o": {"task": "a"}}))
    ended = builder.complete("a", TEXT)
    builder.answer("o", TEXT, ended)
    builder.answer("o", TEXT, ended)

    assert last_code(builder, tmp_path) == "L425"
