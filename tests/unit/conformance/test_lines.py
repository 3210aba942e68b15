"""Level 1: the contents of a line. Each case changes one line and leaves the others unchanged."""

import json
from io import BytesIO
from typing import Any

import pytest

from fake_ledger.files import RUN, ZEROS, canonical, leaf
from fake_ledger.run_builder import OPENED
from forum_conformance.entry import read_entry
from forum_conformance.finding import Finding
from forum_conformance.judge import judge_stream
from forum_conformance.lines import Line, Lines
from unit.conformance.judged_run import draft_and_review, findings, rechain, statuses

ENTRY: dict[str, Any] = {
    "v": 1,
    "run": RUN,
    "seq": 0,
    "at": "2026-11-15T09:00:00.000000Z",
    "actor": "runner",
    "kind": "x-note",
    "causes": [],
    "data": {},
    "bodies": {},
    "prev": ZEROS,
}


def code_of(content: bytes) -> str | None:
    result = read_entry(Line(0, content, leaf(content)))
    return result.code if isinstance(result, Finding) else None


def with_data(data: str) -> bytes:
    """Return the entry with `data` inserted unchanged."""
    return canonical(ENTRY).replace(b'"data":{}', b'"data":' + data.encode("utf-8", "surrogatepass"))


def with_fields(**fields: Any) -> bytes:
    return canonical({**ENTRY, **fields})


@pytest.mark.requirement("LEDGER-LINE-001")
def test_only_a_line_feed_ends_a_line() -> None:
    first = with_data('{"text":"a\u2028b\u0085c\u2029"}')
    lines = Lines(BytesIO(first + b"\n\r\n"))

    assert [line.content for line in lines] == [first, b"\r"]
    assert lines.torn_bytes == 0
    assert code_of(first) is None


@pytest.mark.requirement("LEDGER-LINE-001")
def test_bytes_after_the_last_line_feed_are_not_a_line() -> None:
    lines = Lines(BytesIO(b"{}\n" + b"x" * 200_000))

    assert [line.content for line in lines] == [b"{}"]
    assert lines.torn_bytes == 200_000


@pytest.mark.requirement("LEDGER-LINE-002")
@pytest.mark.parametrize(("length", "code"), [(65_535, None), (65_536, "L101"), (65_537, "L101"), (300_000, "L101")])
def test_a_line_has_at_most_65535_bytes(length: int, code: str | None) -> None:
    empty = with_data('{"text":""}')
    content = with_data('{"text":"' + "x" * (length - len(empty)) + '"}')
    (line,) = Lines(BytesIO(content + b"\n"))
    result = read_entry(line)

    assert len(content) == length
    assert (result.code if isinstance(result, Finding) else None) == code
    assert line.hash == leaf(content)


@pytest.mark.requirement("LEDGER-LINE-003")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" ",
        b"{",
        b"[]",
        b"null",
        b"1.5",
        b'"text"',
        b"\xef\xbb\xbf" + canonical(ENTRY),
        canonical(ENTRY) + canonical(ENTRY),
        canonical(ENTRY) + b"\x00",
        canonical(ENTRY).decode().encode("utf-16"),
        with_data('{"text":"\ud800"}'),
        with_data('{"text":"\\ud800"}'),
        with_data('{"text":"\\udc00\\ud800"}'),
        with_data('{"\\udfff":1}'),
        with_data('{"text":["\\ud800"],"text":1}'),
        with_data('{"number":NaN}'),
        with_data('{"number":-Infinity}'),
        with_data('{"number":01}'),
        with_data('{"text":"\x01"}'),
        with_data("{'text':1}"),
        with_data('{"list":[1,]}'),
        b"[" * 60_000,
        b'{"a":' * 10_000,
        b'\\"' * 30_000,
    ],
)
def test_a_line_is_one_json_object_in_utf8(content: bytes) -> None:
    assert code_of(content) == "L102"


