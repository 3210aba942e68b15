"""Vectors of runs: events, queues and waves, failure and states, the seal."""

from collections.abc import Iterator

from vector_generator.runs.case import Case, Claim, Count, Fact, Kinds, Output, changed, fact, workflow

_TWO = workflow(
    {
        "log": {"agent": "operator", "run": ["make", "log"]},
        "notes": {"agent": "writer", "instruction": "Write notes.", "needs": ["log"]},
    },
    [{"task": "log", "output": "a commit", "latency": "40ms"}, {"task": "notes", "output": "Notes.", "latency": "2s"}],
    outputs={"notes": "notes", "log": "log"},
)
_TWO_PASSED = Kinds(
    (
        "run.opened",
        "wave.opened",
        "task.started log",
        "task.finished log",
        "task.ended log",
        "wave.opened",
        "edge.delivered notes",
        "task.started notes",
        "task.finished notes",
        "task.ended notes",
        "answer.given log",
        "answer.given notes",
        "run.sealed",
    )
)
_EXIT = {"kind": "exit_status", "exit_status": 2, "message": "no rule"}

_QUEUE = workflow(
    {name: {"agent": "writer", "instruction": f"Do {name}.", "output": {"type": "integer"}} for name in "abc"},
    [
        {"task": "a", "attempt": 1, "reply": "one", "latency": "10ms"},
        {"task": "a", "output": 1, "latency": "10ms"},
        {"output": 2, "latency": "10ms"},
    ],
    policy={"max_parallel": 1, "dispatch": "eager", "retry": {"attempts": 2}},
)
_SIDE_BY_SIDE = workflow(
    {
        "slow": {"agent": "operator", "run": ["make", "slow"]},
        "quick": {"agent": "operator", "run": ["make", "quick"]},
        "after": {"agent": "operator", "run": ["make", "after"], "needs": [{"task": "quick", "edge": "order"}]},
    },
    [{"task": "slow", "output": "s", "latency": "1s"}, {"output": "q", "latency": "100ms"}],
)
_EAGER = changed(_SIDE_BY_SIDE, "policy", "dispatch", to="eager")
_QUICK_FAILS = {"error": _EXIT, "latency": "100ms"}

_FAILURE = workflow(
    {
        "bad": {"agent": "operator", "run": ["make", "bad"], "allow_failure": True},
        "good": {"agent": "operator", "run": ["make", "good"]},
        "takes": {"agent": "operator", "run": ["make", "takes"], "needs": ["bad"]},
        "follows": {"agent": "operator", "run": ["make", "follows"], "needs": [{"task": "bad", "edge": "order"}]},
        "apart": {"agent": "operator", "run": ["make", "apart"], "needs": [{"task": "good", "edge": "order"}]},
        "last": {"agent": "operator", "run": ["make", "last"], "needs": [{"task": "follows", "edge": "order"}]},
    },
    [{"task": "bad", "error": _EXIT, "latency": "10ms"}, {"output": "done", "latency": "10ms"}],
    outputs={"good": "good", "follows": "follows"},
)


def _ended(task: str, state: str, reason: str | None = None, at: int | None = None) -> Fact:
    data = {"task": task, "state": state} | ({} if reason is None else {"reason": reason})
    return Fact("task.ended", data, at, absent=("reason",) if reason is None else ())


def _if_early_says(*words: str) -> dict[str, object]:
    return {"needs": [{"task": "early", "edge": "order"}], "when": {"task": "early", "output": {"enum": [*words]}}}


# The output of `early` decides how many of the three others run and end badly.
_STATUSES = workflow(
    {
        "early": {"agent": "operator", "run": ["make", "early"]},
        "asked": {
            "agent": "operator",
            "run": ["make", "asked"],
            "gate": {"question": "Go?", "deadline": "1s", "on_deadline": "reject"},
            **_if_early_says("refuse", "fail", "stop"),
        },
        "fails": {"agent": "operator", "run": ["make", "fails"], **_if_early_says("fail", "stop")},
        "large": {
            "agent": "writer",
            "instruction": "Write much.",
            "budget": {"input_tokens": 1},
            **_if_early_says("stop"),
        },
    },
    [{"task": "early", "output": "pass"}, {"task": "fails", "error": _EXIT}],
    policy={"on_failure": "continue", "dispatch": "eager"},
    outputs={"early": "early", "fails": "fails"},
)


