"""Vectors of runs: results of earlier runs, parts of plans, and secrets."""

import json

from vector_generator.runs.case import Before, Case, Count, Damaged, Fact, Form, Output, changed, fact, workflow

_CHAIN = workflow(
    {
        "a": {"agent": "writer", "instruction": "Do a.", "cache": True},
        "b": {"agent": "writer", "instruction": "Do b.", "needs": ["a"], "cache": True},
        "c": {"agent": "writer", "instruction": "Do c.", "needs": ["b"]},
        "d": {"agent": "writer", "instruction": "Do d."},
    },
    [{"task": name, "output": f"result of {name}", "latency": "1s"} for name in "abcd"],
    outputs={"c": "c", "b": "b"},
)
_OTHER_B = changed(_CHAIN, "plan", "tasks", "b", "instruction", to="Do b well.")
_B_ANSWER = ("script", "answers", 1)
_FAILING = {"task": "b", "error": {"kind": "auth"}, "latency": "1s"}
_A_FAILED = changed(_CHAIN, "script", "answers", 0, to={**_FAILING, "task": "a"})


def _run(**members: object) -> Form:
    return {"action": "run", **members}


def _reused(task: str, source: str, seq: int) -> Fact:
    told = {"task": task, "source": source, "seq": seq}
    return Fact("task.reused", told, bodies={"output": f"result of {task}"})


_SECRET = workflow(
    {
        "ask": {"agent": "writer", "instruction": "Log in with ${{ inputs.key }}."},
        "call": {
            "agent": "operator",
            "run": ["make", "${{ needs.ask }}sesame", "--key", "${{ inputs.key }}"],
            "needs": ["ask"],
        },
    },
    [{"task": "ask", "output": "open"}, {"output": "done"}],
    inputs={"key": {"type": "string", "secret": True}},
)
_GIVEN = {"inputs.json": json.dumps({"key": "opensesame"}).encode()}
_WITH_INPUTS: Form = {"action": "run", "inputs": "inputs.json"}
_ENCODED = workflow(
    {
        "ask": {"agent": "operator", "run": ["make", "ask"], "output": {"type": "object"}},
        "call": {
            "agent": "operator",
            "run": [
                "make",
                "x${{ needs.hex }}6d65",
                "${{ needs.percent }}same",
                "<${{ needs.base64 }}ZXNhbWU=>",
            ],
            "needs": [
                {"task": "ask", "select": "/hex", "as": "hex"},
                {"task": "ask", "select": "/percent", "as": "percent"},
                {"task": "ask", "select": "/base64", "as": "base64"},
            ],
        },
    },
    [
        {"task": "ask", "output": {"hex": "6f70656e2073657361", "percent": "open+%73e", "base64": "b3BlbiBz"}},
        {"output": "done"},
    ],
    inputs={"key": {"type": "string", "secret": True}},
)