@pytest.mark.requirement("LEDGER-LINE-003")
@pytest.mark.parametrize(("depth", "code"), [(64, None), (65, "L102")])
def test_a_line_has_at_most_64_nesting_levels(depth: int, code: str | None) -> None:
    inner = depth - 2
    content = with_data('{"deep":' + "[" * inner + '"[[["' + "]" * inner + "}")

    assert code_of(content) == code


@pytest.mark.requirement("LEDGER-LINE-003")
def test_a_surrogate_pair_is_a_character() -> None:
    assert code_of(with_data('{"text":"\\ud83d\\ude00"}')) == "L104"
    assert code_of(with_data('{"text":"\U0001f600"}')) is None
    assert code_of(with_data('{"text":"\\\\ud800"}')) is None


@pytest.mark.requirement("LEDGER-LINE-004")
@pytest.mark.parametrize("number", ["1.0", "1e2", "0.5", "9007199254740992", "-9007199254740992", "9" * 5_000, "1e400"])
def test_a_number_is_an_integer_in_range(number: str) -> None:
    assert code_of(with_data('{"number":' + number + "}")) == "L103"
    assert code_of(with_data('{"number":' + number + ',"number":1}')) == "L103"


@pytest.mark.requirement("LEDGER-LINE-004")
@pytest.mark.parametrize("number", ["9007199254740991", "-9007199254740991", "0"])
def test_safe_integers_are_in_range(number: str) -> None:
    assert code_of(with_data('{"number":' + number + "}")) is None


@pytest.mark.requirement("LEDGER-LINE-005")
@pytest.mark.parametrize(
    "content",
    [
        b" " + canonical(ENTRY),
        canonical(ENTRY) + b"\r",
        json.dumps(ENTRY).encode(),
        json.dumps(ENTRY, separators=(",", ":")).encode(),
        with_data('{"b":1,"a":1}'),
        with_data('{"a":1,"a":1}'),
        with_data('{"number":-0}'),
        with_data('{"text":"\\u0041"}'),
        with_data('{"text":"\\/"}'),
        with_data('{"\ufb33":1,"\U0001f600":1}'),
    ],
)
def test_a_line_is_in_canonical_form(content: bytes) -> None:
    assert code_of(content) == "L104"


@pytest.mark.requirement("LEDGER-LINE-005")
def test_keys_are_in_the_order_of_their_utf16_form() -> None:
    assert code_of(with_data('{"\U0001f600":1,"\ufb33":1}')) is None


@pytest.mark.requirement("LEDGER-LINE-006", "LEDGER-CHAIN-001")
def test_a_line_is_hashed_unchanged() -> None:
    lines = draft_and_review().lines()
    lines[3] = b" " + lines[3]
    lines[4:] = rechain_after(lines[3], lines[4:])

    report = judge_stream(BytesIO(b"".join(line + b"\n" for line in lines)))

    assert findings(report) == [("L104", 3)]


def rechain_after(line: bytes, following: list[bytes]) -> list[bytes]:
    first = json.loads(following[0])
    first["prev"] = leaf(line).hex()
    chained = [canonical(first)]
    for content in following[1:]:
        chained.append(canonical({**json.loads(content), "prev": leaf(chained[-1]).hex()}))
    return chained


@pytest.mark.requirement("LEDGER-ENTRY-001")
@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        with_fields(v=2),
        with_fields(v=True),
        with_fields(run=RUN.upper()),
        with_fields(seq=-1),
        with_fields(at="2026-11-15T09:00:00Z"),
        with_fields(at="2026-13-15T09:00:00.000000Z"),
        with_fields(actor="somebody"),
        with_fields(kind="Note"),
        with_fields(kind=["x-note"]),
        with_fields(kind="x-note\n"),
        with_fields(actor="agent:writer\n"),
        with_fields(causes=[0, "1"]),
        with_fields(data=[]),
        with_fields(bodies={"A": {}}),
        with_fields(bodies={"a": {"digest": ZEROS, "bytes": 1, "type": "text/plain", "salted": False}}),
        with_fields(bodies={"a": {"digest": ZEROS + "\n", "bytes": 1, "type": "text/plain"}}),
        with_fields(prev=ZEROS[1:]),
        with_fields(hash=ZEROS),
        with_fields(kind="run.paused", data={"reason": "tired"}),
        with_fields(kind="wave.opened", data={"wave": 0}, bodies={"a": {"digest": ZEROS, "bytes": 1, "type": "a/b"}}),
        with_fields(kind="edge.delivered", data={"task": "a", "as": "b"}),
    ],
)
def test_an_entry_must_match_its_schema(content: bytes) -> None:
    assert code_of(content) == "L105"


