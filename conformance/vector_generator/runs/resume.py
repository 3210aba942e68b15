"""Vectors of runs: interrupted processes, lost calls, and resuming."""

from collections.abc import Iterator

from vector_generator.runs.case import (
    AGENTS,
    Before,
    Case,
    Claim,
    Count,
    Damaged,
    Fact,
    Form,
    Kinds,
    Output,
    Waited,
    changed,
    fact,
    workflow,
    written,
)

_RESUME: Form = {"action": "resume"}
_TIERS: Form = {"model": {"type": "scripted"}, "large": {"type": "scripted"}, "shell": {"type": "command"}}
_WRITER: Form = {"adapters": {"cheap": "model", "frontier": "large"}, "tier": "cheap"}
# Entries of every kind, so that the run can be cut after each.
_LONG = workflow(
    {
        "find": {"agent": "operator", "run": ["make", "find"], "output": {"type": "array"}, "idempotent": True},
        "each": {
            "agent": "writer",
            "instruction": "Do it.",
            "foreach": {"task": "find", "as": "item", "max": 3},
            "idempotent": True,
        },
        "sum": {
            "lane": "auto",
            "instruction": "Sum up.",
            "needs": [{"task": "each", "max_bytes": 4}],
            "output": {"type": "integer"},
            "accept": [{"schema": {"minimum": 2}}, {"agent": "critic"}],
            "escalate": ["frontier"],
            "idempotent": True,
        },
    },
    [
        {"task": "find", "output": ["x", "y"], "latency": "1s"},
        {"task": "each", "output": "done", "latency": "1s"},
        {"agent": "critic", "output": {"verdict": "pass", "reason": "good"}, "latency": "1s"},
        {"task": "sum", "attempt": 1, "output": 1, "latency": "1s"},
        {"task": "sum", "output": 2, "latency": "1s"},
    ],
    adapters=_TIERS,
    agents={**AGENTS, "writer": _WRITER},
    outputs={"sum": "sum", "find": "find"},
)
_CUTS: dict[str, tuple[str, Fact, tuple[Claim, ...]]] = {
    "run-opened": ("when it had started", fact("run.opened"), (fact("wave.opened", 0, wave=0),)),
    "a-wave": ("when a wave was open", fact("wave.opened", wave=0), (fact("task.started", 0, task="find", attempt=1),)),
    "a-call": (
        "while a call was open",
        fact("task.started", task="find"),
        (fact("task.lost", 0, task="find", attempt=1), fact("task.started", 0, task="find", attempt=2)),
    ),
    "a-reply": (
        "when a reply was recorded",
        fact("task.finished", task="find"),
        (fact("task.ended", 1000, task="find", state="passed"),),
    ),
    "items": (
        "when a task was expanded",
        fact("task.expanded"),
        (fact("edge.delivered", 1000, task="each[0]"), fact("task.started", 1000, task="each[0]")),
    ),
    "an-item": (
        "when the first item was delivered",
        fact("edge.delivered", task="each[0]"),
        (fact("task.started", 1000, task="each[0]"), Count(1, "edge.delivered", {"task": "each[0]"})),
    ),
    "an-instance": (
        "when one instance had ended, and the other had a call open",
        fact("task.ended", task="each[0]"),
        (fact("task.lost", 2000, task="each[1]", attempt=1), fact("task.started", 2000, task="each[1]", attempt=2)),
    ),
    "a-route": (
        "when a task had its agent",
        fact("route.decided", task="sum"),
        (fact("task.started", task="sum", attempt=1), Count(1, "route.decided"), Count(1, "context.cut")),
    ),
    "a-verdict": (
        "when a check had failed",
        fact("verdict.given", verdict="fail"),
        (fact("escalation.raised"), fact("task.started", task="sum", attempt=2, tier="frontier")),
    ),
    "a-step": (
        "when a task had climbed",
        fact("escalation.raised"),
        (fact("task.started", task="sum", attempt=2, tier="frontier"), Count(1, "escalation.raised")),
    ),
    "a-check": (
        "while a judge was asked",
        fact("verdict.asked"),
        (
            fact("verdict.lost", task="sum", attempt=2, check=1),
            fact("verdict.asked", task="sum", attempt=2, check=1),
            fact("verdict.given", check=1, verdict="pass"),
        ),
    ),
    "an-answer": (
        "when one of the outputs was given",
        fact("answer.given", output="find"),
        (fact("answer.given", output="sum"), Count(1, "answer.given", {"output": "find"})),
    ),
}


