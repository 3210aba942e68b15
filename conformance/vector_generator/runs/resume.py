"""Run vectors: interrupted processes, lost calls, and resuming."""

from collections.abc import Iterator

from vector_generator.runs.case import (
    AGENTS,
    Backoff,
    Case,
    Claim,
    Count,
    Damage,
    EarlierRun,
    EntryClaim,
    Kinds,
    ManifestPart,
    Output,
    entry,
    manifest_bytes,
    replace,
    workflow,
)

_RESUME: ManifestPart = {"action": "resume"}
_TIERS: ManifestPart = {"model": {"type": "scripted"}, "large": {"type": "scripted"}, "shell": {"type": "command"}}
_WRITER: ManifestPart = {"adapters": {"cheap": "model", "frontier": "large"}, "tier": "cheap"}
# A run with entries of many kinds, so that it can be truncated after each of them.
_MANY_KINDS = workflow(
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
_INTERRUPTIONS: dict[str, tuple[str, EntryClaim, tuple[Claim, ...]]] = {
    "run-opened": ("after it was opened", entry("run.opened"), (entry("wave.opened", 0, wave=0),)),
    "a-wave": (
        "after a wave was opened",
        entry("wave.opened", wave=0),
        (entry("task.started", 0, task="find", attempt=1),),
    ),
    "a-call": (
        "while a call was open",
        entry("task.started", task="find"),
        (entry("task.lost", 0, task="find", attempt=1), entry("task.started", 0, task="find", attempt=2)),
    ),
    "a-reply": (
        "after a reply was recorded",
        entry("task.finished", task="find"),
        (entry("task.ended", 1000, task="find", state="passed"),),
    ),
    "an-expansion": (
        "after a task was expanded",
        entry("task.expanded"),
        (entry("edge.delivered", 1000, task="each[0]"), entry("task.started", 1000, task="each[0]")),
    ),
    "a-delivery": (
        "after the first item was delivered",
        entry("edge.delivered", task="each[0]"),
        (entry("task.started", 1000, task="each[0]"), Count(1, "edge.delivered", {"task": "each[0]"})),
    ),
    "an-instance": (
        "after one instance ended, while the other had an open call",
        entry("task.ended", task="each[0]"),
        (entry("task.lost", 2000, task="each[1]", attempt=1), entry("task.started", 2000, task="each[1]", attempt=2)),
    ),
    "a-route": (
        "after a task was routed",
        entry("route.decided", task="sum"),
        (entry("task.started", task="sum", attempt=1), Count(1, "route.decided"), Count(1, "context.cut")),
    ),
    "a-verdict": (
        "after a check failed",
        entry("verdict.given", verdict="fail"),
        (entry("escalation.raised"), entry("task.started", task="sum", attempt=2, tier="frontier")),
    ),
    "an-escalation": (
        "after a task escalated",
        entry("escalation.raised"),
        (entry("task.started", task="sum", attempt=2, tier="frontier"), Count(1, "escalation.raised")),
    ),
    "a-check": (
        "while a judge was being asked",
        entry("verdict.asked"),
        (
            entry("verdict.lost", task="sum", attempt=2, check=1),
            entry("verdict.asked", task="sum", attempt=2, check=1),
            entry("verdict.given", check=1, verdict="pass"),
        ),
    ),
    "an-answer": (
        "after one of the answers was given",
        entry("answer.given", output="find"),
        (entry("answer.given", output="sum"), Count(1, "answer.given", {"output": "find"})),
    ),
}


def _interruption_cases() -> Iterator[Case]:
    for name, (when, last_entry, claims) in _INTERRUPTIONS.items():
        lost = ("RUN-LOST-001",) if name in ("a-call", "an-instance", "a-check") else ()
        yield Case(
            f"resume-after-{name}",
            f"A run whose process was killed {when} is resumed from there",
            ("RUN-RESUME-001", "RUN-RESUME-002", "RUN-VIRTUAL-007", *lost),
            _MANY_KINDS,
            (last_entry, entry("run.resumed"), *claims, entry("run.sealed", status="passed"), Output("sum.json", b"2")),
            request=_RESUME,
            before=EarlierRun(last_entry=last_entry),
        )


_OPEN_CALLS = workflow(
    {
        "a": {"agent": "operator", "run": ["make", "a"]},
        "b": {"agent": "operator", "run": ["make", "b"], "idempotent": True},
        "c": {"agent": "operator", "run": ["make", "c"], "needs": [{"task": "a", "edge": "order"}]},
    },
    [{"task": "a", "output": "a", "latency": "5s"}, {"output": "x", "latency": "1s"}],
    policy={"on_lost": "retry"},
)
_B_STARTED = entry("task.started", task="b")
_BACKOFF = workflow(
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
_FIRST_REPLY = entry("task.finished", task="do")
_CHAIN = workflow(
    {
        "a": {"agent": "writer", "instruction": "Do a."},
        "b": {"agent": "writer", "instruction": "Do b.", "needs": ["a"]},
    },
    [{"output": "done", "latency": "1s"}],
)
_INCOMPLETE_LINE = b'{"actor":"runner","at":"2000-01-01T00:00:01.000000Z","bodies":{}'
_INCOMPLETE_BODY = b"sha256/0123"
_ALL_ATTEMPTS_FAIL = replace(_BACKOFF, "script", "answers", 1, to={"error": {"kind": "network"}, "latency": "1s"})
_OTHER_SCRIPT: ManifestPart = {
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
    *_interruption_cases(),
    Case(
        "resume-after-a-reply-and-fail",
        "A resumed run can still fail, and its totals include the charges of the first process",
        ("RUN-RESUME-001", "RUN-RESUME-002", "RUN-VIRTUAL-007"),
        replace(_MANY_KINDS, "script", "answers", 1, to={"task": "each", "error": {"kind": "auth"}, "latency": "1s"}),
        (
            entry("run.resumed", 1000),
            entry("task.ended", 2000, task="each[0]", state="failed", reason="error"),
            entry("run.sealed", 2000, status="failed", totals={"calls": 3, "wall_ms": 3000}),
        ),
        "failed",
        derived_from="resume-after-a-reply",
        change="the calls of the instances fail",
        request=_RESUME,
        before=EarlierRun(last_entry=entry("task.finished", task="find")),
    ),
    Case(
        "lost-and-retried",
        "Open calls are lost in the order in which they started, and retried as the policy says",
        ("RUN-LOST-001", "RUN-RESUME-002"),
        _OPEN_CALLS,
        (
            entry("run.resumed", 0),
            entry("task.lost", 0, task="a", attempt=1),
            entry("task.lost", 0, task="b", attempt=1),
            entry("task.started", 0, task="a", attempt=2),
            entry("task.started", 0, task="b", attempt=2),
            entry("run.sealed", 6000, status="passed"),
        ),
        request=_RESUME,
        before=EarlierRun(last_entry=_B_STARTED),
    ),
    Case(
        "lost-and-not-retried",
        "With `on_lost: fail`, a lost attempt is retried only if its task is idempotent",
        ("RUN-LOST-001", "RUN-RESUME-002", "RUN-FAIL-001"),
        replace(_OPEN_CALLS, "policy", "on_lost", to="fail"),
        (
            entry("task.lost", 0, task="a", attempt=1),
            entry("task.lost", 0, task="b", attempt=1),
            entry("task.ended", 0, task="a", state="failed", reason="error"),
            entry("task.started", 0, task="b", attempt=2),
            entry("task.ended", 0, task="c", state="skipped", reason="upstream"),
            entry("run.sealed", status="failed"),
        ),
        "failed",
        derived_from="lost-and-retried",
        change="a lost attempt fails",
        request=_RESUME,
        before=EarlierRun(last_entry=_B_STARTED),
    ),
    Case(
        "lost-in-two-processes",
        "Attempts that were lost with their process do not count towards the limit of attempts",
        ("RUN-LOST-001", "RUN-RETRY-001"),
        replace(_BACKOFF, "plan", "tasks", "do", "idempotent", to=True),
        (
            entry("task.lost", 0, task="do", attempt=1),
            entry("task.started", 0, task="do", attempt=2),
            entry("run.sealed", status="passed"),
        ),
        request=_RESUME,
        before=EarlierRun(last_entry=entry("task.started", task="do")),
    ),
    Case(
        "resume-during-a-wait",
        "After a resume, the backoff starts over, and the attempt numbers continue",
        ("RUN-RESUME-001", "RUN-RETRY-002", "RUN-WALL-001"),
        _BACKOFF,
        (entry("run.resumed", 1000), Backoff("do", 2, 1, 10_000), entry("task.ended", task="do", state="passed")),
        request=_RESUME,
        before=EarlierRun(last_entry=_FIRST_REPLY),
    ),
    Case(
        "resume-during-a-wait-and-fail",
        "The attempts of both processes are counted together",
        ("RUN-RESUME-001", "RUN-RETRY-001"),
        _ALL_ATTEMPTS_FAIL,
        (
            Count(3, "task.started"),
            Backoff("do", 3, 2, 10_000),
            entry("task.ended", task="do", state="failed", reason="error"),
        ),
        "failed",
        derived_from="resume-during-a-wait",
        change="every attempt fails",
        request=_RESUME,
        before=EarlierRun(last_entry=_FIRST_REPLY),
    ),
    Case(
        "resume-after-the-wall-time",
        "The time of the killed process counts towards the run's wall time",
        ("RUN-WALL-001", "RUN-RESUME-001"),
        replace(_BACKOFF, "policy", "budget", "wall", to="2s"),
        (
            entry("run.resumed", 1000),
            entry("budget.stopped", 2000, scope="run", amount="wall_ms", limit=2000, used=2000),
            entry("task.ended", 2000, task="do", state="stopped", reason="budget"),
        ),
        "stopped",
        derived_from="resume-during-a-wait",
        change="the wall budget is two seconds",
        request=_RESUME,
        before=EarlierRun(last_entry=_FIRST_REPLY),
    ),
    Case(
        "resume-a-partial-run",
        "A resumed partial run keeps the results that it reused from its base run",
        ("RUN-RESUME-001", "RUN-PART-001", "RUN-REUSE-001"),
        _CHAIN,
        (
            entry("task.reused", task="a", source="from"),
            entry("run.resumed", 0),
            entry("task.started", 0, task="b"),
            entry("run.sealed", 1000, status="passed", totals={"calls": 1}),
        ),
        request={"action": "resume", "from": ["b"]},
        base=EarlierRun(),
        before=EarlierRun(last_entry=entry("task.ended", task="a"), request={"from": ["b"], "base": "base"}),
    ),
    Case(
        "resume-with-a-torn-tail",
        "An incomplete line and an incomplete body are set aside, and the next entry records this",
        ("RUN-RESUME-001", "RUN-RESUME-002"),
        _BACKOFF,
        (
            entry("task.finished", 1000, task="do"),
            EntryClaim("run.repaired", {}, 1000),
            entry("run.resumed", 1000),
            entry("run.sealed", status="passed"),
        ),
        request=_RESUME,
        before=EarlierRun(last_entry=_FIRST_REPLY, torn_line=_INCOMPLETE_LINE, torn_body=_INCOMPLETE_BODY),
    ),
    Case(
        "resume-a-sealed-run",
        "A sealed run is not resumed",
        ("RUN-RESUME-001",),
        _BACKOFF,
        (),
        None,
        derived_from="resume-during-a-wait",
        change="the run is sealed",
        request=_RESUME,
        before=EarlierRun(),
    ),
    Case(
        "resume-an-invalid-ledger",
        "A ledger with a changed byte is not resumed",
        ("RUN-RESUME-001",),
        _BACKOFF,
        (),
        None,
        derived_from="resume-during-a-wait",
        change="a number in the ledger was changed",
        request=_RESUME,
        before=EarlierRun(last_entry=_FIRST_REPLY),
        damage=Damage("ledger.jsonl", b'"output_bytes":66560', b'"output_bytes":66561'),
    ),
    Case(
        "resume-with-a-changed-body",
        "A run with a changed byte in its archive is not resumed",
        ("RUN-RESUME-001",),
        _BACKOFF,
        (),
        None,
        derived_from="resume-during-a-wait",
        change="a byte of the prompt was changed",
        request=_RESUME,
        before=EarlierRun(last_entry=_FIRST_REPLY),
        damage=Damage("bodies.tar", b'"text":"Do it."', b'"text":"Do is."'),
    ),
    Case(
        "script-given",
        "A given script replaces the workflow's own",
        ("RUN-VIRTUAL-001", "RUN-VIRTUAL-006"),
        _BACKOFF,
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
            EntryClaim("task.finished", {"status": "ok"}, 0, bodies={"output": "from elsewhere"}),
        ),
        request={"action": "run", "script": "script.json"},
        files={"script.json": manifest_bytes(_OTHER_SCRIPT)},
    ),
    Case(
        "script-given-with-an-error",
        "The first matching answer of a script is an error: later answers are ignored",
        ("RUN-VIRTUAL-001", "RUN-VIRTUAL-006"),
        _BACKOFF,
        (entry("task.finished", 0, error="quota_exhausted"), entry("task.ended", 0, task="do", state="failed")),
        "failed",
        derived_from="script-given",
        change="the script's answers are in another order",
        request={"action": "run", "script": "script.json"},
        files={"script.json": manifest_bytes({**_OTHER_SCRIPT, "answers": [*reversed(_OTHER_SCRIPT["answers"])]})},
    ),
    Case(
        "script-given-for-an-unknown-task",
        "A script that answers for a task that the plan does not have is refused before anything runs",
        ("MANIFEST-SCRIPT-001", "RUN-VIRTUAL-006"),
        _BACKOFF,
        (),
        None,
        ("F013",),
        derived_from="script-given",
        change="an answer names a task that does not exist",
        request={"action": "run", "script": "script.json"},
        files={"script.json": manifest_bytes({**_OTHER_SCRIPT, "answers": [{"task": "did", "output": "x"}]})},
    ),
)
