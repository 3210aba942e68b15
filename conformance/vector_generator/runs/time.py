"""Vectors of runs: wall time, timeouts and rates."""

from vector_generator.runs.case import Case, Count, Fact, Form, changed, fact, workflow

_MODEL: Form = {
    "type": "openai",
    "base_url": "http://127.0.0.1:1/v1",
    "model": "m",
    "max_tokens": 100,
    "timeout": "1m",
    "prices": {"input": "1", "cached_input": "0.1", "output": "2"},
}


_ADAPTERS: Form = {"model": _MODEL, "shell": {"type": "command"}}


_SMALL = workflow(
    {"do": {"agent": "operator", "run": ["make", "it"], "budget": {"output_bytes": 8, "wall": "5s"}}},
    [{"output": "12345678", "latency": "5s"}],
)


_ANSWER = ("script", "answers", 0)


_WALL = workflow(
    {
        "slow": {"agent": "writer", "instruction": "Be slow."},
        "waits": {
            "agent": "writer",
            "instruction": "Wait.",
            "retry": {"attempts": 2, "backoff": "100s", "max_backoff": "100s"},
        },
        "quick": {"agent": "writer", "instruction": "Be quick."},
        "later": {"agent": "writer", "instruction": "Come later.", "needs": ["slow"]},
    },
    [
        {"task": "slow", "output": "s", "latency": "20s"},
        {"task": "waits", "attempt": 1, "error": {"kind": "network"}, "latency": "1s"},
        {"output": "q", "latency": "2s"},
    ],
    adapters=_ADAPTERS,
    agents={"writer": {"adapter": "model"}},
    policy={"budget": {"wall": "1h"}, "dispatch": "eager"},
)


_RATE = workflow(
    {name: {"agent": "writer", "instruction": f"Do {name}."} for name in "abc"},
    [{"output": "done", "latency": "5s", "usage": {"input_tokens": 10, "output_tokens": 20}}],
    adapters=_ADAPTERS,
    agents={"writer": {"adapter": "model"}},
    policy={"rates": {"model": {"requests_per_minute": 2}}, "budget": {"wall": "10m"}},
)


_BY_TOKENS = changed(_RATE, "policy", "rates", "model", to={"tokens_per_minute": 400})


