"""Run vectors: budgets, and calls that exceed them."""

from collections.abc import Iterator
from typing import Any

from forum_conformance.canonical import MAX_INTEGER
from vector_generator.runs.case import (
    Case,
    Count,
    EntryClaim,
    ManifestPart,
    answer_with,
    block,
    entry,
    prompt_text,
    replace,
    workflow,
)

_MODEL: ManifestPart = {
    "type": "openai",
    "base_url": "http://127.0.0.1:1/v1",
    "model": "m",
    "max_tokens": 100,
    "timeout": "1m",
    "prices": {"input": "1", "cached_input": "0.1", "output": "2"},
}

_ADAPTERS: ManifestPart = {"model": _MODEL, "shell": {"type": "command"}}

_AMPLE_BUDGET: ManifestPart = {
    "calls": 9,
    "input_tokens": 9000,
    "output_tokens": 9000,
    "tokens": 18000,
    "usd": "9",
    "output_bytes": 90000,
    "wall": "1h",
}

_AGENTS: ManifestPart = {"writer": {"adapter": "model", "limits": _AMPLE_BUDGET}}

_USAGE: ManifestPart = {"input_tokens": 100, "output_tokens": 90}

_TWO_CALLS = workflow(
    {
        "do": {
            "agent": "writer",
            "instruction": "Do it.",
            "output": {"type": "integer"},
            "retry": {"attempts": 2},
            "budget": _AMPLE_BUDGET,
        }
    },
    [
        {"attempt": 1, "reply": "0123456789", "latency": "1s", "usage": _USAGE},
        {"output": 5, "latency": "1s", "usage": _USAGE},
    ],
    adapters=_ADAPTERS,
    agents=_AGENTS,
    policy={"budget": _AMPLE_BUDGET},
)

# Without a task budget, because a task cannot have a larger budget than the run (F602).
_WITHOUT_TASK_BUDGET = replace(_TWO_CALLS, "plan", "tasks", "do", "budget", to=None)

_HUGE_USAGE = workflow(
    {name: {"agent": "writer", "instruction": "Do it."} for name in ("a", "b")},
    [{"output": "done", "usage": {"input_tokens": 1, "cached_input_tokens": MAX_INTEGER, "output_tokens": 1}}],
    adapters={"model": {"type": "scripted"}},
    agents={"writer": {"adapter": "model"}},
)

_SCHEMA = '{"type":"integer"}'

_FIRST_TEXT = prompt_text("Do it.", answer_with(_SCHEMA))

_SECOND_TEXT = prompt_text(
    _FIRST_TEXT,
    "A previous answer was rejected. The reason and that answer follow. Correct the problem.",
    block("reason", "the check", "the answer is not a single JSON value, or it repeats a key"),
    block("answer", "the previous attempt", "0123456789"),
)

# The bytes of the text, plus the bytes of the schema again, plus 256 (RUN-BUDGET-002).
_FIRST_INPUT = len(_FIRST_TEXT) + len(_SCHEMA) + 256

_SECOND_INPUT = len(_SECOND_TEXT) + len(_SCHEMA) + 256

_FIRST_USD = f"0.{_FIRST_INPUT + 2 * 100:06d}"

_SCOPES: dict[str, tuple[str, ...]] = {
    "run": ("policy", "budget"),
    "agent": ("roster", "agents", "writer", "limits"),
    "task": ("plan", "tasks", "do", "budget"),
}

_SCOPE_NAMES = {"run": None, "agent": "writer", "task": "do"}

# By amount: the limit in the manifest, the recorded limit, the amount used before the second call, and the least that
# the second call needs.
_TOO_SMALL_LIMITS: dict[str, tuple[Any, int, int, int]] = {
    "calls": (1, 1, 1, 1),
    "input_tokens": (_FIRST_INPUT, _FIRST_INPUT, 100, _SECOND_INPUT),
    "output_tokens": (100, 100, 90, 16),
    "tokens": (_FIRST_INPUT + 100, _FIRST_INPUT + 100, 190, _SECOND_INPUT + 16),
    "usd": (_FIRST_USD, _FIRST_INPUT + 200, 280, _SECOND_INPUT + 32),
    "output_bytes": (10, 10, 10, 1),
    "wall": ("1s", 1000, 1000, 1),
}


def _stopped(scope: str, amount: str, limit: int, used: int, needed: int, at: int | None = None) -> EntryClaim:
    name = {} if _SCOPE_NAMES[scope] is None else {"name": _SCOPE_NAMES[scope]}
    data = {"scope": scope, **name, "amount": amount, "limit": limit, "used": used, "needed": needed}
    return EntryClaim("budget.stopped", data, at)


