"""Vectors of runs: delivered values, whole, cut or salted."""

from vector_generator.runs.case import (
    MATERIAL,
    Case,
    Count,
    Fact,
    Form,
    answer_with,
    block,
    changed,
    fact,
    prompt_text,
    workflow,
    written,
)

_HAND = workflow(
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


_INNER: Form = {
    "apiVersion": "forum/v1",
    "kind": "Plan",
    "metadata": {"name": "inner"},
    "inputs": {"topic": {"type": "string"}},
    "tasks": {"read": {"agent": "writer", "instruction": "Read about ${{ inputs.topic }}."}},
    "outputs": {"answer": "read"},
}


_CUT_TWICE = changed(
    changed(_CUT, "script", "answers", 1, to={"task": "use", "attempt": 1, "output": "no"}),
    "policy", "retry", to={"attempts": 2},
)  # fmt: skip


_CUT_TWICE = changed(_CUT_TWICE, "script", "answers", 2, to={"output": 1})


_CUT_BLOCK = block("log", "log", "12345", "truncated: first 5 of 10 bytes ")


_ASKED_FOR = answer_with('{"type":"integer"}')


_FED_BACK = prompt_text(
    "Use it.",
    MATERIAL,
    _CUT_BLOCK,
    _ASKED_FOR,
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
        _HAND,
        (
            Fact("edge.delivered", {"task": "use", "as": "log"}, bodies={"value": "line"}),
            Fact("edge.delivered", {"task": "use", "as": "numbers"}, bodies={"value": b"[1,2]"}),
            Fact(
                "task.started",
                {"task": "use"},
                bodies={
                    "prompt": {
                        "system": "",
                        "text": prompt_text(
                            "Use [data: numbers] and [data: log].",
                            MATERIAL,
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
        changed(_HAND, "script", "answers", 0, "output", "list", to=[1, "two"]),
        (
            fact("edge.delivered", task="use", as_="log"),
            Fact(
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
        of="deliver",
        change="one of the numbers is a text",
    ),
    Case(
        "deliver-missing",
        "A value that cannot be computed fails the unit",
        ("RUN-HAND-001",),
        changed(_HAND, "script", "answers", 0, "output", to={"items": [1]}),
        (
            Fact(
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
        of="deliver",
        change="the output has no `/list`",
    ),
    Case(
        "deliver-cut",
        "A value in a prompt is cut between characters; the recorded value is complete",
        ("RUN-HAND-002", "RUN-PROMPT-002", "RUN-ORDER-004"),
        _CUT,
        (
            Fact("edge.delivered", {"task": "use", "as": "log"}, bodies={"value": "12345\u00e9789"}),
            fact("context.cut", task="use", as_="log", bytes=10, kept_bytes=5),
            fact("task.started", task="use"),
        ),
    ),
    Case(
        "deliver-of-maximum-size",
        "A value of exactly `max_bytes` bytes is not cut",
        ("RUN-HAND-002",),
        changed(_CUT, "script", "answers", 0, "output", to="1234\u00e9"),
        (Count(0, "context.cut"), fact("task.started", task="use")),
    ),
    Case(
        "deliver-cut-twice",
        "Every attempt gets the same part of the value, and the second also gets feedback on the first",
        ("RUN-HAND-002", "RUN-PROMPT-002", "RUN-PROMPT-003"),
        _CUT_TWICE,
        (
            Count(1, "context.cut"),
            Fact(
                "task.started",
                {"attempt": 1, "task": "use"},
                bodies={
                    "prompt": {
                        "text": prompt_text("Use it.", MATERIAL, _CUT_BLOCK, _ASKED_FOR),
                    }
                },
            ),
            fact("task.finished", task="use", attempt=1, error="schema_mismatch"),
            Fact("task.started", {"attempt": 2}, bodies={"prompt": {"text": _FED_BACK}}),
            fact("task.ended", task="use", state="passed"),
        ),
    ),
    Case(
        "deliver-cut-and-failed",
        "The second attempt gets the same part of the value, and fails like the first",
        ("RUN-HAND-002", "RUN-PROMPT-002", "RUN-PROMPT-003"),
        changed(_CUT_TWICE, "script", "answers", 2, "output", to="no"),
        (
            Count(1, "context.cut"),
            Fact("task.started", {"attempt": 2}, bodies={"prompt": {"text": _FED_BACK}}),
            fact("task.finished", task="use", attempt=2, error="schema_mismatch"),
            fact("task.ended", task="use", state="failed", reason="error"),
        ),
        "failed",
        of="deliver-cut-twice",
        change="the second answer does not match either",
    ),
    Case(
        "sensitive",
        "All bodies of a sensitive task are salted, and so are those of a task that received its output",
        ("RUN-HAND-003", "RUN-VIRTUAL-002"),
        _SENSITIVE,
        (
            Fact("task.started", {"task": "secret"}, salts={"prompt": "0"}),
            Fact("task.finished", {"task": "secret"}, salts={"output": "1"}),
            Fact("edge.delivered", {"task": "next"}, salted=("value",), bodies={"value": "value"}),
            Fact("task.started", {"task": "next"}, salted=("prompt",)),
            Fact("task.finished", {"task": "next"}, salted=("output",)),
            Fact("answer.given", {"output": "next"}, salted=("value",)),
        ),
    ),
    Case(
        "sensitive-failed",
        "The feedback to a failed sensitive task is salted, too",
        ("RUN-HAND-003", "RUN-VIRTUAL-002"),
        changed(
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
            Fact("task.finished", {"task": "secret", "error": "exit_status"}, salts={"detail": "1"}),
            Fact("task.ended", {"task": "next", "state": "skipped"}),
        ),
        "failed",
        of="sensitive",
        change="the program of `secret` fails",
    ),
    Case(
        "matrix",
        "Tasks of a matrix run in parallel; an edge from all of them delivers a list, an edge with `matrix` one output",
        ("RUN-HAND-001", "RUN-PROMPT-002", "RUN-VIRTUAL-006"),
        _MATRIX,
        (
            fact("task.started", 0, task="say[lang=de]"),
            fact("task.started", 0, task="say[lang=en]"),
            Fact("edge.delivered", {"task": "all", "as": "say"}, 1000),
            Fact("edge.delivered", {"task": "one", "as": "english"}, 1000, bodies={"value": "yes"}),
        ),
    ),
    Case(
        "matrix-with-a-failed-instance",
        "If one task of a matrix fails, the task that needs all of them is skipped, but not one that needs another",
        ("RUN-FAIL-002", "RUN-HAND-001"),
        changed(_MATRIX, "script", "answers", 0, to=_GERMAN_FAILS),
        (
            fact("task.ended", task="say[lang=de]", state="failed"),
            fact("task.ended", task="all", state="skipped", reason="upstream"),
            fact("task.ended", task="one", state="passed"),
        ),
        "failed",
        of="matrix",
        change="the German one fails",
    ),
    Case(
        "uses",
        "A task that uses another plan is unfolded: its id precedes the ids of that plan's tasks",
        ("RUN-ORDER-004", "RUN-VIRTUAL-006"),
        _USES,
        (
            Fact("task.started", {"task": "part/read"}, bodies={"prompt": {"text": "Read about ledgers."}}),
            Fact("edge.delivered", {"task": "sum", "as": "part"}, bodies={"value": {"answer": "read"}}),
        ),
        files={"bundle/inner.json": written(_INNER)},
    ),
    Case(
        "uses-and-fails",
        "A failure inside a used plan skips the tasks that need its output",
        ("RUN-ORDER-004", "RUN-FAIL-002"),
        changed(_USES, "script", "answers", 0, to={"task": "read", "error": {"kind": "content_filter"}}),
        (
            fact("task.ended", task="part/read", state="failed", reason="error"),
            fact("task.ended", task="sum", state="skipped", reason="upstream"),
        ),
        "failed",
        of="uses",
        change="the task of the used plan fails",
        files={"bundle/inner.json": written(_INNER)},
    ),
)
