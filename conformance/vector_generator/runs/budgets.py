"""Vectors of runs: budgets, and the calls that do not fit them."""

from collections.abc import Iterator
from typing import Any

from vector_generator.runs.case import Case, Count, Fact, Form, answer_with, block, changed, fact, prompt_text, workflow

_MODEL: Form = {
    "type": "openai",
    "base_url": "http://127.0.0.1:1/v1",
    "model": "m",
    "max_tokens": 100,
    "timeout": "1m",
    "prices": {"input": "1", "cached_input": "0.1", "output": "2"},
}


_ADAPTERS: Form = {"model": _MODEL, "shell": {"type": "command"}}


_AMPLE: Form = {
    "calls": 9,
    "input_tokens": 9000,
    "output_tokens": 9000,
    "tokens": 18000,
    "usd": "9",
    "output_bytes": 90000,
    "wall": "1h",
}


_AGENTS: Form = {"writer": {"adapter": "model", "limits": _AMPLE}}


_USAGE: Form = {"input_tokens": 100, "output_tokens": 90}


_SPENT = workflow(
    {
        "do": {
            "agent": "writer",
            "instruction": "Do it.",
            "output": {"type": "integer"},
            "retry": {"attempts": 2},
            "budget": _AMPLE,
        }
    },
    [
        {"attempt": 1, "reply": "0123456789", "latency": "1s", "usage": _USAGE},
        {"output": 5, "latency": "1s", "usage": _USAGE},
    ],
    adapters=_ADAPTERS,
    agents=_AGENTS,
    policy={"budget": _AMPLE},
)


# A call of the run's budget: a task cannot have more than the run has (F602).
_OF_RUN = changed(_SPENT, "plan", "tasks", "do", "budget", to=None)


_SCHEMA = '{"type":"integer"}'


_FIRST_TEXT = prompt_text("Do it.", answer_with(_SCHEMA))


_SECOND_TEXT = prompt_text(
    _FIRST_TEXT,
    "A previous answer was rejected. The reason and that answer follow. Correct the problem.",
    block("reason", "the check", "the answer is not a single JSON value, or it repeats a key"),
    block("answer", "the previous attempt", "0123456789"),
)


# The bytes of the text and, once more, of the schema, and 256 (RUN-BUDGET-002).
_FIRST_INPUT = len(_FIRST_TEXT) + len(_SCHEMA) + 256


_SECOND_INPUT = len(_SECOND_TEXT) + len(_SCHEMA) + 256


_FIRST_USD = f"0.{_FIRST_INPUT + 2 * 100:06d}"


_SCOPES: dict[str, tuple[str, ...]] = {
    "run": ("policy", "budget"),
    "agent": ("roster", "agents", "writer", "limits"),
    "task": ("plan", "tasks", "do", "budget"),
}


_NAMES = {"run": None, "agent": "writer", "task": "do"}


# The limit and, for the call that does not fit, the amount used before and the least amount it needs.
_SHORT: dict[str, tuple[Any, int, int, int]] = {
    "calls": (1, 1, 1, 1),
    "input_tokens": (_FIRST_INPUT, _FIRST_INPUT, 100, _SECOND_INPUT),
    "output_tokens": (100, 100, 90, 16),
    "tokens": (_FIRST_INPUT + 100, _FIRST_INPUT + 100, 190, _SECOND_INPUT + 16),
    "usd": (_FIRST_USD, _FIRST_INPUT + 200, 280, _SECOND_INPUT + 32),
    "output_bytes": (10, 10, 10, 1),
    "wall": ("1s", 1000, 1000, 1),
}


def _stopped(scope: str, amount: str, limit: int, used: int, needed: int, at: int | None = None) -> Fact:
    named = {} if _NAMES[scope] is None else {"name": _NAMES[scope]}
    told = {"scope": scope, **named, "amount": amount, "limit": limit, "used": used, "needed": needed}
    return Fact("budget.stopped", told, at)


def _scope_cases() -> Iterator[Case]:
    for scope, path in _SCOPES.items():
        for amount, (value, limit, used, needed) in _SHORT.items():
            recorded = {"usd": "micro_usd", "wall": "wall_ms"}.get(amount, amount)
            is_wall_of_run = (scope, amount) == ("run", "wall")
            yield Case(
                f"budget-{amount.replace('_', '-')}-of-the-{scope}",
                f"`{amount}` of the {scope} has no room for the second call: it is not made",
                (
                    "RUN-BUDGET-001",
                    "RUN-BUDGET-002",
                    "RUN-BUDGET-003",
                    "RUN-BUDGET-004",
                    *(("RUN-WALL-001",) if is_wall_of_run else ()),
                ),
                changed(_OF_RUN if scope == "run" else _SPENT, *path, amount, to=value),
                (
                    _stopped(scope, recorded, limit, used, 0 if is_wall_of_run else needed, 1000),
                    fact("task.ended", 1000, task="do", state="stopped", reason="budget"),
                    fact("run.sealed", status="stopped", totals={"calls": 1}),
                    Count(1, "task.started"),
                ),
                "stopped",
                of="budget-ample-without-a-task-budget" if scope == "run" else "budget-ample",
                change=f"`{amount}` of the {scope} is {value}",
            )