def _scope_cases() -> Iterator[Case]:
    for scope, path in _SCOPES.items():
        for amount, (value, limit, used, needed) in _TOO_SMALL_LIMITS.items():
            recorded = {"usd": "micro_usd", "wall": "wall_ms"}.get(amount, amount)
            is_wall_of_run = (scope, amount) == ("run", "wall")
            yield Case(
                f"budget-{amount.replace('_', '-')}-of-the-{scope}",
                f"The second call is not made because it exceeds `{amount}` of the {scope}",
                (
                    "RUN-BUDGET-001",
                    "RUN-BUDGET-002",
                    "RUN-BUDGET-003",
                    "RUN-BUDGET-004",
                    *(("RUN-WALL-001",) if is_wall_of_run else ()),
                ),
                replace(_WITHOUT_TASK_BUDGET if scope == "run" else _TWO_CALLS, *path, amount, to=value),
                (
                    _stopped(scope, recorded, limit, used, 0 if is_wall_of_run else needed, 1000),
                    entry("task.ended", 1000, task="do", state="stopped", reason="budget"),
                    entry("run.sealed", status="stopped", totals={"calls": 1}),
                    Count(1, "task.started"),
                ),
                "stopped",
                derived_from="budget-ample-without-a-task-budget" if scope == "run" else "budget-ample",
                change=f"`{amount}` of the {scope} is {value}",
            )


_PARALLEL_CALLS = workflow(
    {
        "a": {"agent": "writer", "instruction": "Do a."},
        "b": {"agent": "writer", "instruction": "Do b."},
        "c": {"agent": "operator", "run": ["make", "c"], "needs": [{"task": "b", "edge": "order"}]},
    },
    [
        {"task": "a", "output": "a", "latency": "2s", "usage": {"input_tokens": 10, "output_tokens": 40}},
        {"task": "b", "output": "b", "latency": "1s", "usage": {"input_tokens": 10, "output_tokens": 10}},
        {"task": "c", "output": "c"},
    ],
    adapters=_ADAPTERS,
    agents={"writer": {"adapter": "model"}, "operator": {"adapter": "shell"}},
    policy={"budget": {"output_tokens": 150}},
)

_FIRST_ANSWER_PATH = ("script", "answers", 0)

_EXCEEDED_RESERVATION = workflow(
    {
        "do": {"agent": "writer", "instruction": "Do it."},
        "more": {"agent": "writer", "instruction": "Do more.", "needs": [{"task": "do", "edge": "order"}]},
    },
    [
        {
            "task": "do",
            "output": "done",
            "usage": {"input_tokens": 900, "cached_input_tokens": 5, "output_tokens": 101},
        },
        {"output": "more", "usage": {"input_tokens": 1, "output_tokens": 1}},
    ],
    adapters=_ADAPTERS,
    agents={"writer": {"adapter": "model"}},
    policy={"budget": {"tokens": 1400}},
)

_PRICED_PROGRAM = workflow(
    {"do": {"agent": "cli", "instruction": "Do it."}},
    [{"output": "12345"}],
    adapters={
        "cli": {
            "type": "command",
            "argv": ["make"],
            "max_output_bytes": 50,
            "prices": {"input": "3", "output": "15"},
        }
    },
    agents={"cli": {"adapter": "cli"}},
    policy={"budget": {"usd": "1"}},
)