PLANNED = {"wave_plan": ZEROS, "bundle": ZEROS}
PLAN_BODY = {"wave_plan": {"digest": ZEROS, "bytes": 2, "type": "application/json"}}


@pytest.mark.requirement("LEDGER-KIND-001")
@pytest.mark.parametrize(
    ("members", "bodies", "code"),
    [
        ((), {}, None),
        (("bundle", "wave_plan"), PLAN_BODY, None),
        (("bundle", "wave_plan"), {}, "L105"),
        (("wave_plan",), PLAN_BODY, "L105"),
        (("bundle",), PLAN_BODY, "L105"),
        (("wave_plan",), {}, "L105"),
        (("bundle",), {}, "L105"),
        ((), PLAN_BODY, "L105"),
    ],
)
def test_a_ledger_has_all_members_about_a_plan_or_none(
    members: tuple[str, ...], bodies: dict[str, Any], code: str | None
) -> None:
    data = {**OPENED, **{name: PLANNED[name] for name in members}}

    assert code_of(with_fields(kind="run.opened", data=data, bodies=bodies)) == code


@pytest.mark.requirement("LEDGER-ENTRY-001")
@pytest.mark.parametrize(
    ("name", "code"),
    [("notes", None), ("N-1_", None), ("a" * 64, None), ("a" * 65, "L105"), ("1", "L105"), ("", "L105")]
    + [(name, "L105") for name in ("a/b", "../up", "a.b", ".a", "a b", "a\n", "é")],
)
def test_the_name_of_an_answer_must_be_a_valid_output_name(name: str, code: str | None) -> None:
    body = {"digest": ZEROS, "bytes": 1, "type": "text/plain"}

    assert code_of(with_fields(kind="answer.given", data={"output": name}, bodies={"value": body})) == code


@pytest.mark.requirement("LEDGER-ENTRY-002")
def test_kinds_are_closed_except_for_x_kinds() -> None:
    assert code_of(with_fields(kind="run.started")) == "L106"
    assert code_of(with_fields(kind="x-started", data={"anything": [None, True, "text"]})) is None
    body = {"digest": ZEROS, "bytes": 1, "type": "text/plain"}
    assert code_of(with_fields(kind="x-a.b", bodies={"any_name": body})) is None


@pytest.mark.requirement("LEDGER-ENTRY-004", "LEDGER-ENTRY-005")
def test_data_has_no_extra_members_and_a_body_has_digest_size_and_type() -> None:
    body = {"digest": ZEROS, "bytes": 1, "type": "text/plain", "salted": True}

    assert code_of(with_fields(kind="run.paused", data={"reason": "gate", "text": "because"})) == "L105"
    assert code_of(with_fields(bodies={"a": body})) is None
    assert code_of(with_fields(bodies={"a": {"digest": ZEROS, "bytes": 1}})) == "L105"


@pytest.mark.requirement("LEDGER-VERIFY-001", "LEDGER-VERIFY-002")
def test_all_bad_lines_are_reported_and_later_levels_are_not_checked() -> None:
    lines = rechain(draft_and_review().lines())
    lines[2] = b"{"
    lines[5] = b"[]"

    report = judge_stream(BytesIO(b"".join(line + b"\n" for line in lines)))

    assert findings(report) == [("L102", 2), ("L201", 3), ("L102", 5), ("L201", 6)]
    assert statuses(report) == ["fail", "fail", "not checked", "not checked", "not checked"]
    assert [level.first_bad_seq for level in report.levels] == [2, 3, None, None, None]