_SIDE = workflow(
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


_ANSWER = ("script", "answers", 0)


_EXCEEDED = workflow(
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


_PRICED = workflow(
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
        "Two calls fit every budget: what they reserve and what they are charged",
        ("RUN-BUDGET-001", "RUN-BUDGET-002", "RUN-BUDGET-003", "RUN-BUDGET-004", "RUN-BUDGET-005"),
        _SPENT,
        (
            fact(
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
            fact(
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
            fact("task.started", 1000, attempt=2, reserved={"input_tokens": _SECOND_INPUT}),
            fact("task.ended", 2000, state="passed"),
            fact("run.sealed", totals={"calls": 2, "micro_usd": 560, "wall_ms": 2000}),
            Count(0, "budget.stopped"),
        ),
    ),
    Case(
        "budget-ample-without-a-task-budget",
        "A task without a budget counts towards the budgets of its agent and of the run",
        ("RUN-BUDGET-001", "RUN-BUDGET-003"),
        _OF_RUN,
        (fact("run.sealed", status="passed", totals={"calls": 2}), Count(0, "budget.stopped")),
    ),
    *_scope_cases(),
    Case(
        "budget-waits-for-open-calls",
        "A call that does not fit waits for open calls that hold what it lacks, and fits after they end",
        ("RUN-BUDGET-003", "RUN-ORDER-002"),
        _SIDE,
        (
            fact("task.started", 0, task="a", reserved={"output_tokens": 100}),
            fact("task.ended", 2000, task="a"),
            fact("task.started", 2000, task="b", reserved={"output_tokens": 100}),
            fact("task.ended", 3000, task="b", state="passed"),
            fact("task.ended", task="c", state="passed"),
        ),
    ),
    Case(
        "budget-waits-and-is-reduced",
        "When the open calls have ended, less is left than the call needs: its limits are reduced",
        ("RUN-BUDGET-003",),
        changed(_SIDE, *_ANSWER, "usage", "output_tokens", to=100),
        (
            fact("task.started", 2000, task="b", reserved={"output_tokens": 50, "output_bytes": 2624}),
            fact("task.ended", 3000, task="b", state="passed"),
        ),
    ),
    Case(
        "budget-waits-in-vain",
        "After the open calls end, not even a reduced call fits: the run's budget stops tasks that have not started",
        ("RUN-BUDGET-003", "RUN-BUDGET-004", "RUN-BUDGET-006", "RUN-FAIL-001", "RUN-STATE-001"),
        changed(_SIDE, *_ANSWER, "usage", "output_tokens", to=140),
        (
            fact("task.finished", 2000, task="a", usage={"output_tokens": 140}),
            fact("budget.exceeded", 2000, task="a", amount="output_tokens", reserved=100, used=140),
            fact("task.ended", 2000, task="a", state="passed"),
            fact("budget.stopped", 2000, scope="run", amount="output_tokens", limit=150, used=140, needed=16),
            fact("task.ended", 2000, task="b", state="stopped", reason="budget"),
            fact("task.ended", 2000, task="c", state="stopped", reason="budget"),
            fact("run.sealed", 2000, status="stopped", counts={"passed": 1, "stopped": 2}),
        ),
        "stopped",
        of="budget-waits-for-open-calls",
        change="the first reply reports 140 tokens of output",
    ),
    Case(
        "budget-exceeded",
        "Usage beyond the reservation is recorded amount by amount, and charged",
        ("RUN-BUDGET-006", "RUN-BUDGET-005"),
        _EXCEEDED,
        (
            # 895 tokens at 1 dollar a million, 5 at 0.1, 101 at 2: 1,097.5 millionths, rounded up.
            fact("task.finished", task="do", usage={"input_tokens": 900, "cached_input_tokens": 5, "micro_usd": 1098}),
            fact("budget.exceeded", task="do", amount="input_tokens", reserved=262, used=900),
            fact("budget.exceeded", task="do", amount="output_tokens", reserved=100, used=101),
            fact("budget.exceeded", task="do", amount="micro_usd", reserved=462, used=1098),
            Count(3, "budget.exceeded"),
            fact("task.ended", task="more", state="passed"),
        ),
    ),
    Case(
        "budget-exceeded-and-stopped",
        "Usage beyond a budget stops the next call",
        ("RUN-BUDGET-006", "RUN-BUDGET-004", "RUN-FAIL-001"),
        changed(_EXCEEDED, *_ANSWER, "usage", "input_tokens", to=1200),
        (
            fact("budget.exceeded", task="do", amount="input_tokens", reserved=262, used=1200),
            fact("budget.stopped", scope="run", amount="tokens", limit=1400, used=1301, needed=264 + 16),
            fact("task.ended", task="more", state="stopped", reason="budget"),
            fact("run.sealed", status="stopped"),
        ),
        "stopped",
        of="budget-exceeded",
        change="the reply reports 1,200 tokens of input",
    ),
    Case(
        "budget-of-a-priced-program",
        "A program with prices that reports no usage is charged its reserved input and one token per output byte",
        ("RUN-BUDGET-002", "RUN-BUDGET-005"),
        _PRICED,
        (
            fact(
                "task.started", reserved={"input_tokens": 6, "output_tokens": 50, "output_bytes": 50, "micro_usd": 768}
            ),
            fact("task.finished", measured=False, usage={"input_tokens": 6, "output_tokens": 5, "micro_usd": 93}),
        ),
    ),
    Case(
        "budget-of-a-priced-program-too-small",
        "A program with prices is not started if no money is left",
        ("RUN-BUDGET-002", "RUN-BUDGET-004", "RUN-BUDGET-005"),
        changed(_PRICED, "policy", "budget", "usd", to="0.000030"),
        (
            fact("budget.stopped", scope="run", amount="micro_usd", limit=30, used=0),
            fact("task.ended", state="stopped", reason="budget"),
            Count(0, "task.started"),
        ),
        "stopped",
        of="budget-of-a-priced-program",
        change="there are 30 millionths of a dollar",
    ),
)