CASES: tuple[Case, ...] = (
    Case(
        "budget-ample",
        "Two calls fit every budget; their reservations and charges are recorded",
        ("RUN-BUDGET-001", "RUN-BUDGET-002", "RUN-BUDGET-003", "RUN-BUDGET-004", "RUN-BUDGET-005"),
        _TWO_CALLS,
        (
            entry(
                "task.started",
                0,
                attempt=1,
                reserved={
                    "input_tokens": _FIRST_INPUT,
                    "output_tokens": 100,
                    "output_bytes": 2624,
                    "micro_usd": _FIRST_INPUT + 200,
                },
            ),
            entry(
                "task.finished",
                1000,
                attempt=1,
                measured=True,
                usage={
                    "input_tokens": 100,
                    "output_tokens": 90,
                    "output_bytes": 10,
                    "micro_usd": 280,
                    "wall_ms": 1000,
                },
            ),
            entry("task.started", 1000, attempt=2, reserved={"input_tokens": _SECOND_INPUT}),
            entry("task.ended", 2000, state="passed"),
            entry("run.sealed", totals={"calls": 2, "micro_usd": 560, "wall_ms": 2000}),
            Count(0, "budget.stopped"),
        ),
    ),
    Case(
        "budget-ample-without-a-task-budget",
        "A task without a budget counts towards the budgets of its agent and of the run",
        ("RUN-BUDGET-001", "RUN-BUDGET-003"),
        _WITHOUT_TASK_BUDGET,
        (entry("run.sealed", status="passed", totals={"calls": 2}), Count(0, "budget.stopped")),
    ),
    Case(
        "totals-at-their-limit",
        "A total above 2^53 - 1 is recorded as 2^53 - 1",
        ("RUN-SEAL-001", "LEDGER-SEMANTICS-017"),
        _HUGE_USAGE,
        (entry("run.sealed", status="passed", totals={"calls": 2, "cached_input_tokens": MAX_INTEGER}),),
    ),
    *_scope_cases(),
    Case(
        "budget-waits-for-open-calls",
        "A call waits until open calls end and release the budget that it needs",
        ("RUN-BUDGET-003", "RUN-ORDER-002"),
        _PARALLEL_CALLS,
        (
            entry("task.started", 0, task="a", reserved={"output_tokens": 100}),
            entry("task.ended", 2000, task="a"),
            entry("task.started", 2000, task="b", reserved={"output_tokens": 100}),
            entry("task.ended", 3000, task="b", state="passed"),
            entry("task.ended", task="c", state="passed"),
        ),
    ),
    Case(
        "budget-waits-and-is-reduced",
        "After the open calls end, less budget remains than the call requests, so its limits are reduced",
        ("RUN-BUDGET-003",),
        replace(_PARALLEL_CALLS, *_FIRST_ANSWER_PATH, "usage", "output_tokens", to=100),
        (
            entry("task.started", 2000, task="b", reserved={"output_tokens": 50, "output_bytes": 2624}),
            entry("task.ended", 3000, task="b", state="passed"),
        ),
    ),
    Case(
        "budget-waits-and-stops",
        "After the open calls end, not even a reduced call fits, so tasks that have not started are stopped",
        ("RUN-BUDGET-003", "RUN-BUDGET-004", "RUN-BUDGET-006", "RUN-FAIL-001", "RUN-STATE-001"),
        replace(_PARALLEL_CALLS, *_FIRST_ANSWER_PATH, "usage", "output_tokens", to=140),
        (
            entry("task.finished", 2000, task="a", usage={"output_tokens": 140}),
            entry("budget.exceeded", 2000, task="a", amount="output_tokens", reserved=100, used=140),
            entry("task.ended", 2000, task="a", state="passed"),
            entry("budget.stopped", 2000, scope="run", amount="output_tokens", limit=150, used=140, needed=16),
            entry("task.ended", 2000, task="b", state="stopped", reason="budget"),
            entry("task.ended", 2000, task="c", state="stopped", reason="budget"),
            entry("run.sealed", 2000, status="stopped", counts={"passed": 1, "stopped": 2}),
        ),
        "stopped",
        derived_from="budget-waits-for-open-calls",
        change="the first reply reports 140 tokens of output",
    ),
    Case(
        "budget-exceeded",
        "Usage beyond the reservation is recorded for each amount and charged",
        ("RUN-BUDGET-006", "RUN-BUDGET-005"),
        _EXCEEDED_RESERVATION,
        (
            # 895 tokens at 1 dollar a million, 5 at 0.1, 101 at 2: 1,097.5 millionths, rounded up.
            entry("task.finished", task="do", usage={"input_tokens": 900, "cached_input_tokens": 5, "micro_usd": 1098}),
            entry("budget.exceeded", task="do", amount="input_tokens", reserved=262, used=900),
            entry("budget.exceeded", task="do", amount="output_tokens", reserved=100, used=101),
            entry("budget.exceeded", task="do", amount="micro_usd", reserved=462, used=1098),
            Count(3, "budget.exceeded"),
            entry("task.ended", task="more", state="passed"),
        ),
    ),
    Case(
        "budget-exceeded-and-stopped",
        "Usage beyond a budget stops the next call",
        ("RUN-BUDGET-006", "RUN-BUDGET-004", "RUN-FAIL-001"),
        replace(_EXCEEDED_RESERVATION, *_FIRST_ANSWER_PATH, "usage", "input_tokens", to=1200),
        (
            entry("budget.exceeded", task="do", amount="input_tokens", reserved=262, used=1200),
            entry("budget.stopped", scope="run", amount="tokens", limit=1400, used=1301, needed=264 + 16),
            entry("task.ended", task="more", state="stopped", reason="budget"),
            entry("run.sealed", status="stopped"),
        ),
        "stopped",
        derived_from="budget-exceeded",
        change="the reply reports 1,200 tokens of input",
    ),
    Case(
        "budget-of-a-priced-program",
        "A program with prices that reports no usage is charged its reserved input and one token per output byte",
        ("RUN-BUDGET-002", "RUN-BUDGET-005"),
        _PRICED_PROGRAM,
        (
            entry(
                "task.started", reserved={"input_tokens": 6, "output_tokens": 50, "output_bytes": 50, "micro_usd": 768}
            ),
            entry("task.finished", measured=False, usage={"input_tokens": 6, "output_tokens": 5, "micro_usd": 93}),
        ),
    ),
    Case(
        "budget-of-a-priced-program-too-small",
        "A program with prices does not start if the remaining usd budget is too small",
        ("RUN-BUDGET-002", "RUN-BUDGET-004", "RUN-BUDGET-005"),
        replace(_PRICED_PROGRAM, "policy", "budget", "usd", to="0.000030"),
        (
            entry("budget.stopped", scope="run", amount="micro_usd", limit=30, used=0),
            entry("task.ended", state="stopped", reason="budget"),
            Count(0, "task.started"),
        ),
        "stopped",
        derived_from="budget-of-a-priced-program",
        change="the usd budget is 30 millionths of a dollar",
    ),
)