CASES: tuple[Case, ...] = (
    Case(
        "reuse-from",
        "With `from`, the named task and its dependents run, and their dependencies are reused",
        ("RUN-REUSE-001", "RUN-REUSE-002", "RUN-REUSE-003", "RUN-PART-001"),
        _CHAIN,
        (
            fact("run.opened"),
            _reused("a", "from", 4),
            Fact("task.ended", {"task": "a", "state": "passed"}, 0),
            fact("task.started", 0, task="b"),
            fact("task.started", 1000, task="c"),
            Count(0, "task.ended", {"task": "d"}),
            fact("run.sealed", 2000, status="passed", totals={"calls": 2}),
            Output("c.txt", b"result of c"),
        ),
        request=_run(**{"from": ["b"]}),
        base=Before(),
    ),
    Case(
        "reuse-only",
        "With `only`, only the named task runs, in a wave plan of its own",
        ("RUN-PART-001", "RUN-REUSE-001"),
        _CHAIN,
        (
            _reused("a", "from", 4),
            fact("task.started", task="b"),
            Count(1, "task.started"),
            Count(0, "task.ended", {"task": "c"}),
            Output("b.txt", b"result of b"),
        ),
        request=_run(only=["b"]),
        base=Before(),
    ),
    Case(
        "until",
        "With `until`, the named task and its dependencies run, without an earlier run",
        ("RUN-PART-001",),
        _CHAIN,
        (
            fact("task.started", task="a"),
            fact("task.started", task="b"),
            Count(2, "task.started"),
            Output("b.txt", b"result of b"),
        ),
        request=_run(until=["b"]),
    ),
    Case(
        "until-and-failed",
        "A partial run fails as the whole would",
        ("RUN-PART-001",),
        changed(_CHAIN, *_B_ANSWER, to=_FAILING),
        (fact("task.ended", task="b", state="failed"), Count(0, "answer.given"), Count(0, "task.ended", {"task": "c"})),
        "failed",
        of="until",
        change="`b` fails",
        request=_run(until=["b"]),
    ),
    Case(
        "reuse-unchanged-tasks",
        "With only a base run, results with the same fingerprint are reused, even after a changed task",
        ("RUN-REUSE-001", "RUN-REUSE-002", "RUN-REUSE-003"),
        _OTHER_B,
        (
            fact("task.reused", task="a", source="from"),
            fact("task.reused", task="d", source="from"),
            fact("task.started", task="b"),
            fact("task.reused", task="c", source="from"),
            Count(1, "task.started"),
        ),
        request=_run(),
        base=Before(workflow=_CHAIN),
    ),
    Case(
        "reuse-nothing-after-changed-data",
        "A task runs again if its data changed",
        ("RUN-REUSE-002",),
        changed(_OTHER_B, *_B_ANSWER, "output", to="another"),
        (fact("task.started", task="b"), fact("task.started", task="c"), Count(2, "task.started")),
        request=_run(),
        base=Before(workflow=_CHAIN),
    ),
    Case(
        "reuse-and-fail",
        "A task that runs again can fail; reused results are kept",
        ("RUN-REUSE-001", "RUN-REUSE-002", "RUN-REUSE-003"),
        changed(_OTHER_B, *_B_ANSWER, to=_FAILING),
        (
            fact("task.reused", task="a", source="from"),
            fact("task.ended", task="b", state="failed"),
            fact("task.ended", task="c", state="skipped", reason="upstream"),
        ),
        "failed",
        of="reuse-unchanged-tasks",
        change="`b` fails",
        request=_run(),
        base=Before(workflow=_CHAIN),
    ),
    Case(
        "reuse-a-failed-task",
        "Reusing a task that failed in the base run is a usage error: nothing runs",
        ("RUN-PART-001", "RUN-REUSE-003"),
        _CHAIN,
        (),
        None,
        of="reuse-from",
        change="`a` failed in the base run",
        request=_run(**{"from": ["b"]}),
        base=Before(workflow=_A_FAILED),
    ),
    Case(
        "reuse-a-changed-task",
        "Reusing a task that has changed is a usage error",
        ("RUN-PART-001", "RUN-REUSE-002"),
        changed(_CHAIN, "plan", "tasks", "a", "instruction", to="Do a well."),
        (),
        None,
        of="reuse-from",
        change="the instruction of `a` is another than in the base run",
        request=_run(**{"from": ["b"]}),
        base=Before(workflow=_CHAIN),
    ),
    Case(
        "reuse-without-a-base",
        "Reusing results requires a base run",
        ("RUN-PART-001",),
        _CHAIN,
        (),
        None,
        of="reuse-from",
        change="there is no base run",
        request=_run(**{"from": ["b"]}),
    ),
    Case(
        "reuse-of-an-unknown-task",
        "Naming a task that the plan does not have is a usage error",
        ("RUN-PART-001",),
        _CHAIN,
        (),
        None,
        of="reuse-from",
        change="the plan has no such task",
        request=_run(**{"from": ["e"]}),
        base=Before(),
    ),
    Case(
        "reuse-from-an-invalid-ledger",
        "Nothing is reused from a run whose ledger is invalid",
        ("RUN-REUSE-003",),
        _CHAIN,
        (),
        None,
        of="reuse-from",
        change="a wall time in the ledger of the base run was changed",
        request=_run(**{"from": ["b"]}),
        base=Before(),
        damage=Damaged("ledger.jsonl", b'"calls":4', b'"calls":5'),
    ),
    Case(
        "cache",
        "A task with `cache` takes the cached result of its fingerprint; a task without it does not",
        ("RUN-REUSE-001", "RUN-REUSE-003"),
        _CHAIN,
        (
            _reused("a", "cache", 4),
            fact("task.reused", task="b", source="cache"),
            fact("task.started", task="c"),
            fact("run.sealed", status="passed", totals={"calls": 2}),
        ),
        request=_run(),
        cache=Before(),
    ),
    Case(
        "cache-has-no-salted-outputs",
        "A salted output is never cached",
        ("RUN-REUSE-003",),
        changed(_CHAIN, "plan", "tasks", "a", "sensitive", to=True),
        (Count(0, "task.reused"), Count(4, "task.started")),
        request=_run(),
        cache=Before(),
    ),
    Case(
        "cache-misses",
        "A changed task is not in the cache, so it runs",
        ("RUN-REUSE-002", "RUN-REUSE-003"),
        _OTHER_B,
        (fact("task.reused", task="a", source="cache"), fact("task.started", task="b")),
        request=_run(),
        cache=Before(workflow=_CHAIN),
    ),
    Case(
        "cache-misses-and-fails",
        "A task that is not in the cache can fail; cached results are kept",
        ("RUN-REUSE-002", "RUN-REUSE-003"),
        changed(_OTHER_B, *_B_ANSWER, to=_FAILING),
        (fact("task.reused", task="a", source="cache"), fact("task.ended", task="b", state="failed")),
        "failed",
        of="cache-misses",
        change="`b` fails",
        request=_run(),
        cache=Before(workflow=_CHAIN),
    ),
    Case(
        "secret-by-name",
        "Without a value for a secret, a script gets its name; the record is the same in either case",
        ("RUN-SECRET-003", "RUN-PROMPT-009", "RUN-TEXT-001"),
        _SECRET,
        (
            Fact("task.started", {"task": "ask"}, bodies={"prompt": {"text": "Log in with [secret: key]."}}),
            Fact(
                "task.started",
                {"task": "call"},
                bodies={
                    "prompt": {
                        "argv": ["make", "opensesame", "--key", "[secret: key]"],
                    }
                },
            ),
        ),
    ),
    Case(
        "secret-scrubbed",
        "If the value of a secret appears in another way, it is scrubbed from the record",
        ("RUN-SECRET-001", "RUN-SECRET-002", "RUN-PROMPT-009"),
        _SECRET,
        (
            Fact("task.started", {"task": "ask"}, bodies={"prompt": {"text": "Log in with [secret: key]."}}),
            Fact(
                "task.started",
                {"task": "call"},
                bodies={
                    "prompt": {
                        "argv": ["make", "[scrubbed: key]", "--key", "[secret: key]"],
                    }
                },
            ),
        ),
        request=_WITH_INPUTS,
        files=_GIVEN,
    ),
    Case(
        "secret-scrubbed-in-other-encodings",
        "A secret is also scrubbed in hexadecimal, percent-encoding and base64",
        ("RUN-SECRET-001", "RUN-SECRET-002"),
        _ENCODED,
        (
            Fact(
                "task.started",
                {"task": "call"},
                bodies={
                    "prompt": {
                        "argv": ["make", "x[scrubbed: key]", "[scrubbed: key]", "<[scrubbed: key]U=>"],
                    }
                },
            ),
        ),
        request=_WITH_INPUTS,
        files={"inputs.json": json.dumps({"key": "open sesame"}).encode()},
    ),
    Case(
        "secret-scrubbed-and-failed",
        "The prompt of a failed call is scrubbed as well",
        ("RUN-SECRET-001", "RUN-SECRET-002", "RUN-PROMPT-009"),
        changed(_SECRET, "script", "answers", 1, to={"error": {"kind": "exit_status"}}),
        (
            Fact(
                "task.started",
                {"task": "call"},
                bodies={
                    "prompt": {
                        "argv": ["make", "[scrubbed: key]", "--key", "[secret: key]"],
                    }
                },
            ),
            fact("task.ended", task="call", state="failed"),
        ),
        "failed",
        of="secret-scrubbed",
        change="the program fails",
        request=_WITH_INPUTS,
        files=_GIVEN,
    ),
    Case(
        "secret-in-the-script",
        "A run is refused if the script contains the value of a secret",
        ("RUN-SECRET-003",),
        changed(_SECRET, "script", "answers", 1, "output", to="it is opensesame"),
        (),
        None,
        of="secret-scrubbed",
        change="an answer of the script contains the value",
        request=_WITH_INPUTS,
        files=_GIVEN,
    ),
    Case(
        "secret-in-the-plan",
        "A run is refused if the wave plan contains the value of a secret",
        ("RUN-SECRET-003",),
        changed(_SECRET, "plan", "tasks", "ask", "instruction", to="Say opensesame to ${{ inputs.key }}."),
        (),
        None,
        of="secret-scrubbed",
        change="an instruction contains the value",
        request=_WITH_INPUTS,
        files=_GIVEN,
    ),
    Case(
        "secret-too-short",
        "A secret of three characters is indistinguishable from other text, and is refused",
        ("RUN-SECRET-001",),
        _SECRET,
        (),
        None,
        of="secret-scrubbed",
        change="the value has three characters",
        request=_WITH_INPUTS,
        files={"inputs.json": json.dumps({"key": "abc"}).encode()},
    ),
    Case(
        "secret-prevents-reuse",
        "A unit that contains a secret runs again even if nothing changed",
        ("RUN-REUSE-003",),
        _SECRET,
        (Count(0, "task.reused"), Count(2, "task.started")),
        request=_run(),
        base=Before(),
    ),
)
