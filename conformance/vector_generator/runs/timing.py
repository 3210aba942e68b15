"""Run vectors: wall time, timeouts and rate limits."""

from vector_generator.runs.case import Case, Count, EntryClaim, ManifestPart, entry, replace, workflow

_MODEL: ManifestPart = {
    "type": "openai",
    "base_url": "http://127.0.0.1:1/v1",
    "model": "m",
    "max_tokens": 100,
    "timeout": "1m",
    "prices": {"input": "1", "cached_input": "0.1", "output": "2"},
}

_ADAPTERS: ManifestPart = {"model": _MODEL, "shell": {"type": "command"}}

_SMALL_BUDGET = workflow(
    {"do": {"agent": "operator", "run": ["make", "it"], "budget": {"output_bytes": 8, "wall": "5s"}}},
    [{"output": "12345678", "latency": "5s"}],
)

_FIRST_ANSWER_PATH = ("script", "answers", 0)

_AMPLE_WALL_TIME = workflow(
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

_REQUEST_RATE = workflow(
    {name: {"agent": "writer", "instruction": f"Do {name}."} for name in "abc"},
    [{"output": "done", "latency": "5s", "usage": {"input_tokens": 10, "output_tokens": 20}}],
    adapters=_ADAPTERS,
    agents={"writer": {"adapter": "model"}},
    policy={"rates": {"model": {"requests_per_minute": 2}}, "budget": {"wall": "10m"}},
)

_TOKEN_RATE = replace(_REQUEST_RATE, "policy", "rates", "model", to={"tokens_per_minute": 400})

CASES: tuple[Case, ...] = (
    Case(
        "limits-reduced-to-budget",
        "A program's output limit and timeout are reduced to the remaining budget, and it stays within them",
        ("RUN-BUDGET-003", "RUN-BUDGET-004", "RUN-VIRTUAL-003"),
        _SMALL_BUDGET,
        (entry("task.started", reserved={"output_bytes": 8}), entry("task.ended", 5000, state="passed")),
    ),
    Case(
        "limits-reduced-and-output-too-long",
        "A program that exceeds its reduced output limit is stopped by the budget",
        ("RUN-BUDGET-004", "RUN-VIRTUAL-003", "RUN-STATE-001"),
        replace(_SMALL_BUDGET, *_FIRST_ANSWER_PATH, "output", to="123456789"),
        (
            EntryClaim(
                "task.finished",
                {"error": "output_limit"},
                5000,
                absent=("exit_status",),
                bodies={
                    "reply": b"12345678",
                    "detail": {"message": "the output has 9 bytes, but the limit is 8"},
                },
            ),
            entry("budget.stopped", scope="task", name="do", amount="output_bytes", limit=8, used=8, needed=10_000_000),
            entry("task.ended", state="stopped", reason="budget"),
        ),
        "stopped",
        derived_from="limits-reduced-to-budget",
        change="the program writes nine bytes",
    ),
    Case(
        "limits-reduced-and-too-slow",
        "A program that exceeds its reduced timeout is stopped by the budget",
        ("RUN-BUDGET-004", "RUN-VIRTUAL-003"),
        replace(_SMALL_BUDGET, *_FIRST_ANSWER_PATH, "latency", to="5001ms"),
        (
            EntryClaim(
                "task.finished",
                {"error": "timeout"},
                5000,
                bodies={
                    "detail": {"message": "answer 1 takes 5001 ms, but the timeout is 5000 ms"},
                },
            ),
            entry("budget.stopped", scope="task", name="do", amount="wall_ms", limit=5000, used=5000, needed=600_000),
            entry("task.ended", state="stopped", reason="budget"),
        ),
        "stopped",
        derived_from="limits-reduced-to-budget",
        change="the program takes one millisecond longer",
    ),
    Case(
        "adapter-timeout-reached-exactly",
        "A program that takes exactly as long as its adapter's timeout passes",
        ("RUN-VIRTUAL-003",),
        workflow(
            {"do": {"agent": "operator", "run": ["make", "it"]}},
            [{"output": "done", "latency": "3s"}],
            adapters={"shell": {"type": "command", "timeout": "3s"}},
            agents={"operator": {"adapter": "shell"}},
        ),
        (entry("task.ended", 3000, state="passed"),),
    ),
    Case(
        "adapter-timeout-exceeded",
        "A program that exceeds its adapter's timeout fails with `timeout`",
        ("RUN-VIRTUAL-003", "RUN-ERROR-001"),
        workflow(
            {"do": {"agent": "operator", "run": ["make", "it"]}},
            [{"output": "done", "latency": "4s"}],
            adapters={"shell": {"type": "command", "timeout": "3s"}},
            agents={"operator": {"adapter": "shell"}},
        ),
        (
            EntryClaim(
                "task.finished",
                {"error": "timeout"},
                3000,
                bodies={
                    "detail": {"message": "answer 1 takes 4000 ms, but the timeout is 3000 ms"},
                },
            ),
            entry("task.ended", 3000, state="failed", reason="error"),
        ),
        "failed",
        derived_from="adapter-timeout-reached-exactly",
        change="the answer takes one second longer",
    ),
    Case(
        "wall-time-sufficient",
        "The wall time suffices for a slow call and for a retry after a backoff",
        ("RUN-WALL-001", "RUN-RETRY-002"),
        _AMPLE_WALL_TIME,
        (entry("task.ended", task="waits", state="passed"), entry("run.sealed", status="passed", counts={"passed": 4})),
    ),
    Case(
        "wall-time-exceeded",
        "When the run's wall time is used up, waiting tasks and running calls are stopped",
        ("RUN-WALL-001", "RUN-BUDGET-004", "RUN-FAIL-001", "RUN-ERROR-001"),
        replace(_AMPLE_WALL_TIME, "policy", "budget", "wall", to="10s"),
        (
            entry("task.ended", 2000, task="quick", state="passed"),
            entry("budget.stopped", 10_000, scope="run", amount="wall_ms", limit=10_000, used=10_000, needed=0),
            entry("task.ended", 10_000, task="waits", state="stopped", reason="budget"),
            entry("task.finished", 10_000, task="slow", error="timeout"),
            entry("budget.stopped", 10_000, scope="run", amount="wall_ms", limit=10_000, used=10_000, needed=60_000),
            entry("task.ended", 10_000, task="slow", state="stopped", reason="budget"),
            entry("task.ended", 10_000, task="later", state="stopped", reason="budget"),
            entry("run.sealed", 10_000, status="stopped"),
        ),
        "stopped",
        derived_from="wall-time-sufficient",
        change="the wall budget is ten seconds",
    ),
    Case(
        "request-rate-limit",
        "The third call within a minute waits until the first is a minute old",
        ("RUN-RATE-001", "RUN-ORDER-003"),
        _REQUEST_RATE,
        (
            entry("task.started", 0, task="a"),
            entry("task.started", 0, task="b"),
            entry("task.started", 60_000, task="c"),
            entry("run.sealed", 65_000, status="passed"),
        ),
    ),
    Case(
        "token-rate-limit",
        "A call waits until the tokens used or reserved in the last minute leave room for it",
        ("RUN-RATE-001",),
        _TOKEN_RATE,
        (
            entry("task.started", 0, task="a", reserved={"input_tokens": 261, "output_tokens": 100}),
            entry("task.started", 60_000, task="b"),
            entry("task.started", 120_000, task="c"),
        ),
    ),
    Case(
        "rate-limited-past-wall-time",
        "A call that waits for a rate limit is stopped when the run's wall time is used up",
        ("RUN-RATE-001", "RUN-WALL-001"),
        replace(_REQUEST_RATE, "policy", "budget", "wall", to="30s"),
        (
            entry("budget.stopped", 30_000, scope="run", amount="wall_ms"),
            entry("task.ended", 30_000, task="c", state="stopped", reason="budget"),
            Count(2, "task.started"),
        ),
        "stopped",
        derived_from="request-rate-limit",
        change="the wall budget is thirty seconds",
    ),
)
