"""Run vectors: how a reply becomes an output."""

from collections.abc import Iterator
from typing import Any

from vector_generator.runs.case import Case, Claim, Count, EntryClaim, ManifestPart, Output, entry, replace, workflow

_WITHOUT_SCHEMA = workflow(
    {"say": {"agent": "operator", "run": ["make", "say"]}}, [{"output": "said"}], outputs={"said": "say"}
)
_WITH_SCHEMA = workflow(
    {"give": {"agent": "operator", "run": ["make", "give"], "output": {"type": "object"}}},
    [{"reply": ' {"b": 1.0, "a": "\\u00e9 \\/"}\t'}],
    outputs={"given": "give"},
)
_SELECTED = workflow(
    {"give": {"agent": "operator", "run": ["make", "give"], "output": {"type": "object"}}},
    [{"output": {"title": "T", "more": 1}}],
    outputs={"title": {"task": "give", "select": "/title"}},
)
_DETAILED_SCHEMA = workflow(
    {
        "give": {
            "agent": "operator",
            "run": ["make", "give"],
            "output": {
                "type": "object",
                "properties": {
                    "a": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"maximum": 3}}},
                    "b": {"type": "integer"},
                    "c": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                    "d": {"enum": ["x" * 100, "y" * 100]},
                },
            },
        }
    },
    [{"output": {"a": {"x": 1, "y": 2}, "b": 3, "c": 4}}],
)


def _parsed_claims(reply: str, output: bytes, bytes_: int) -> tuple[Claim, ...]:
    """Claims about a parsed reply: it is recorded beside the output, and counted without its trailing newline."""
    return (
        EntryClaim(
            "task.finished",
            {"status": "ok", "usage": {"output_bytes": bytes_}},
            bodies={
                "output": output,
                "reply": reply.encode(),
            },
        ),
        Output("given.json", output),
    )


def _malformed_claims(code: str, message: str) -> tuple[Claim, ...]:
    detail = {"code": code, "message": message}
    finished = EntryClaim("task.finished", {"status": "error", "error": "malformed"}, bodies={"detail": detail})
    return (finished, entry("task.ended", state="failed", reason="error"), Count(0, "answer.given"))


_NOT_JSON = "not_json", "the answer is not a single JSON value, or it repeats a key"
_NOT_CANONICAL = "not_canonical", "the answer contains a number or a string that has no canonical form"
_TOO_DEEP = "too_deep", "the answer is nested too deeply"
_MALFORMED: dict[str, tuple[str, str, tuple[str, str]]] = {
    "prose": ("prose around the value", 'Here: {"a": 1}', _NOT_JSON),
    "two-values": ("two values", '{"a": 1} {"b": 2}', _NOT_JSON),
    "repeated-key": ("a repeated key", '{"a": 1, "a": 1}', _NOT_JSON),
    "nan": ("NaN", '{"a": NaN}', _NOT_JSON),
    "infinity": ("Infinity", '{"a": -Infinity}', _NOT_JSON),
    "large-integer": ("an integer beyond 2^53 - 1", '{"a": 9007199254740992}', _NOT_CANONICAL),
    "infinite-float": ("a number that is not finite", '{"a": 1e400}', _NOT_CANONICAL),
    "lone-surrogate": ("a lone surrogate", '{"a": "\\ud800"}', _NOT_CANONICAL),
    "too-deep": ("255 levels", '{"a":' + "[" * 254 + "]" * 254 + "}", _TOO_DEEP),
    "empty": ("no bytes", "", _NOT_JSON),
    "fence-and-prose": ("prose before the fence", 'Here:\n```json\n{"a": 1}\n```', _NOT_JSON),
    "two-fences": ("two fences", "```\n{}\n```\n```\n{}\n```", _NOT_JSON),
    "unclosed-fence": ("a fence that does not end", '```json\n{"a": 1}', _NOT_JSON),
    "truncated": ("a truncated value", '{"a": 1', _NOT_JSON),
}


def _malformed_cases() -> Iterator[Case]:
    for name, (fault, reply, problem) in _MALFORMED.items():
        is_fence = "fence" in name
        yield Case(
            f"reply-malformed-{name}",
            f"A reply with {fault} is malformed" if reply else "An empty reply is malformed if JSON is required",
            ("RUN-READ-003", "RUN-READ-006", "RUN-READ-007", *(("RUN-READ-004",) if is_fence else ())),
            replace(_WITH_SCHEMA, "script", "answers", 0, "reply", to=reply),
            _malformed_claims(*problem),
            "failed",
            derived_from="reply-not-canonical",
            change=f"the reply has {fault}" if reply else "the reply is empty",
        )


_FENCES = {
    "json": "```json\n{}\n```",
    "plain": "```\r\n{}\r\n```",
    "in-white-space": " \n```JSON \t\n{ }  ```\n\n",
    "empty-line": "```\n\n{}\n\n```",
}
_MISMATCHES: dict[str, tuple[str, Any, str]] = {
    "root": ("A reply that does not match at the top level", [], "the value does not satisfy 'type': \"object\""),
    "least-pointer": (
        "If two parts do not match, the one whose pointer sorts first is reported",
        {"a": {"x": "no", "y": 9}, "b": "no"},
        "the value at '/a/x' does not satisfy 'type': \"integer\"",
    ),
    "any-of": (
        "If no branch of `anyOf` matches, only `anyOf` is reported",
        {"c": "no"},
        'the value at \'/c\' does not satisfy \'anyOf\': [{"type":"integer"},{"type":"null"}]',
    ),
    "long-keyword": (
        "A long keyword value is omitted from the message",
        {"d": "z"},
        "the value at '/d' does not satisfy 'enum'",
    ),
}