def _status_case(word: str, status: str, title: str, *claims: Claim) -> Case:
    return Case(
        f"status-{status}",
        title,
        ("RUN-SEAL-001", "RUN-SEAL-002", "RUN-STATE-001"),
        changed(_STATUSES, "script", "answers", 0, "output", to=word),
        (*claims, Count(1, "answer.given", {"output": "early"}), fact("run.sealed", status=status)),
        status,
        of="status-passed",
        change=f"`early` says {word}, so more tasks run",
    )


_TOLERATED = (
    _ended("bad", "tolerated", "error", 10),
    _ended("takes", "skipped", "upstream", 10),
    fact("task.started", 10, task="follows"),
    _ended("last", "passed"),
    fact("run.sealed", status="passed", counts={"passed": 4, "tolerated": 1, "skipped": 1}),
)
_AFTER_A_FAILURE: dict[str, tuple[str, tuple[Claim, ...]]] = {
    "stop": (
        "No other task starts; dependents of the failed task are skipped as upstream, others as failure",
        (
            _ended("bad", "failed", "error", 10),
            _ended("apart", "skipped", "failure"),
            _ended("follows", "skipped", "upstream"),
            _ended("takes", "skipped", "upstream"),
            _ended("last", "skipped", "upstream"),
            _ended("good", "passed", None, 10),
            fact("answer.given", output="good"),
            fact("run.sealed", status="failed"),
        ),
    ),
    "skip-dependents": (
        "Every task that does not depend on the failed one, directly or indirectly, continues",
        (
            _ended("bad", "failed", "error", 10),
            _ended("follows", "skipped", "upstream"),
            _ended("takes", "skipped", "upstream"),
            _ended("apart", "passed"),
            _ended("last", "skipped", "upstream"),
            fact("run.sealed", status="failed", counts={"passed": 2, "failed": 1, "skipped": 3}),
        ),
    ),
    "continue": (
        "Only tasks that need the data of the failed task are skipped",
        (
            _ended("bad", "failed", "error", 10),
            _ended("takes", "skipped", "upstream"),
            _ended("follows", "passed"),
            _ended("last", "passed"),
            fact("run.sealed", status="failed", counts={"passed": 4, "failed": 1, "skipped": 1}),
        ),
    ),
}


def _failure_cases() -> Iterator[Case]:
    for rule, (title, claims) in _AFTER_A_FAILURE.items():
        tolerated = changed(_FAILURE, "policy", "on_failure", to=rule)
        yield Case(
            f"failure-tolerated-with-{rule}",
            f"`{rule}`: a tolerated task delivers no data, and does not block tasks that only follow it",
            ("RUN-STATE-001", "RUN-FAIL-001", "RUN-FAIL-002", "RUN-ARRIVE-001", "RUN-SEAL-002"),
            tolerated,
            _TOLERATED,
        )
        yield Case(
            f"failure-{rule}",
            f"`{rule}`: {title[0].lower()}{title[1:]}",
            ("RUN-STATE-001", "RUN-FAIL-001", "RUN-FAIL-002", "RUN-ARRIVE-001", "RUN-SEAL-001"),
            changed(tolerated, "plan", "tasks", "bad", "allow_failure", to=None),
            claims,
            "failed",
            of=f"failure-tolerated-with-{rule}",
            change="the failure of `bad` is not allowed",
        )


