"""Run vectors: delivered values, complete, truncated or salted."""

from vector_generator.runs.case import (
    DATA_NOTICE,
    Case,
    Count,
    EntryClaim,
    ManifestPart,
    answer_with,
    block,
    entry,
    manifest_bytes,
    prompt_text,
    replace,
    workflow,
)

_DELIVERY = workflow(
    {
        "find": {"agent": "operator", "run": ["make", "find"], "output": {"type": "object"}},
        "log": {"agent": "operator", "run": ["make", "log"]},
        "use": {
            "agent": "writer",
            "instruction": "Use ${{ needs.numbers }} and ${{ needs.log }}.",
            "needs": [
                "log",
                {"task": "find", "select": "/list", "as": "numbers", "expects": {"items": {"type": "integer"}}},
            ],
        },
    },
    [{"task": "find", "output": {"list": [1, 2]}}, {"task": "log", "output": "line"}, {"output": "used"}],
)

_CUT = workflow(
    {
        "log": {"agent": "operator", "run": ["make", "log"]},
        "use": {
            "agent": "writer",
            "instruction": "Use it.",
            "output": {"type": "integer"},
            "needs": [{"task": "log", "max_bytes": 6}],
        },
    },
    # The sixth byte is the first of the two of U+00E9.
    [{"task": "log", "output": "12345\u00e9789"}, {"output": 1}],
)

_SENSITIVE = workflow(
    {
        "secret": {"agent": "operator", "run": ["make", "secret"], "sensitive": True},
        "next": {"agent": "operator", "run": ["make", "next"], "needs": ["secret"]},
        "other": {"agent": "operator", "run": ["make", "other"]},
    },
    [{"task": "secret", "output": "value"}, {"output": "value"}],
    outputs={"next": "next", "other": "other"},
)

_MATRIX = workflow(
    {
        "say": {
            "agent": "writer",
            "instruction": "Say it in ${{ matrix.lang }}.",
            "matrix": {"lang": ["de", "en"]},
        },
        "all": {"agent": "writer", "instruction": "Compare them.", "needs": ["say"]},
        "one": {
            "agent": "writer",
            "instruction": "Keep it.",
            "needs": [{"task": "say", "matrix": {"lang": "en"}, "as": "english"}],
        },
    },
    [
        {"task": "say", "contains": "in de", "output": "ja", "latency": "1s"},
        {"task": "say", "contains": "in en", "output": "yes"},
        {"output": "ok"},
    ],
    policy={"on_failure": "skip-dependents"},
    outputs={"all": "all"},
)
_GERMAN_FAILS = {"task": "say", "contains": "in de", "error": {"kind": "auth"}, "latency": "1s"}

_INNER: ManifestPart = {
    "apiVersion": "forum/v1",
    "kind": "Plan",
    "metadata": {"name": "inner"},
    "inputs": {"topic": {"type": "string"}},
    "tasks": {"read": {"agent": "writer", "instruction": "Read about ${{ inputs.topic }}."}},
    "outputs": {"answer": "read"},
}

_CUT_AND_RETRIED = replace(
    replace(_CUT, "script", "answers", 1, to={"task": "use", "attempt": 1, "output": "no"}),
    "policy", "retry", to={"attempts": 2},
)  # fmt: skip

_CUT_TWICE = replace(_CUT_AND_RETRIED, "script", "answers", 2, to={"output": 1})

_CUT_BLOCK = block("log", "log", "12345", "truncated: first 5 of 10 bytes ")

_SCHEMA_PART = answer_with('{"type":"integer"}')

_PROMPT_WITH_FEEDBACK = prompt_text(
    "Use it.",
    DATA_NOTICE,
    _CUT_BLOCK,
    _SCHEMA_PART,
    "A previous answer was rejected. The reason and that answer follow. Correct the problem.",
    block(
        "reason",
        "the check",
        "the answer does not match the output schema: the value does not satisfy 'type': \"integer\"",
    ),
    block("answer", "the previous attempt", '"no"'),
)

_USES = workflow(
    {
        "part": {"uses": "./inner.json", "with": {"topic": "ledgers"}},
        "sum": {"agent": "writer", "instruction": "Sum up.", "needs": ["part"]},
    },
    [{"task": "read", "output": "read"}, {"output": "sum"}],
)

