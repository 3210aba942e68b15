"""Run vectors: events, queues, waves, failures, states and the seal."""

from collections.abc import Iterator

from vector_generator.runs.case import Case, Claim, Count, EntryClaim, Kinds, Output, entry, replace, workflow

_TWO_TASKS = workflow(
    {
        "log": {"agent": "operator", "run": ["make", "log"]},
        "notes": {"agent": "writer", "instruction": "Write notes.", "needs": ["log"]},
    },
    [{"task": "log", "output": "a commit", "latency": "40ms"}, {"task": "notes", "output": "Notes.", "latency": "2s"}],
    outputs={"notes": "notes", "log": "log"},
)
_TWO_TASKS_PASSED = Kinds(
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
_EXIT_2 = {"kind": "exit_status", "exit_status": 2, "message": "no rule"}

_QUEUE = workflow(
    {name: {"agent": "writer", "instruction": f"Do {name}.", "output": {"type": "integer"}} for name in "abc"},
    [
        {"task": "a", "attempt": 1, "reply": "one", "latency": "10ms"},
        {"task": "a", "output": 1, "latency": "10ms"},
        {"output": 2, "latency": "10ms"},
    ],
    policy={"max_parallel": 1, "dispatch": "eager", "retry": {"attempts": 2}},
)
_PARALLEL = workflow(
    {
        "slow": {"agent": "operator", "run": ["make", "slow"]},
        "quick": {"agent": "operator", "run": ["make", "quick"]},
        "after": {"agent": "operator", "run": ["make", "after"], "needs": [{"task": "quick", "edge": "order"}]},
    },
    [{"task": "slow", "output": "s", "latency": "1s"}, {"output": "q", "latency": "100ms"}],
)
_EAGER = replace(_PARALLEL, "policy", "dispatch", to="eager")
_QUICK_FAILS = {"error": _EXIT_2, "latency": "100ms"}

_FAILURE = workflow(
    {
        "bad": {"agent": "operator", "run": ["make", "bad"], "allow_failure": True},
        "good": {"agent": "operator", "run": ["make", "good"]},
        "takes": {"agent": "operator", "run": ["make", "takes"], "needs": ["bad"]},
        "follows": {"agent": "operator", "run": ["make", "follows"], "needs": [{"task": "bad", "edge": "order"}]},
        "apart": {"agent": "operator", "run": ["make", "apart"], "needs": [{"task": "good", "edge": "order"}]},
        "last": {"agent": "operator", "run": ["make", "last"], "needs": [{"task": "follows", "edge": "order"}]},
    },
    [{"task": "bad", "error": _EXIT_2, "latency": "10ms"}, {"output": "done", "latency": "10ms"}],
    outputs={"good": "good", "follows": "follows"},
)


def _end_of(task: str, state: str, reason: str | None = None, at: int | None = None) -> EntryClaim:
    data = {"task": task, "state": state} | ({} if reason is None else {"reason": reason})
    return EntryClaim("task.ended", data, at, absent=("reason",) if reason is None else ())


def _if_early_returns(*words: str) -> dict[str, object]:
    return {"needs": [{"task": "early", "edge": "order"}], "when": {"task": "early", "output": {"enum": [*words]}}}


# The output of `early` decides how many of the other three tasks run; none of them can pass.
_STATUSES = workflow(
    {
        "early": {"agent": "operator", "run": ["make", "early"]},
        "asked": {
            "agent": "operator",
            "run": ["make", "asked"],
            "gate": {"question": "Go?", "deadline": "1s", "on_deadline": "reject"},
            **_if_early_returns("refuse", "fail", "stop"),
        },
        "fails": {"agent": "operator", "run": ["make", "fails"], **_if_early_returns("fail", "stop")},
        "large": {
            "agent": "writer",
            "instruction": "Write much.",
            "budget": {"input_tokens": 1},
            **_if_early_returns("stop"),
        },
    },
    [{"task": "early", "output": "pass"}, {"task": "fails", "error": _EXIT_2}],
    policy={"on_failure": "continue", "dispatch": "eager"},
    outputs={"early": "early", "fails": "fails"},
)


def _status_case(word: str, status: str, title: str, *claims: Claim) -> Case:
    return Case(
        f"status-{status}",
        title,
        ("RUN-SEAL-001", "RUN-SEAL-002", "RUN-STATE-001"),
        replace(_STATUSES, "script", "answers", 0, "output", to=word),
        (*claims, Count(1, "answer.given", {"output": "early"}), entry("run.sealed", status=status)),
        status,
        derived_from="status-passed",
        change=f"the output of `early` is `{word}`, so more tasks run",
    )


_TOLERATED = (
    _end_of("bad", "tolerated", "error", 10),
    _end_of("takes", "skipped", "upstream", 10),
    entry("task.started", 10, task="follows"),
    _end_of("last", "passed"),
    entry("run.sealed", status="passed", counts={"passed": 4, "tolerated": 1, "skipped": 1}),
)
_FAILURE_RULES: dict[str, tuple[str, tuple[Claim, ...]]] = {
    "stop": (
        "No other task starts; dependents of the failed task are skipped as upstream, others as failure",
        (
            _end_of("bad", "failed", "error", 10),
            _end_of("apart", "skipped", "failure"),
            _end_of("follows", "skipped", "upstream"),
            _end_of("takes", "skipped", "upstream"),
            _end_of("last", "skipped", "upstream"),
            _end_of("good", "passed", None, 10),
            entry("answer.given", output="good"),
            entry("run.sealed", status="failed"),
        ),
    ),
    "skip-dependents": (
        "Every task that does not depend on the failed one, directly or indirectly, continues",
        (
            _end_of("bad", "failed", "error", 10),
            _end_of("follows", "skipped", "upstream"),
            _end_of("takes", "skipped", "upstream"),
            _end_of("apart", "passed"),
            _end_of("last", "skipped", "upstream"),
            entry("run.sealed", status="failed", counts={"passed": 2, "failed": 1, "skipped": 3}),
        ),
    ),
    "continue": (
        "Only tasks that need the data of the failed task are skipped",
        (
            _end_of("bad", "failed", "error", 10),
            _end_of("takes", "skipped", "upstream"),
            _end_of("follows", "passed"),
            _end_of("last", "passed"),
            entry("run.sealed", status="failed", counts={"passed": 4, "failed": 1, "skipped": 1}),
        ),
    ),
}


def _failure_cases() -> Iterator[Case]:
    for rule, (title, claims) in _FAILURE_RULES.items():
        tolerated = replace(_FAILURE, "policy", "on_failure", to=rule)
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
            replace(tolerated, "plan", "tasks", "bad", "allow_failure", to=None),
            claims,
            "failed",
            derived_from=f"failure-tolerated-with-{rule}",
            change="the failure of `bad` is not allowed",
        )