def _cut_cases() -> Iterator[Case]:
    for name, (when, until, claims) in _CUTS.items():
        lost = ("RUN-LOST-001",) if name in ("a-call", "an-instance", "a-check") else ()
        yield Case(
            f"resume-after-{name}",
            f"A run whose process was killed {when} is resumed from there",
            ("RUN-RESUME-001", "RUN-RESUME-002", "RUN-VIRTUAL-007", *lost),
            _LONG,
            (until, fact("run.resumed"), *claims, fact("run.sealed", status="passed"), Output("sum.json", b"2")),
            request=_RESUME,
            before=Before(until=until),
        )


_LOST = workflow(
    {
        "a": {"agent": "operator", "run": ["make", "a"]},
        "b": {"agent": "operator", "run": ["make", "b"], "idempotent": True},
        "c": {"agent": "operator", "run": ["make", "c"], "needs": [{"task": "a", "edge": "order"}]},
    },
    [{"task": "a", "output": "a", "latency": "5s"}, {"output": "x", "latency": "1s"}],
    policy={"on_lost": "retry"},
)
_B_STARTED = fact("task.started", task="b")
_WAITS = workflow(
    {
        "do": {
            "agent": "writer",
            "instruction": "Do it.",
            "retry": {"attempts": 3, "backoff": "10s"},
        }
    },
    [{"attempt": 1, "error": {"kind": "network"}, "latency": "1s"}, {"output": "done", "latency": "1s"}],
    policy={"budget": {"wall": "1m"}},
)
_CHAIN = workflow(
    {
        "a": {"agent": "writer", "instruction": "Do a."},
        "b": {"agent": "writer", "instruction": "Do b.", "needs": ["a"]},
    },
    [{"output": "done", "latency": "1s"}],
)
_HALF = b'{"actor":"runner","at":"2000-01-01T00:00:01.000000Z","bodies":{}'
_TORN_END = b"sha256/0123"
_NO_ANSWER = changed(_WAITS, "script", "answers", 1, to={"error": {"kind": "network"}, "latency": "1s"})
_OTHER_SCRIPT: Form = {
    "apiVersion": "forum/v1",
    "kind": "Script",
    "metadata": {"name": "other"},
    "answers": [
        {"task": "do", "attempt": 2, "output": "not the second attempt"},
        {"task": "do", "agent": "critic", "output": "not that agent"},
        {"task": "do", "contains": "do it", "output": "not that text"},
        {"task": "do", "contains": "Do it", "output": "from elsewhere"},
        {"error": {"kind": "quota_exhausted"}},
    ],
}

