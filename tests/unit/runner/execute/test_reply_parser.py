"""How a reply is parsed into an output."""

import json
from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Executable, Failure
from forum_runner.execute.machine.reply_parser import ReplyFailure, read_text
from forum_runner.ledger.body import TEXT, Body
from unit.runner.execute.small_runs import RUN, WORK, Entry, ManualRun

ANYTHING = {**WORK, "output": True}


def finished(task: dict[str, Any], content: str | bytes, **reply: Any) -> Entry:
    manual = ManualRun({"a": task})
    manual.reply("a", content, **reply)
    return manual.recorded.only("task.finished")


@pytest.mark.requirement("RUN-READ-001")
@pytest.mark.parametrize(
    ("content", "output"), [("x\n", b"x"), ("x\r\n", b"x"), ("x\n\n", b"x\n"), ("x\r", b"x\r"), ("\nx", b"\nx")]
)
def test_one_trailing_line_break_is_dropped_and_not_counted(content: str, output: bytes) -> None:
    entry = finished(WORK, content)

    assert entry.bodies == {"output": output}
    assert entry.data["usage"]["output_bytes"] == len(output)


@pytest.mark.requirement("RUN-READ-002")
def test_text_is_the_output_unchanged() -> None:
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
def test_a_large_text_with_multibyte_characters_is_read(before: int, character: str) -> None:
    content = b"x" * before + character.encode() * MIB

    assert read_text(content, is_sensitive=False) == Body(content, TEXT)


@pytest.mark.requirement("RUN-READ-002")
@pytest.mark.parametrize("before", [0, MIB - 2, MIB - 1, MIB, 3 * MIB + 1])
@pytest.mark.parametrize("wrong", [b"\xff", "😀".encode()[:3], b"\xed\xa0\x80", b"\xc3("])
@pytest.mark.parametrize("after", [b"", b"(" * MIB])
def test_the_error_names_the_first_invalid_byte_of_a_large_text(before: int, wrong: bytes, after: bytes) -> None:
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
def test_a_json_value_is_stored_in_canonical_form(content: str, output: bytes) -> None:
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
def test_anything_but_one_strict_json_value_is_malformed(content: str | bytes) -> None:
    entry = finished(ANYTHING, content)

    assert (entry.data["status"], entry.data.get("error")) == ("error", "malformed")


@pytest.mark.requirement("RUN-READ-004")
@pytest.mark.parametrize(
    "content",
    ["```json\n[1]\n```", "```\n[1]\n```", "\n\n``` \t\r\n[1]\r\n```\n\n", "```JSON\n[1]```", "```\n[1]\n  ```"],
)
def test_an_answer_inside_one_code_fence_is_read(content: str) -> None:
    entry = finished(ANYTHING, content)

    assert entry.bodies["output"] == b"[1]"
    assert entry.bodies["reply"].startswith(content.rstrip("\n").encode())


@pytest.mark.requirement("RUN-READ-004")
@pytest.mark.parametrize(
    "content",
    ["```json\n[1]\n```\nThere.", "``[1]``", "```json [1]\n```", "```\n[1]\n", "```a1\n[1]\n```", "~~~\n[1]\n~~~"],
)
def test_other_wrappings_are_malformed(content: str) -> None:
    assert finished(ANYTHING, content).data["error"] == "malformed"


@pytest.mark.requirement("RUN-READ-005", "RUN-READ-007")
def test_a_value_that_does_not_match_the_schema_is_a_mismatch() -> None:
    entry = finished({**WORK, "output": {"type": "object"}}, "[]")

    assert entry.data["error"] == "schema_mismatch"
    assert json.loads(entry.bodies["detail"])["message"].startswith("the answer does not match the output schema: ")
    assert entry.bodies["reply"] == b"[]"


@pytest.mark.requirement("RUN-READ-005")
def test_an_answer_without_the_value_a_plan_output_selects_is_a_mismatch() -> None:
    manual = ManualRun({"a": ANYTHING}, outputs={"o": {"task": "a", "select": "/items"}})
    manual.reply("a", "{}")

    entry = manual.recorded.only("task.finished")
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
    ("content", "mismatch"),
    [
        ("[]", "the value does not satisfy 'type': \"object\""),
        ('{"b": 1, "c": "x"}', "the value does not satisfy 'required': [\"a\"]"),
        ('{"a": "x", "b": "y"}', "the value at '/a' does not satisfy 'type': \"integer\""),
    ],
)
def test_the_reported_mismatch_is_the_first_by_pointer_and_keyword(content: str, mismatch: str) -> None:
    number = {"type": "integer"}
    schema = {"type": "object", "required": ["a"], "properties": {"a": number, "b": number, "c": number}}

    entry = finished({**WORK, "output": schema}, content)

    message = f"the answer does not match the output schema: {mismatch}"
    assert json.loads(entry.bodies["detail"]) == {"code": "schema", "message": message}


@pytest.mark.requirement("RUN-READ-006")
def test_a_reply_equal_to_the_output_is_not_stored_twice() -> None:
    assert finished(ANYTHING, "[1]").bodies == {"output": b"[1]"}


@pytest.mark.requirement("RUN-READ-006")
def test_a_reply_that_differs_from_the_output_is_stored() -> None:
    assert finished(ANYTHING, "[ 1 ]").bodies == {"output": b"[1]", "reply": b"[ 1 ]"}


@pytest.mark.requirement("RUN-READ-006")
def test_exit_status_path_and_stderr_of_a_program_are_recorded() -> None:
    executable = Executable("/usr/bin/git", "0" * 64)
    entry = finished(RUN, "out", exit_status=0, stderr=b"aside\n", executable=executable)

    assert entry.bodies == {"output": b"out", "stderr": b"aside\n", "detail": b'{"path":"/usr/bin/git"}'}
    assert {name: entry.data[name] for name in ("exit_status", "executable")} == {
        "exit_status": 0,
        "executable": "0" * 64,
    }


@pytest.mark.requirement("RUN-READ-006")
def test_the_detail_of_an_error_contains_the_servers_message() -> None:
    failure = Failure(ErrorKind.RATE_LIMITED, "slow down", 0)
    entry = finished(WORK, "", failure=failure, model="m-1", finish="stop")

    assert entry.bodies == {
        "detail": b'{"finish":"stop","message":"slow down","model":"m-1","retry_after_ms":0}',
    }
    assert (entry.data["status"], entry.data["error"]) == ("error", "rate_limited")


@pytest.mark.requirement("RUN-READ-006", "RUN-HAND-003")
def test_the_bodies_of_a_sensitive_call_have_types_and_salts() -> None:
    manual = ManualRun({"a": {**ANYTHING, "sensitive": True}})
    manual.reply("a", "[ 1 ]", stderr=b"aside", model="m-1")

    bodies = [
        (name, body.type, body.is_sensitive) for stored in manual.recorded.stored for name, body in stored.items()
    ]
    assert bodies == [
        ("prompt", "application/json", True),
        ("output", "application/json", True),
        ("reply", "application/octet-stream", True),
        ("stderr", "application/octet-stream", True),
        ("detail", "application/json", True),
    ]


@pytest.mark.requirement("RUN-ERROR-001")
def test_a_cancelled_call_is_not_an_error() -> None:
    manual = ManualRun({"a": WORK})
    manual.reply("a", "", failure=Failure(ErrorKind.CANCELLED, "the call was cancelled"))

    entry = manual.recorded.only("task.finished")
    assert entry.data["status"] == "cancelled"
    assert "error" not in entry.data
    assert manual.open["a"].number == 2
