"""How a reply becomes an output."""

import json
from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Executable, Failure
from forum_runner.execute.machine.reply_parser import ReplyFailure, read_text
from forum_runner.ledger.body import TEXT, Body
from unit.runner.execute.small_runs import RUN, WORK, ByHand, Entry

ANYTHING = {**WORK, "output": True}


def finished(task: dict[str, Any], content: str | bytes, **reply: Any) -> Entry:
    hand = ByHand({"a": task})
    hand.reply("a", content, **reply)
    return hand.story.one("task.finished")


@pytest.mark.requirement("RUN-READ-001")
@pytest.mark.parametrize(
    ("content", "output"), [("x\n", b"x"), ("x\r\n", b"x"), ("x\n\n", b"x\n"), ("x\r", b"x\r"), ("\nx", b"\nx")]
)
def test_one_line_end_is_dropped_and_not_counted(content: str, output: bytes) -> None:
    entry = finished(WORK, content)

    assert entry.bodies == {"output": output}
    assert entry.data["usage"]["output_bytes"] == len(output)


@pytest.mark.requirement("RUN-READ-002")
def test_text_is_the_output_as_it_is() -> None:
    assert finished(WORK, "```\nfenced\n```").bodies == {"output": b"```\nfenced\n```"}


@pytest.mark.requirement("RUN-READ-002")
def test_text_that_is_not_utf_8_is_malformed() -> None:
    entry = finished(WORK, b"ab\xff")

    assert (entry.data["status"], entry.data["error"]) == ("error", "malformed")
    assert entry.bodies == {
        "reply": b"ab\xff",
        "detail": b'{"code":"not_utf8","message":"the answer is not valid UTF-8 at byte 2"}',
    }


MIB = 1 << 20


@pytest.mark.requirement("RUN-READ-002")
@pytest.mark.parametrize("before", [0, 1, 2, 3, MIB - 3, MIB, MIB + 1])
@pytest.mark.parametrize("character", ["é", "€", "😀"])
def test_a_large_text_is_read_whatever_its_characters(before: int, character: str) -> None:
    content = b"x" * before + character.encode() * MIB

    assert read_text(content, is_sensitive=False) == Body(content, TEXT)


@pytest.mark.requirement("RUN-READ-002")
@pytest.mark.parametrize("before", [0, MIB - 2, MIB - 1, MIB, 3 * MIB + 1])
@pytest.mark.parametrize("wrong", [b"\xff", "😀".encode()[:3], b"\xed\xa0\x80", b"\xc3("])
@pytest.mark.parametrize("after", [b"", b"(" * MIB])
def test_the_first_byte_of_a_large_text_that_cannot_be_read_is_named(before: int, wrong: bytes, after: bytes) -> None:
    content = "é".encode() * before + wrong + after

    message = f"the answer is not valid UTF-8 at byte {2 * before}"
    assert read_text(content, is_sensitive=False) == ReplyFailure(ErrorKind.MALFORMED, message, code="not_utf8")


@pytest.mark.requirement("RUN-READ-003")
@pytest.mark.parametrize(
    ("content", "output"),
    [
        ('{"b":1,"a":[true,null]}', b'{"a":[true,null],"b":1}'),
        (' \t\r\n"x" \n', b'"x"'),
        ("1.0", b"1"),
        ("1e-7", b"1e-7"),
        ("-0", b"0"),
        ("9007199254740991", b"9007199254740991"),
        ('"\\u00e9"', '"é"'.encode()),
        ("[" * 254 + "]" * 254, b"[" * 254 + b"]" * 254),
    ],
)
def test_one_json_value_is_the_output_in_canonical_form(content: str, output: bytes) -> None:
    assert finished(ANYTHING, content).bodies["output"] == output


@pytest.mark.requirement("RUN-READ-003")
@pytest.mark.parametrize(
    "content",
    [
        "",
        "Here it is: {}",
        "{} {}",
        "{'a': 1}",
        '{"a":1,}',
        '{"a":1,"a":1}',
        "NaN",
        "-Infinity",
        "1e400",
        "9007199254740992",
        '"\\ud800"',
        '"a\nb"',
        "\ufeff{}",
        "\u00a01",
        "01",
        "[" * 255 + "]" * 255,
        "[" * 100_000,
        b'"\xff"',
    ],
)
def test_what_is_not_one_plain_json_value_is_malformed(content: str | bytes) -> None:
    entry = finished(ANYTHING, content)

    assert (entry.data["status"], entry.data.get("error")) == ("error", "malformed")


@pytest.mark.requirement("RUN-READ-004")
@pytest.mark.parametrize(
    "content",
    ["```json\n[1]\n```", "```\n[1]\n```", "\n\n``` \t\r\n[1]\r\n```\n\n", "```JSON\n[1]```", "```\n[1]\n  ```"],
)
def test_a_whole_answer_in_one_fence_is_read(content: str) -> None:
    entry = finished(ANYTHING, content)

    assert entry.bodies["output"] == b"[1]"
    assert entry.bodies["reply"].startswith(content.rstrip("\n").encode())


@pytest.mark.requirement("RUN-READ-004")
@pytest.mark.parametrize(
    "content",
    ["```json\n[1]\n```\nThere.", "``[1]``", "```json [1]\n```", "```\n[1]\n", "```a1\n[1]\n```", "~~~\n[1]\n~~~"],
)
def test_nothing_else_is_mended(content: str) -> None:
    assert finished(ANYTHING, content).data["error"] == "malformed"