CASES: tuple[Case, ...] = (
    *_cut_cases(),
    Case(
        "resume-after-a-reply-and-fail",
        "A resumed run can still fail, with everything that was charged before",
        ("RUN-RESUME-001", "RUN-RESUME-002", "RUN-VIRTUAL-007"),
        changed(_LONG, "script", "answers", 1, to={"task": "each", "error": {"kind": "auth"}, "latency": "1s"}),
        (
            fact("run.resumed", 1000),
            fact("task.ended", 2000, task="each[0]", state="failed", reason="error"),
            fact("run.sealed", 2000, status="failed", totals={"calls": 3, "wall_ms": 3000}),
        ),
        "failed",
        of="resume-after-a-reply",
        change="the instances are answered with an error",
        request=_RESUME,
        before=Before(until=fact("task.finished", task="find")),
    ),
    Case(
        "lost-and-retried",
        "Open calls are lost in the order in which they started, and retried as the policy says",
        ("RUN-LOST-001", "RUN-RESUME-002"),
        _LOST,
        (
            fact("run.resumed", 0),
            fact("task.lost", 0, task="a", attempt=1),
            fact("task.lost", 0, task="b", attempt=1),
            fact("task.started", 0, task="a", attempt=2),
            fact("task.started", 0, task="b", attempt=2),
            fact("run.sealed", 6000, status="passed"),
        ),
        request=_RESUME,
        before=Before(until=_B_STARTED),
    ),
    Case(
        "lost-and-not-retried",
        "With `on_lost: fail`, a lost attempt is retried only if its task is idempotent",
        ("RUN-LOST-001", "RUN-RESUME-002", "RUN-FAIL-001"),
        changed(_LOST, "policy", "on_lost", to="fail"),
        (
            fact("task.lost", 0, task="a", attempt=1),
            fact("task.lost", 0, task="b", attempt=1),
            fact("task.ended", 0, task="a", state="failed", reason="error"),
            fact("task.started", 0, task="b", attempt=2),
            fact("task.ended", 0, task="c", state="skipped", reason="upstream"),
            fact("run.sealed", status="failed"),
        ),
        "failed",
        of="lost-and-retried",
        change="a lost attempt fails",
        request=_RESUME,
        before=Before(until=_B_STARTED),
    ),
    Case(
        "lost-in-two-processes",
        "Calls that were open when a process started do not count against the unit",
        ("RUN-LOST-001", "RUN-RETRY-001"),
        changed(_WAITS, "plan", "tasks", "do", "idempotent", to=True),
        (
            fact("task.lost", 0, task="do", attempt=1),
            fact("task.started", 0, task="do", attempt=2),
            fact("run.sealed", status="passed"),
        ),
        request=_RESUME,
        before=Before(until=fact("task.started", task="do")),
    ),
    Case(
        "resume-during-a-wait",
        "A wait starts over, and attempts continue to be counted",
        ("RUN-RESUME-001", "RUN-RETRY-002", "RUN-WALL-001"),
        _WAITS,
        (fact("run.resumed", 1000), Waited("do", 2, 1, 10_000), fact("task.ended", task="do", state="passed")),
        request=_RESUME,
        before=Before(until=fact("task.finished", task="do")),
    ),
    Case(
        "resume-during-a-wait-and-fail",
        "The attempts of both processes are counted together",
        ("RUN-RESUME-001", "RUN-RETRY-001"),
        _NO_ANSWER,
        (
            Count(3, "task.started"),
            Waited("do", 3, 2, 10_000),
            fact("task.ended", task="do", state="failed", reason="error"),
        ),
        "failed",
        of="resume-during-a-wait",
        change="no attempt is answered",
        request=_RESUME,
        before=Before(until=fact("task.finished", task="do")),
    ),
    Case(
        "resume-after-the-wall-time",
        "The run's wall time continues from the moment at which the previous process was killed",
        ("RUN-WALL-001", "RUN-RESUME-001"),
        changed(_WAITS, "policy", "budget", "wall", to="2s"),
        (
            fact("run.resumed", 1000),
            fact("budget.stopped", 2000, scope="run", amount="wall_ms", limit=2000, used=2000),
            fact("task.ended", 2000, task="do", state="stopped", reason="budget"),
        ),
        "stopped",
        of="resume-during-a-wait",
        change="the run may take two seconds",
        request=_RESUME,
        before=Before(until=fact("task.finished", task="do")),
    ),
    Case(
        "resume-a-part",
        "A resumed partial run reuses exactly what it would have reused from its base run",
        ("RUN-RESUME-001", "RUN-PART-001", "RUN-REUSE-001"),
        _CHAIN,
        (
            fact("task.reused", task="a", source="from"),
            fact("run.resumed", 0),
            fact("task.started", 0, task="b"),
            fact("run.sealed", 1000, status="passed", totals={"calls": 1}),
        ),
        request={"action": "resume", "from": ["b"]},
        base=Before(),
        before=Before(until=fact("task.ended", task="a"), request={"from": ["b"], "base": "base"}),
    ),
    Case(
        "resume-with-a-torn-tail",
        "Half a line and half a body are set aside, and the next entry records it",
        ("RUN-RESUME-001", "RUN-RESUME-002"),
        _WAITS,
        (
            fact("task.finished", 1000, task="do"),
            Fact("run.repaired", {}, 1000),
            fact("run.resumed", 1000),
            fact("run.sealed", status="passed"),
        ),
        request=_RESUME,
        before=Before(until=fact("task.finished", task="do"), torn=_HALF, torn_bodies=_TORN_END),
    ),
    Case(
        "resume-a-sealed-run",
        "A sealed run is not resumed",
        ("RUN-RESUME-001",),
        _WAITS,
        (),
        None,
        of="resume-during-a-wait",
        change="the run is sealed",
        request=_RESUME,
        before=Before(),
    ),
    Case(
        "resume-an-invalid-ledger",
        "A ledger with a changed byte is not resumed",
        ("RUN-RESUME-001",),
        _WAITS,
        (),
        None,
        of="resume-during-a-wait",
        change="a number in the ledger was changed",
        request=_RESUME,
        before=Before(until=fact("task.finished", task="do")),
        damage=Damaged("ledger.jsonl", b'"output_bytes":66560', b'"output_bytes":66561'),
    ),
    Case(
        "resume-with-a-changed-body",
        "A run with a changed byte in its archive is not resumed",
        ("RUN-RESUME-001",),
        _WAITS,
        (),
        None,
        of="resume-during-a-wait",
        change="a byte of the prompt was changed",
        request=_RESUME,
        before=Before(until=fact("task.finished", task="do")),
        damage=Damaged("bodies.tar", b'"text":"Do it."', b'"text":"Do is."'),
    ),
    Case(
        "script-given",
        "A given script replaces the workflow's own",
        ("RUN-VIRTUAL-001", "RUN-VIRTUAL-006"),
        _WAITS,
        (
            Kinds(
                (
                    "run.opened",
                    "wave.opened",
                    "task.started do",
                    "task.finished do",
                    "task.ended do",
                    "run.sealed",
                )
            ),
            Fact("task.finished", {"status": "ok"}, 0, bodies={"output": "from elsewhere"}),
        ),
        request={"action": "run", "script": "script.json"},
        files={"script.json": written(_OTHER_SCRIPT)},
    ),
    Case(
        "script-given-with-an-error",
        "The first matching answer of a script is an error: later answers are ignored",
        ("RUN-VIRTUAL-001", "RUN-VIRTUAL-006"),
        _WAITS,
        (fact("task.finished", 0, error="quota_exhausted"), fact("task.ended", 0, task="do", state="failed")),
        "failed",
        of="script-given",
        change="the script's answers are in another order",
        request={"action": "run", "script": "script.json"},
        files={"script.json": written({**_OTHER_SCRIPT, "answers": [*reversed(_OTHER_SCRIPT["answers"])]})},
    ),
    Case(
        "script-given-for-an-unknown-task",
        "A script that answers for a task that the plan does not have is refused before anything runs",
        ("MANIFEST-SCRIPT-001", "RUN-VIRTUAL-006"),
        _WAITS,
        (),
        None,
        ("F013",),
        of="script-given",
        change="an answer names a task that does not exist",
        request={"action": "run", "script": "script.json"},
        files={"script.json": written({**_OTHER_SCRIPT, "answers": [{"task": "did", "output": "x"}]})},
    ),
)