CASES: tuple[Case, ...] = (
    Case(
        "two-tasks",
        "Two tasks with a data edge pass one after the other, and both outputs are given, sorted by name",
        ("RUN-ORDER-001", "RUN-ORDER-002", "RUN-ORDER-004", "RUN-ORDER-005", "RUN-SEAL-001", "RUN-SEAL-002"),
        _TWO,
        (
            _TWO_PASSED,
            Fact("task.finished", {"task": "log", "status": "ok", "exit_status": 0}, 40, (2,), "agent:operator"),
            Fact("task.ended", {"task": "log", "state": "passed"}, 40, (3,), "runner"),
            Fact("wave.opened", {"wave": 1}, 40, (4,)),
            Fact("edge.delivered", {"task": "notes", "as": "log"}, 40, (4,), bodies={"value": "a commit"}),
            Fact("task.started", {"task": "notes", "attempt": 1}, 40, (6,), "runner"),
            Fact("task.finished", {"task": "notes"}, 2040, (7,), "agent:writer"),
            Fact("answer.given", {"output": "log"}, 2040, (4,)),
            Fact("answer.given", {"output": "notes"}, 2040, (9,)),
            Fact("run.sealed", {"status": "passed", "counts": {"passed": 2}, "totals": {"calls": 2}}, 2040),
            Output("notes.txt", b"Notes."),
            Output("log.txt", b"a commit"),
        ),
    ),
    Case(
        "two-tasks-the-second-fails",
        "If the last task fails, the run fails; the output of the first is still given",
        ("RUN-ORDER-001", "RUN-ORDER-004", "RUN-ORDER-005", "RUN-SEAL-001", "RUN-SEAL-002", "RUN-STATE-001"),
        changed(_TWO, "script", "answers", 1, to={"task": "notes", "error": {"kind": "auth"}, "latency": "2s"}),
        (
            Fact("task.finished", {"task": "notes", "status": "error", "error": "auth"}, 2040, (7,), "agent:writer"),
            Fact("task.ended", {"task": "notes", "state": "failed", "reason": "error"}, 2040, (8,)),
            Fact("answer.given", {"output": "log"}, 2040),
            Count(1, "answer.given"),
            fact("run.sealed", status="failed", counts={"passed": 1, "failed": 1}),
        ),
        "failed",
        of="two-tasks",
        change="`notes` is answered with an error that is not tried again",
    ),
    Case(
        "two-tasks-the-first-fails",
        "With `on_failure: stop`, no wave is opened after a failure: the task that needs the data is skipped",
        ("RUN-ORDER-002", "RUN-DISPATCH-001", "RUN-FAIL-001", "RUN-SEAL-001", "RUN-STATE-001"),
        changed(_TWO, "script", "answers", 0, to={"task": "log", "error": _EXIT, "latency": "40ms"}),
        (
            Fact("task.finished", {"task": "log", "status": "error", "error": "exit_status", "exit_status": 2}, 40),
            _ended("log", "failed", "error", 40),
            _ended("notes", "skipped", "upstream", 40),
            Count(1, "wave.opened"),
            Count(0, "answer.given"),
            fact("run.sealed", 40, status="failed", counts={"failed": 1, "skipped": 1}),
        ),
        "failed",
        of="two-tasks",
        change="the program of `log` ends with status 2",
    ),
    Case(
        "queue-started-units-first",
        "A unit that has started comes before units that have not, even if they waited longer",
        ("RUN-ORDER-002", "RUN-ORDER-003", "RUN-RETRY-001"),
        _QUEUE,
        (
            fact("task.started", 0, task="a", attempt=1),
            fact("task.finished", 10, task="a", attempt=1, error="malformed"),
            fact("task.started", 10, task="a", attempt=2),
            fact("task.ended", 20, task="a", state="passed"),
            fact("task.started", 20, task="b", attempt=1),
            fact("task.started", 30, task="c", attempt=1),
            fact("run.sealed", 40, status="passed"),
        ),
    ),
    Case(
        "queue-cleared-by-a-failure",
        "After a unit fails finally, queued units do not start",
        ("RUN-ORDER-002", "RUN-ORDER-003", "RUN-FAIL-001", "RUN-RETRY-001"),
        changed(_QUEUE, "script", "answers", 1, to={"task": "a", "reply": "two", "latency": "10ms"}),
        (
            fact("task.started", 10, task="a", attempt=2),
            _ended("a", "failed", "error", 20),
            _ended("b", "skipped", "failure", 20),
            _ended("c", "skipped", "failure", 20),
            Count(2, "task.started"),
            fact("run.sealed", 20, status="failed"),
        ),
        "failed",
        of="queue-started-units-first",
        change="the second answer of `a` is not JSON either",
    ),
    Case(
        "queue-not-blocked-by-a-wait",
        "While a unit waits for a retry, other units run",
        ("RUN-ORDER-003", "RUN-RETRY-002"),
        changed(
            _QUEUE,
            "script",
            "answers",
            0,
            to={
                "task": "a",
                "attempt": 1,
                "error": {"kind": "rate_limited", "retry_after": "5s"},
                "latency": "10ms",
            },
        ),
        (
            fact("task.finished", 10, task="a", attempt=1, error="rate_limited"),
            fact("task.started", 10, task="b"),
            fact("task.started", 20, task="c"),
            fact("task.ended", 30, task="c", state="passed"),
            fact("task.started", 5010, task="a", attempt=2),
            fact("run.sealed", 5020, status="passed"),
        ),
    ),
    Case(
        "dispatch-waves",
        "A wave is opened when all tasks of the previous one have ended, even if a task in it could start earlier",
        ("RUN-DISPATCH-001", "RUN-VIRTUAL-004"),
        _SIDE_BY_SIDE,
        (
            fact("task.started", 0, task="quick"),
            fact("task.started", 0, task="slow"),
            fact("task.ended", 100, task="quick"),
            fact("task.ended", 1000, task="slow"),
            fact("wave.opened", 1000, wave=1),
            fact("task.started", 1000, task="after"),
            fact("run.sealed", 1100, status="passed"),
        ),
    ),
    Case(
        "dispatch-eager",
        "A task is ready when everything it depends on has ended, and there are no waves",
        ("RUN-DISPATCH-001", "RUN-ARRIVE-001"),
        _EAGER,
        (
            fact("task.ended", 100, task="quick"),
            fact("task.started", 100, task="after"),
            fact("task.ended", 200, task="after"),
            fact("task.ended", 1000, task="slow"),
            Count(0, "wave.opened"),
        ),
    ),
    Case(
        "dispatch-eager-finishes-started-tasks",
        "After a failure, started tasks finish, and other tasks are skipped",
        ("RUN-DISPATCH-001", "RUN-ARRIVE-001", "RUN-FAIL-001", "RUN-VIRTUAL-004"),
        changed(_EAGER, "script", "answers", 1, to=_QUICK_FAILS),
        (
            _ended("quick", "failed", "error", 100),
            _ended("after", "skipped", "upstream", 100),
            _ended("slow", "passed", None, 1000),
            fact("run.sealed", 1000, status="failed"),
        ),
        "failed",
        of="dispatch-eager",
        change="`quick` fails",
    ),
    Case(
        "replies-of-one-time-in-plan-order",
        "Replies at the same time arrive in plan order, whatever the order in which they were predicted",
        ("RUN-VIRTUAL-004", "RUN-ORDER-001"),
        changed(
            changed(_EAGER, "script", "answers", 0, "latency", to="200ms"), "plan", "tasks", "after", "run", 1, to="x"
        ),
        (
            fact("task.started", 0, task="slow"),
            fact("task.started", 100, task="after"),
            fact("task.finished", 200, task="slow"),
            fact("task.finished", 200, task="after"),
        ),
    ),
    *_failure_cases(),
    Case(
        "status-passed",
        "Tasks whose conditions are not met are skipped, and the run passes",
        ("RUN-SEAL-001", "RUN-SEAL-002", "RUN-WHEN-001", "RUN-STATE-001"),
        _STATUSES,
        (
            _ended("asked", "skipped", "condition", 0),
            _ended("fails", "skipped", "condition", 0),
            _ended("large", "skipped", "condition", 0),
            fact("run.sealed", 0, status="passed", counts={"passed": 1, "skipped": 3}),
        ),
    ),
    _status_case(
        "refuse",
        "refused",
        "A run with a refused task, and none that failed or was stopped, is refused",
        _ended("asked", "refused", "deadline", 1000),
    ),
    _status_case(
        "fail",
        "failed",
        "A run with a failed and a refused task is failed",
        _ended("fails", "failed", "error", 0),
        _ended("asked", "refused", "deadline", 1000),
    ),
    _status_case(
        "stop",
        "stopped",
        "A run with a stopped, a failed and a refused task is stopped",
        fact("budget.stopped", scope="task", name="large", amount="input_tokens", limit=1, used=0),
        _ended("large", "stopped", "budget", 0),
        _ended("fails", "failed", "error", 0),
        _ended("asked", "refused", "deadline", 1000),
    ),
)