@pytest.mark.requirement("RUN-READ-005", "RUN-READ-007")
def test_a_value_that_does_not_fit_says_so() -> None:
    entry = finished({**WORK, "output": {"type": "object"}}, "[]")

    assert entry.data["error"] == "schema_mismatch"
    assert json.loads(entry.bodies["detail"])["message"].startswith("the answer does not match the output schema: ")
    assert entry.bodies["reply"] == b"[]"


@pytest.mark.requirement("RUN-READ-005")
def test_an_answer_that_lacks_what_the_plan_gives_back_does_not_fit() -> None:
    hand = ByHand({"a": ANYTHING}, outputs={"o": {"task": "a", "select": "/items"}})
    hand.reply("a", "{}")

    entry = hand.story.one("task.finished")
    assert entry.data["error"] == "schema_mismatch"
    message = "the answer has no value at '/items', which an output of the plan selects"
    assert json.loads(entry.bodies["detail"]) == {"code": "missing_output", "message": message}


@pytest.mark.requirement("RUN-READ-005")
def test_formats_are_not_checked() -> None:
    assert finished({**WORK, "output": {"type": "string", "format": "date"}}, '"soon"').data["status"] == "ok"


@pytest.mark.requirement("RUN-READ-007")
@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ("{", "not_json", "the answer is not a single JSON value, or it repeats a key"),
        ('{"a": 1, "a": 2}', "not_json", "the answer is not a single JSON value, or it repeats a key"),
        ("9007199254740992", "not_canonical", "the answer contains a number or a string that has no canonical form"),
        ("[" * 100_000, "too_deep", "the answer is nested too deeply"),
        ("[" * 255 + "]" * 255, "too_deep", "the answer is nested too deeply"),
    ],
)
def test_a_rejected_answer_has_a_code_and_a_message(content: str, code: str, message: str) -> None:
    assert json.loads(finished(ANYTHING, content).bodies["detail"]) == {"code": code, "message": message}


@pytest.mark.requirement("RUN-READ-007")
@pytest.mark.parametrize(
    ("content", "misfit"),
    [
        ("[]", "the value does not satisfy 'type': \"object\""),
        ('{"b": 1, "c": "x"}', "the value does not satisfy 'required': [\"a\"]"),
        ('{"a": "x", "b": "y"}', "the value at '/a' does not satisfy 'type': \"integer\""),
    ],
)
def test_a_misfit_is_the_least_by_pointer_and_keyword(content: str, misfit: str) -> None:
    number = {"type": "integer"}
    schema = {"type": "object", "required": ["a"], "properties": {"a": number, "b": number, "c": number}}

    entry = finished({**WORK, "output": schema}, content)

    message = f"the answer does not match the output schema: {misfit}"
    assert json.loads(entry.bodies["detail"]) == {"code": "schema", "message": message}


@pytest.mark.requirement("RUN-READ-006")
def test_a_reply_that_is_the_output_is_not_kept_twice() -> None:
    assert finished(ANYTHING, "[1]").bodies == {"output": b"[1]"}


@pytest.mark.requirement("RUN-READ-006")
def test_a_reply_that_is_not_the_output_is_kept() -> None:
    assert finished(ANYTHING, "[ 1 ]").bodies == {"output": b"[1]", "reply": b"[ 1 ]"}


@pytest.mark.requirement("RUN-READ-006")
def test_a_program_leaves_its_status_its_path_and_what_it_said_aside() -> None:
    executable = Executable("/usr/bin/git", "0" * 64)
    entry = finished(RUN, "out", exit_status=0, stderr=b"aside\n", executable=executable)

    assert entry.bodies == {"output": b"out", "stderr": b"aside\n", "detail": b'{"path":"/usr/bin/git"}'}
    assert {name: entry.data[name] for name in ("exit_status", "executable")} == {
        "exit_status": 0,
        "executable": "0" * 64,
    }


@pytest.mark.requirement("RUN-READ-006")
def test_an_error_tells_what_the_other_side_said() -> None:
    failure = Failure(ErrorKind.RATE_LIMITED, "slow down", 0)
    entry = finished(WORK, "", failure=failure, model="m-1", finish="stop")

    assert entry.bodies == {
        "detail": b'{"finish":"stop","message":"slow down","model":"m-1","retry_after_ms":0}',
    }
    assert (entry.data["status"], entry.data["error"]) == ("error", "rate_limited")


@pytest.mark.requirement("RUN-READ-006", "RUN-HAND-003")
def test_bodies_of_a_call_have_their_types_and_salts() -> None:
    hand = ByHand({"a": {**ANYTHING, "sensitive": True}})
    hand.reply("a", "[ 1 ]", stderr=b"aside", model="m-1")

    kept = [(name, body.type, body.is_sensitive) for stored in hand.story.stored for name, body in stored.items()]
    assert kept == [
        ("prompt", "application/json", True),
        ("output", "application/json", True),
        ("reply", "application/octet-stream", True),
        ("stderr", "application/octet-stream", True),
        ("detail", "application/json", True),
    ]


@pytest.mark.requirement("RUN-ERROR-001")
def test_a_cancelled_call_is_no_error() -> None:
    hand = ByHand({"a": WORK})
    hand.reply("a", "", failure=Failure(ErrorKind.CANCELLED, "the call was cancelled"))

    entry = hand.story.one("task.finished")
    assert entry.data["status"] == "cancelled"
    assert "error" not in entry.data
    assert hand.open["a"].number == 2