CASES: tuple[Case, ...] = (
    Case(
        "budget-reduced",
        "A program's output and time limits are reduced to what is left, and it stays within them",
        ("RUN-BUDGET-003", "RUN-BUDGET-004", "RUN-VIRTUAL-003"),
        _SMALL,
        (fact("task.started", reserved={"output_bytes": 8}), fact("task.ended", 5000, state="passed")),
    ),
    Case(
        "budget-reduced-and-too-many-bytes",
        "A program that writes more than its reduced output limit is stopped by the budget",
        ("RUN-BUDGET-004", "RUN-VIRTUAL-003", "RUN-STATE-001"),
        changed(_SMALL, *_ANSWER, "output", to="123456789"),
        (
            Fact(
                "task.finished",
                {"error": "output_limit"},
                5000,
                absent=("exit_status",),
                bodies={
                    "reply": b"12345678",
                    "detail": {"message": "the output has 9 bytes, but the limit is 8"},
                },
            ),
            fact("budget.stopped", scope="task", name="do", amount="output_bytes", limit=8, used=8, needed=10_000_000),
            fact("task.ended", state="stopped", reason="budget"),
        ),
        "stopped",
        of="budget-reduced",
        change="the program writes nine bytes",
    ),
    Case(
        "budget-reduced-and-too-slow",
        "A program that takes longer than its reduced time limit is stopped by the budget",
        ("RUN-BUDGET-004", "RUN-VIRTUAL-003"),
        changed(_SMALL, *_ANSWER, "latency", to="5001ms"),
        (
            Fact(
                "task.finished",
                {"error": "timeout"},
                5000,
                bodies={
                    "detail": {"message": "answer 1 takes 5001 ms, but the timeout is 5000 ms"},
                },
            ),
            fact("budget.stopped", scope="task", name="do", amount="wall_ms", limit=5000, used=5000, needed=600_000),
            fact("task.ended", state="stopped", reason="budget"),
        ),
        "stopped",
        of="budget-reduced",
        change="the program takes a millisecond more",
    ),
    Case(
        "adapter-timeout-reached-exactly",
        "A program that takes exactly as long as its adapter allows succeeds",
        ("RUN-VIRTUAL-003",),
        workflow(
            {"do": {"agent": "operator", "run": ["make", "it"]}},
            [{"output": "done", "latency": "3s"}],
            adapters={"shell": {"type": "command", "timeout": "3s"}},
            agents={"operator": {"adapter": "shell"}},
        ),
        (fact("task.ended", 3000, state="passed"),),
    ),
    Case(
        "adapter-timeout-exceeded",
        "A program that takes longer than its adapter allows ends with `timeout`, and the task fails",
        ("RUN-VIRTUAL-003", "RUN-ERROR-001"),
        workflow(
            {"do": {"agent": "operator", "run": ["make", "it"]}},
            [{"output": "done", "latency": "4s"}],
            adapters={"shell": {"type": "command", "timeout": "3s"}},
            agents={"operator": {"adapter": "shell"}},
        ),
        (
            Fact(
                "task.finished",
                {"error": "timeout"},
                3000,
                bodies={
                    "detail": {"message": "answer 1 takes 4000 ms, but the timeout is 3000 ms"},
                },
            ),
            fact("task.ended", 3000, state="failed", reason="error"),
        ),
        "failed",
        of="adapter-timeout-reached-exactly",
        change="the answer takes a second more",
    ),
    Case(
        "wall-time-enough",
        "There is time for a slow call and for a retry after a wait",
        ("RUN-WALL-001", "RUN-RETRY-002"),
        _WALL,
        (fact("task.ended", task="waits", state="passed"), fact("run.sealed", status="passed", counts={"passed": 4})),
    ),
    Case(
        "wall-time-over",
        "When the run's wall time is over, waiting units and the open call are stopped",
        ("RUN-WALL-001", "RUN-BUDGET-004", "RUN-FAIL-001", "RUN-ERROR-001"),
        changed(_WALL, "policy", "budget", "wall", to="10s"),
        (
            fact("task.ended", 2000, task="quick", state="passed"),
            fact("budget.stopped", 10_000, scope="run", amount="wall_ms", limit=10_000, used=10_000, needed=0),
            fact("task.ended", 10_000, task="waits", state="stopped", reason="budget"),
            fact("task.finished", 10_000, task="slow", error="timeout"),
            fact("budget.stopped", 10_000, scope="run", amount="wall_ms", limit=10_000, used=10_000, needed=60_000),
            fact("task.ended", 10_000, task="slow", state="stopped", reason="budget"),
            fact("task.ended", 10_000, task="later", state="stopped", reason="budget"),
            fact("run.sealed", 10_000, status="stopped"),
        ),
        "stopped",
        of="wall-time-enough",
        change="the run may take ten seconds",
    ),
    Case(
        "rate-of-requests",
        "The third call within a minute waits until the first is a minute old",
        ("RUN-RATE-001", "RUN-ORDER-003"),
        _RATE,
        (
            fact("task.started", 0, task="a"),
            fact("task.started", 0, task="b"),
            fact("task.started", 60_000, task="c"),
            fact("run.sealed", 65_000, status="passed"),
        ),
    ),
    Case(
        "rate-of-tokens",
        "A call waits until the usage and reservations of the last minute leave room for it",
        ("RUN-RATE-001",),
        _BY_TOKENS,
        (
            fact("task.started", 0, task="a", reserved={"input_tokens": 261, "output_tokens": 100}),
            fact("task.started", 60_000, task="b"),
            fact("task.started", 120_000, task="c"),
        ),
    ),
    Case(
        "rate-beyond-the-wall-time",
        "A call that waits for its rate is stopped when the run's wall time is over",
        ("RUN-RATE-001", "RUN-WALL-001"),
        changed(_RATE, "policy", "budget", "wall", to="30s"),
        (
            fact("budget.stopped", 30_000, scope="run", amount="wall_ms"),
            fact("task.ended", 30_000, task="c", state="stopped", reason="budget"),
            Count(2, "task.started"),
        ),
        "stopped",
        of="rate-of-requests",
        change="the run may take thirty seconds",
    ),
)