CASES: tuple[Case, ...] = (
    Case(
        "two-tasks",
        "Two tasks with a data edge pass one after the other; both answers are given, sorted by name",
        ("RUN-ORDER-001", "RUN-ORDER-002", "RUN-ORDER-004", "RUN-ORDER-005", "RUN-SEAL-001", "RUN-SEAL-002"),
        _TWO_TASKS,
        (
            _TWO_TASKS_PASSED,
            EntryClaim("task.finished", {"task": "log", "status": "ok", "exit_status": 0}, 40, (2,), "agent:operator"),
            EntryClaim("task.ended", {"task": "log", "state": "passed"}, 40, (3,), "runner"),
            EntryClaim("wave.opened", {"wave": 1}, 40, (4,)),
            EntryClaim("edge.delivered", {"task": "notes", "as": "log"}, 40, (4,), bodies={"value": "a commit"}),
            EntryClaim("task.started", {"task": "notes", "attempt": 1}, 40, (6,), "runner"),
            EntryClaim("task.finished", {"task": "notes"}, 2040, (7,), "agent:writer"),
            EntryClaim("answer.given", {"output": "log"}, 2040, (4,)),
            EntryClaim("answer.given", {"output": "notes"}, 2040, (9,)),
            EntryClaim("run.sealed", {"status": "passed", "counts": {"passed": 2}, "totals": {"calls": 2}}, 2040),
            Output("notes.txt", b"Notes."),
            Output("log.txt", b"a commit"),
        ),
    ),
    Case(
        "two-tasks-the-second-fails",
        "If the last task fails, the run fails, but the answer of the first task is given",
        ("RUN-ORDER-001", "RUN-ORDER-004", "RUN-ORDER-005", "RUN-SEAL-001", "RUN-SEAL-002", "RUN-STATE-001"),
        replace(_TWO_TASKS, "script", "answers", 1, to={"task": "notes", "error": {"kind": "auth"}, "latency": "2s"}),
        (
            EntryClaim(
                "task.finished", {"task": "notes", "status": "error", "error": "auth"}, 2040, (7,), "agent:writer"
            ),
            EntryClaim("task.ended", {"task": "notes", "state": "failed", "reason": "error"}, 2040, (8,)),
            EntryClaim("answer.given", {"output": "log"}, 2040),
            Count(1, "answer.given"),
            entry("run.sealed", status="failed", counts={"passed": 1, "failed": 1}),
        ),
        "failed",
        derived_from="two-tasks",
        change="`notes` fails with an error that is not retried",
    ),
    Case(
        "two-tasks-the-first-fails",
        "With `on_failure: stop`, no wave is opened after a failure, and the task that needs the data is skipped",
        ("RUN-ORDER-002", "RUN-DISPATCH-001", "RUN-FAIL-001", "RUN-SEAL-001", "RUN-STATE-001"),
        replace(_TWO_TASKS, "script", "answers", 0, to={"task": "log", "error": _EXIT_2, "latency": "40ms"}),
        (
            EntryClaim(
                "task.finished", {"task": "log", "status": "error", "error": "exit_status", "exit_status": 2}, 40
            ),
            _end_of("log", "failed", "error", 40),
            _end_of("notes", "skipped", "upstream", 40),
            Count(1, "wave.opened"),
            Count(0, "answer.given"),
            entry("run.sealed", 40, status="failed", counts={"failed": 1, "skipped": 1}),
        ),
        "failed",
        derived_from="two-tasks",
        change="the program of `log` exits with 2",
    ),
    Case(
        "queue-started-units-first",
        "A started task comes before tasks that have not started, even if they have waited longer",
        ("RUN-ORDER-002", "RUN-ORDER-003", "RUN-RETRY-001"),
        _QUEUE,
        (
            entry("task.started", 0, task="a", attempt=1),
            entry("task.finished", 10, task="a", attempt=1, error="malformed"),
            entry("task.started", 10, task="a", attempt=2),
            entry("task.ended", 20, task="a", state="passed"),
            entry("task.started", 20, task="b", attempt=1),
            entry("task.started", 30, task="c", attempt=1),
            entry("run.sealed", 40, status="passed"),
        ),
    ),
    Case(
        "queue-cleared-by-a-failure",
        "After a task's last attempt fails, queued tasks do not start",
        ("RUN-ORDER-002", "RUN-ORDER-003", "RUN-FAIL-001", "RUN-RETRY-001"),
        replace(_QUEUE, "script", "answers", 1, to={"task": "a", "reply": "two", "latency": "10ms"}),
        (
            entry("task.started", 10, task="a", attempt=2),
            _end_of("a", "failed", "error", 20),
            _end_of("b", "skipped", "failure", 20),
            _end_of("c", "skipped", "failure", 20),
            Count(2, "task.started"),
            entry("run.sealed", 20, status="failed"),
        ),
        "failed",
        derived_from="queue-started-units-first",
        change="the second answer of `a` is not JSON either",
    ),
    Case(
        "queue-not-blocked-by-a-wait",
        "While a task waits for a retry, other tasks run",
        ("RUN-ORDER-003", "RUN-RETRY-002"),
        replace(
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
            entry("task.finished", 10, task="a", attempt=1, error="rate_limited"),
            entry("task.started", 10, task="b"),
            entry("task.started", 20, task="c"),
            entry("task.ended", 30, task="c", state="passed"),
            entry("task.started", 5010, task="a", attempt=2),
            entry("run.sealed", 5020, status="passed"),
        ),
    ),
    Case(
        "dispatch-waves",
        "A wave is opened when all tasks of the previous one have ended, even if a task in it could start earlier",
        ("RUN-DISPATCH-001", "RUN-VIRTUAL-004"),
        _PARALLEL,
        (
            entry("task.started", 0, task="quick"),
            entry("task.started", 0, task="slow"),
            entry("task.ended", 100, task="quick"),
            entry("task.ended", 1000, task="slow"),
            entry("wave.opened", 1000, wave=1),
            entry("task.started", 1000, task="after"),
            entry("run.sealed", 1100, status="passed"),
        ),
    ),
    Case(
        "dispatch-eager",
        "With eager dispatch, a task starts when all its dependencies have ended; there are no waves",
        ("RUN-DISPATCH-001", "RUN-ARRIVE-001"),
        _EAGER,
        (
            entry("task.ended", 100, task="quick"),
            entry("task.started", 100, task="after"),
            entry("task.ended", 200, task="after"),
            entry("task.ended", 1000, task="slow"),
            Count(0, "wave.opened"),
        ),
    ),
    Case(
        "dispatch-eager-finishes-started-tasks",
        "With eager dispatch, started tasks finish after a failure, and other tasks are skipped",
        ("RUN-DISPATCH-001", "RUN-ARRIVE-001", "RUN-FAIL-001", "RUN-VIRTUAL-004"),
        replace(_EAGER, "script", "answers", 1, to=_QUICK_FAILS),
        (
            _end_of("quick", "failed", "error", 100),
            _end_of("after", "skipped", "upstream", 100),
            _end_of("slow", "passed", None, 1000),
            entry("run.sealed", 1000, status="failed"),
        ),
        "failed",
        derived_from="dispatch-eager",
        change="`quick` fails",
    ),
    Case(
        "simultaneous-replies-in-plan-order",
        "Replies at the same time are recorded in plan order, whatever the order in which their calls started",
        ("RUN-VIRTUAL-004", "RUN-ORDER-001"),
        replace(
            replace(_EAGER, "script", "answers", 0, "latency", to="200ms"), "plan", "tasks", "after", "run", 1, to="x"
        ),
        (
            entry("task.started", 0, task="slow"),
            entry("task.started", 100, task="after"),
            entry("task.finished", 200, task="slow"),
            entry("task.finished", 200, task="after"),
        ),
    ),
    *_failure_cases(),
    Case(
        "status-passed",
        "Tasks whose conditions are not met are skipped, and the run passes",
        ("RUN-SEAL-001", "RUN-SEAL-002", "RUN-WHEN-001", "RUN-STATE-001"),
        _STATUSES,
        (
            _end_of("asked", "skipped", "condition", 0),
            _end_of("fails", "skipped", "condition", 0),
            _end_of("large", "skipped", "condition", 0),
            entry("run.sealed", 0, status="passed", counts={"passed": 1, "skipped": 3}),
        ),
    ),
    _status_case(
        "refuse",
        "refused",
        "A run with a refused task, but no failed or stopped one, is refused",
        _end_of("asked", "refused", "deadline", 1000),
    ),
    _status_case(
        "fail",
        "failed",
        "A run with a failed and a refused task is failed",
        _end_of("fails", "failed", "error", 0),
        _end_of("asked", "refused", "deadline", 1000),
    ),
    _status_case(
        "stop",
        "stopped",
        "A run with a stopped, a failed and a refused task is stopped",
        entry("budget.stopped", scope="task", name="large", amount="input_tokens", limit=1, used=0),
        _end_of("large", "stopped", "budget", 0),
        _end_of("fails", "failed", "error", 0),
        _end_of("asked", "refused", "deadline", 1000),
    ),
)