CASES: tuple[Case, ...] = (
    Case(
        "deliver",
        "Data edges are delivered in plan order, each under its name; in the prompt, blocks are sorted by name",
        ("RUN-HAND-001", "RUN-ORDER-004", "RUN-PROMPT-001", "RUN-PROMPT-002", "RUN-TEXT-001"),
        _DELIVERY,
        (
            EntryClaim("edge.delivered", {"task": "use", "as": "log"}, bodies={"value": "line"}),
            EntryClaim("edge.delivered", {"task": "use", "as": "numbers"}, bodies={"value": b"[1,2]"}),
            EntryClaim(
                "task.started",
                {"task": "use"},
                bodies={
                    "prompt": {
                        "system": "",
                        "text": prompt_text(
                            "Use [data: numbers] and [data: log].",
                            DATA_NOTICE,
                            block("log", "log", "line"),
                            block("numbers", "find", "[1,2]"),
                        ),
                    }
                },
            ),
        ),
    ),
    Case(
        "deliver-unexpected",
        "A value that does not match its edge's `expects` fails the unit; earlier deliveries are kept",
        ("RUN-HAND-001", "RUN-ORDER-004", "RUN-READ-007"),
        replace(_DELIVERY, "script", "answers", 0, "output", "list", to=[1, "two"]),
        (
            entry("edge.delivered", task="use", as_="log"),
            EntryClaim(
                "task.ended",
                {"task": "use", "state": "failed", "reason": "expects"},
                bodies={
                    "detail": {
                        "message": "the value for 'numbers' does not match `expects`: "
                        "the value at '/1' does not satisfy 'type': \"integer\"",
                    }
                },
            ),
            Count(1, "edge.delivered"),
            Count(0, "task.started", {"task": "use"}),
        ),
        "failed",
        derived_from="deliver",
        change="one of the numbers is a string",
    ),
    Case(
        "deliver-missing",
        "A value that cannot be computed fails the unit",
        ("RUN-HAND-001",),
        replace(_DELIVERY, "script", "answers", 0, "output", to={"items": [1]}),
        (
            EntryClaim(
                "task.ended",
                {"task": "use", "state": "failed", "reason": "expects"},
                bodies={
                    "detail": {
                        "message": "the value for 'numbers' is unavailable: no value at '/list'",
                    }
                },
            ),
        ),
        "failed",
        derived_from="deliver",
        change="the output has no `/list`",
    ),
    Case(
        "deliver-truncated",
        "A value in a prompt is truncated between characters; the recorded value is complete",
        ("RUN-HAND-002", "RUN-PROMPT-002", "RUN-ORDER-004"),
        _CUT,
        (
            EntryClaim("edge.delivered", {"task": "use", "as": "log"}, bodies={"value": "12345\u00e9789"}),
            entry("context.cut", task="use", as_="log", bytes=10, kept_bytes=5),
            entry("task.started", task="use"),
        ),
    ),
    Case(
        "deliver-with-maximum-size",
        "A value of exactly `max_bytes` bytes is not truncated",
        ("RUN-HAND-002",),
        replace(_CUT, "script", "answers", 0, "output", to="1234\u00e9"),
        (Count(0, "context.cut"), entry("task.started", task="use")),
    ),
    Case(
        "deliver-truncated-twice",
        "Every attempt gets the same part of the value; the second one also gets feedback on the first",
        ("RUN-HAND-002", "RUN-PROMPT-002", "RUN-PROMPT-003"),
        _CUT_TWICE,
        (
            Count(1, "context.cut"),
            EntryClaim(
                "task.started",
                {"attempt": 1, "task": "use"},
                bodies={
                    "prompt": {
                        "text": prompt_text("Use it.", DATA_NOTICE, _CUT_BLOCK, _SCHEMA_PART),
                    }
                },
            ),
            entry("task.finished", task="use", attempt=1, error="schema_mismatch"),
            EntryClaim("task.started", {"attempt": 2}, bodies={"prompt": {"text": _PROMPT_WITH_FEEDBACK}}),
            entry("task.ended", task="use", state="passed"),
        ),
    ),
    Case(
        "deliver-truncated-and-failed",
        "The second attempt gets the same part of the value and fails like the first",
        ("RUN-HAND-002", "RUN-PROMPT-002", "RUN-PROMPT-003"),
        replace(_CUT_TWICE, "script", "answers", 2, "output", to="no"),
        (
            Count(1, "context.cut"),
            EntryClaim("task.started", {"attempt": 2}, bodies={"prompt": {"text": _PROMPT_WITH_FEEDBACK}}),
            entry("task.finished", task="use", attempt=2, error="schema_mismatch"),
            entry("task.ended", task="use", state="failed", reason="error"),
        ),
        "failed",
        derived_from="deliver-truncated-twice",
        change="the second answer does not match either",
    ),
    Case(
        "sensitive",
        "All bodies of a sensitive task, and of a task that receives its output, are salted",
        ("RUN-HAND-003", "RUN-VIRTUAL-002"),
        _SENSITIVE,
        (
            EntryClaim("task.started", {"task": "secret"}, salts={"prompt": "0"}),
            EntryClaim("task.finished", {"task": "secret"}, salts={"output": "1"}),
            EntryClaim("edge.delivered", {"task": "next"}, salted=("value",), bodies={"value": "value"}),
            EntryClaim("task.started", {"task": "next"}, salted=("prompt",)),
            EntryClaim("task.finished", {"task": "next"}, salted=("output",)),
            EntryClaim("answer.given", {"output": "next"}, salted=("value",)),
        ),
    ),
    Case(
        "sensitive-failed",
        "The error detail of a failed sensitive task is salted too",
        ("RUN-HAND-003", "RUN-VIRTUAL-002"),
        replace(
            _SENSITIVE,
            "script",
            "answers",
            0,
            to={
                "task": "secret",
                "error": {"kind": "exit_status", "message": "the key is wrong"},
            },
        ),
        (
            EntryClaim("task.finished", {"task": "secret", "error": "exit_status"}, salts={"detail": "1"}),
            EntryClaim("task.ended", {"task": "next", "state": "skipped"}),
        ),
        "failed",
        derived_from="sensitive",
        change="the program of `secret` fails",
    ),
    Case(
        "matrix",
        "Tasks of a matrix run in parallel; an edge delivers all their outputs as a list, or one of them with `matrix`",
        ("RUN-HAND-001", "RUN-PROMPT-002", "RUN-VIRTUAL-006"),
        _MATRIX,
        (
            entry("task.started", 0, task="say[lang=de]"),
            entry("task.started", 0, task="say[lang=en]"),
            EntryClaim("edge.delivered", {"task": "all", "as": "say"}, 1000),
            EntryClaim("edge.delivered", {"task": "one", "as": "english"}, 1000, bodies={"value": "yes"}),
        ),
    ),
    Case(
        "matrix-with-a-failed-instance",
        "If one task of a matrix fails, a task that needs all of them is skipped; a task that needs another runs",
        ("RUN-FAIL-002", "RUN-HAND-001"),
        replace(_MATRIX, "script", "answers", 0, to=_GERMAN_FAILS),
        (
            entry("task.ended", task="say[lang=de]", state="failed"),
            entry("task.ended", task="all", state="skipped", reason="upstream"),
            entry("task.ended", task="one", state="passed"),
        ),
        "failed",
        derived_from="matrix",
        change="the task for `de` fails",
    ),
    Case(
        "used-plan",
        "A task that uses a plan is replaced by that plan's tasks, whose ids begin with the task's id",
        ("RUN-ORDER-004", "RUN-VIRTUAL-006"),
        _USES,
        (
            EntryClaim("task.started", {"task": "part/read"}, bodies={"prompt": {"text": "Read about ledgers."}}),
            EntryClaim("edge.delivered", {"task": "sum", "as": "part"}, bodies={"value": {"answer": "read"}}),
        ),
        files={"bundle/inner.json": manifest_bytes(_INNER)},
    ),
    Case(
        "used-plan-that-fails",
        "A failure inside a used plan skips the tasks that need its output",
        ("RUN-ORDER-004", "RUN-FAIL-002"),
        replace(_USES, "script", "answers", 0, to={"task": "read", "error": {"kind": "content_filter"}}),
        (
            entry("task.ended", task="part/read", state="failed", reason="error"),
            entry("task.ended", task="sum", state="skipped", reason="upstream"),
        ),
        "failed",
        derived_from="used-plan",
        change="the task of the used plan fails",
        files={"bundle/inner.json": manifest_bytes(_INNER)},
    ),
)