def _mismatch_cases() -> Iterator[Case]:
    for name, (title, value, mismatch) in _MISMATCHES.items():
        message = f"the answer does not match the output schema: {mismatch}"
        yield Case(
            f"reply-mismatch-{name}",
            title,
            ("RUN-READ-005", "RUN-READ-006", "RUN-READ-007"),
            replace(_DETAILED_SCHEMA, "script", "answers", 0, "output", to=value),
            (
                EntryClaim(
                    "task.finished",
                    {"error": "schema_mismatch"},
                    bodies={"detail": {"code": "schema", "message": message}},
                ),
                entry("task.ended", state="failed", reason="error"),
            ),
            "failed",
            derived_from="reply-matching-its-type",
            change="the reply does not match its schema",
        )


def _with_reply(flow: ManifestPart, reply: str) -> ManifestPart:
    return replace(flow, "script", "answers", 0, to={"reply": reply})


CASES: tuple[Case, ...] = (
    Case(
        "reply-as-text",
        "Without an output schema, the reply is the output and the only body",
        ("RUN-READ-001", "RUN-READ-002", "RUN-READ-006"),
        _WITHOUT_SCHEMA,
        (
            EntryClaim(
                "task.finished",
                {"exit_status": 0, "measured": True},
                bodies={"output": "said"},
                absent=("reply", "detail"),
            ),
            Output("said.txt", b"said"),
        ),
    ),
    Case(
        "reply-with-a-line-feed",
        "One final line feed is dropped: it is neither stored nor counted",
        ("RUN-READ-001", "RUN-READ-002"),
        _with_reply(_WITHOUT_SCHEMA, "said\n\n"),
        (
            EntryClaim("task.finished", {"usage": {"output_bytes": 5}}, bodies={"output": "said\n"}, absent=("reply",)),
            Output("said.txt", b"said\n"),
        ),
    ),
    Case(
        "reply-with-cr-lf",
        "CR LF is one newline",
        ("RUN-READ-001",),
        _with_reply(_WITHOUT_SCHEMA, "said\r\n"),
        (EntryClaim("task.finished", {"usage": {"output_bytes": 4}}, bodies={"output": "said"}),),
    ),
    Case(
        "reply-with-only-a-line-feed",
        "A line feed alone is an empty output",
        ("RUN-READ-001", "RUN-READ-002"),
        _with_reply(_WITHOUT_SCHEMA, "\n"),
        (
            EntryClaim(
                "task.finished",
                {"status": "ok", "usage": {"output_bytes": 0}},
                bodies={"output": ""},
                absent=("reply",),
            ),
            Output("said.txt", b""),
        ),
    ),
    Case(
        "reply-as-text-and-failed",
        "A program that ends with a nonzero status has no output",
        ("RUN-READ-002", "RUN-READ-001", "RUN-READ-006"),
        replace(
            _WITHOUT_SCHEMA,
            "script",
            "answers",
            0,
            to={
                "error": {"kind": "exit_status", "exit_status": 7, "message": "no such rule", "retry_after": "2s"},
            },
        ),
        (
            EntryClaim(
                "task.finished",
                {"error": "exit_status", "exit_status": 7},
                absent=("output", "reply"),
                bodies={
                    "detail": b'{"message":"no such rule","retry_after_ms":2000}',
                },
            ),
        ),
        "failed",
        derived_from="reply-as-text",
        change="the program exits with 7",
    ),
    Case(
        "reply-not-canonical",
        "With an output schema, the output is the RFC 8785 form of the reply, and the reply is also recorded",
        ("RUN-READ-003", "RUN-READ-006", "RUN-READ-001"),
        _WITH_SCHEMA,
        _parsed_claims(' {"b": 1.0, "a": "\\u00e9 \\/"}\t', '{"a":"\u00e9 /","b":1}'.encode(), 30),
    ),
    Case(
        "reply-with-maximum-depth",
        "A reply nested 254 levels deep is accepted",
        ("RUN-READ-003",),
        _with_reply(_WITH_SCHEMA, '{"a":' + "[" * 253 + "]" * 253 + "}"),
        (entry("task.ended", state="passed"),),
    ),
    *(
        Case(
            f"reply-in-a-fence-{name}",
            f"A reply that is one code fence is accepted ({name.replace('-', ' ')})",
            ("RUN-READ-004", "RUN-READ-003"),
            _with_reply(_WITH_SCHEMA, reply),
            (
                EntryClaim("task.finished", {"status": "ok"}, bodies={"output": b"{}"}),
                entry("task.ended", state="passed"),
            ),
        )
        for name, reply in _FENCES.items()
    ),
    *_malformed_cases(),
    Case(
        "reply-matching-its-type",
        "A value that matches its output schema is the output",
        ("RUN-READ-005", "RUN-READ-007"),
        _DETAILED_SCHEMA,
        (entry("task.ended", state="passed"),),
    ),
    *_mismatch_cases(),
    Case(
        "reply-with-the-selected-value",
        "A reply contains the value that an output of the plan selects",
        ("RUN-READ-005", "RUN-SEAL-001"),
        _SELECTED,
        (Output("title.json", b'"T"'),),
    ),
    Case(
        "reply-without-the-selected-value",
        "A reply without the value that an output of the plan selects is a schema mismatch",
        ("RUN-READ-005", "RUN-READ-007", "RUN-SEAL-001"),
        replace(_SELECTED, "script", "answers", 0, "output", to={"more": 1}),
        (
            EntryClaim(
                "task.finished",
                {"error": "schema_mismatch"},
                bodies={
                    "detail": {
                        "code": "missing_output",
                        "message": "the answer has no value at '/title', which an output of the plan selects",
                    }
                },
            ),
            Count(0, "answer.given"),
        ),
        "failed",
        derived_from="reply-with-the-selected-value",
        change="the answer has no title",
    ),
)
