"""Budgets: what calls reserve, when they wait, when they are reduced, and when they are stopped."""

from typing import Any

import pytest
from msgspec import structs

from forum_adapters.base import ErrorKind, Failure, Usage
from forum_runner.execute.machine.budgets import RESOURCES, Account, Budgets, Ceiling, Shortage, fit
from forum_runner.wave_plan.wave_plan_reader import TokenPrices
from unit.runner.execute.small_runs import FAIL, PASS, ROSTER, RUN, WORK, ManualRun, outputs, run, wave_plan_of

PRICES = TokenPrices(input=3_000_000, cached_input=300_000, output=15_000_000)
WANTED = Ceiling(input_tokens=100, max_tokens=1_000, max_output_bytes=5_000, timeout_ms=60_000, prices=PRICES)
ROOMY: dict[str, int] = {"calls": 10, "tokens": 10_000}


def make_account(limits: dict[str, int], **used: int) -> Account:
    account = Account("task", "a", limits)
    for name, amount in used.items():
        column, _, resource = name.partition("_")
        index = RESOURCES.index(resource)
        (account.charged if column == "charged" else account.held)[index] = amount
    return account


@pytest.mark.requirement("RUN-BUDGET-002")
@pytest.mark.parametrize(
    ("agent", "settings", "reserved"),
    [
        ("writer", {}, {"input_tokens": 262, "output_tokens": 4_096, "micro_usd": 0, "output_bytes": 66_560}),
        (
            "costly",
            {},
            # 262 * 3 + 4,096 * 15, in millionths of a dollar.
            {"input_tokens": 262, "output_tokens": 4_096, "micro_usd": 62_226, "output_bytes": 66_560},
        ),
        ("local", {}, {"input_tokens": 0, "output_tokens": 0, "micro_usd": 0, "output_bytes": 10_000_000}),
        (
            "local",
            {"prices": {"input": "1", "output": "0.000001"}, "max_output_bytes": 100},
            # The persona, an empty line and the instruction; 22 millionths and a hundredth of one, rounded up.
            {"input_tokens": 22, "output_tokens": 100, "micro_usd": 23, "output_bytes": 100},
        ),
    ],
)
def test_an_attempt_reserves_the_most_it_could_use(
    agent: str, settings: dict[str, Any], reserved: dict[str, int]
) -> None:
    adapters = {**ROSTER["adapters"], "own": {**ROSTER["adapters"]["own"], **settings}}

    recorded = run({"a": {**WORK, "agent": agent}}, outputs(a="x"), roster={**ROSTER, "adapters": adapters})

    assert recorded.only("task.started").data["reserved"] == reserved


@pytest.mark.requirement("RUN-BUDGET-002")
def test_the_output_schema_is_counted_in_addition_to_the_text() -> None:
    schema = '{"type":"string"}'
    text = f"Write.\n\nAnswer with one JSON value that is valid against this JSON Schema, and nothing else:\n{schema}"

    recorded = run({"a": {**WORK, "output": {"type": "string"}}}, outputs(a="x"))

    assert recorded.only("task.started").data["reserved"]["input_tokens"] == len(text) + len(schema) + 256


@pytest.mark.requirement("RUN-BUDGET-002")
def test_a_reservation_does_not_reveal_the_length_of_a_secret() -> None:
    task = {**WORK, "instruction": "Use ${{ inputs.token }}."}
    inputs = {"token": {"type": "string", "secret": True}}

    recorded = run({"a": task}, outputs(a="x"), inputs=inputs, secrets={"token": "k" * 1_000})

    assert recorded.only("task.started").data["reserved"]["input_tokens"] == len("Use [secret: token].") + 256


@pytest.mark.requirement("RUN-BUDGET-002")
def test_a_command_check_reserves_only_output_bytes() -> None:
    recorded = run(
        {"a": {**WORK, "accept": [{"command": ["check"]}]}}, [{"check": "command", "output": ""}, *outputs(a="x")]
    )

    assert recorded.only("verdict.asked").data["reserved"] == {
        "input_tokens": 0,
        "output_tokens": 0,
        "micro_usd": 0,
        "output_bytes": 1_000_000,
    }


@pytest.mark.requirement("RUN-BUDGET-003")
def test_a_call_within_budget_keeps_the_limits_of_its_adapter() -> None:
    assert fit([make_account(ROOMY)], WANTED, 1) == WANTED


@pytest.mark.requirement("RUN-BUDGET-003")
@pytest.mark.parametrize(
    ("limits", "reduced"),
    [
        ({"output_tokens": 400}, {"max_tokens": 400}),
        ({"tokens": 400}, {"max_tokens": 300}),
        # 3,000 millionths less 300 for the input leave 180 tokens at 15 each.
        ({"micro_usd": 3_000}, {"max_tokens": 180}),
        ({"output_bytes": 400}, {"max_output_bytes": 400}),
        ({"wall_ms": 400}, {"timeout_ms": 400}),
        ({"tokens": 500, "output_tokens": 300, "wall_ms": 9}, {"max_tokens": 300, "timeout_ms": 9}),
    ],
)
def test_a_call_over_budget_is_reduced(limits: dict[str, int], reduced: dict[str, Any]) -> None:
    ceiling = fit([make_account(limits)], WANTED, 1)

    assert isinstance(ceiling, Ceiling)
    assert structs.replace(ceiling, time_shortage=None, output_shortage=None) == structs.replace(WANTED, **reduced)


@pytest.mark.requirement("RUN-BUDGET-003", "RUN-BUDGET-004")
@pytest.mark.parametrize(
    ("limits", "amount", "needed"),
    [
        ({"calls": 1}, 0, 1),
        ({"input_tokens": 99}, 1, 100),
        ({"output_tokens": 15}, 2, 16),
        ({"tokens": 115}, 3, 116),
        ({"micro_usd": 539}, 4, 540),
    ],
)
def test_a_call_that_cannot_be_reduced_enough_is_stopped(limits: dict[str, int], amount: int, needed: int) -> None:
    shortage = fit([make_account(limits, **{f"charged_{name}": 1 for name in limits if name == "calls"})], WANTED, 1)

    assert isinstance(shortage, Shortage)
    assert (shortage.resource, shortage.needed, shortage.is_temporary) == (amount, needed, False)


@pytest.mark.requirement("RUN-BUDGET-003")
@pytest.mark.parametrize(
    "limits", [{"output_tokens": 16}, {"tokens": 116}, {"micro_usd": 540}, {"output_bytes": 1}, {"wall_ms": 1}]
)
def test_a_call_may_be_reduced_to_the_minimum(limits: dict[str, int]) -> None:
    assert isinstance(fit([make_account(limits)], WANTED, 1), Ceiling)


@pytest.mark.requirement("RUN-BUDGET-003")
def test_an_adapter_limit_below_the_minimum_is_kept() -> None:
    wanted = structs.replace(WANTED, max_tokens=4)

    assert fit([make_account({"output_tokens": 4})], wanted, 1) == wanted


@pytest.mark.requirement("RUN-BUDGET-003")
def test_a_call_waits_for_reservations_of_open_calls() -> None:
    shortage = fit([make_account({"output_tokens": 1_500}, held_output_tokens=1_000)], WANTED, 1)

    assert isinstance(shortage, Shortage)
    assert shortage.is_temporary


@pytest.mark.requirement("RUN-BUDGET-003")
def test_a_call_does_not_wait_if_releasing_reservations_would_not_help() -> None:
    limits = {"output_tokens": 1_500, "calls": 1}

    shortage = fit([make_account(limits, held_output_tokens=1_000, charged_calls=1)], WANTED, 1)

    assert isinstance(shortage, Shortage)
    assert (shortage.resource, shortage.is_temporary) == (0, False)


@pytest.mark.requirement("RUN-BUDGET-001")
def test_the_widest_scope_is_checked_first() -> None:
    agents = {"writer": {"adapter": "small", "limits": {"calls": 1}}}
    policy = {"budget": {"calls": 1}}
    plan = wave_plan_of({"a": {**WORK, "budget": {"calls": 1}}}, policy=policy, roster={**ROSTER, "agents": agents})
    budgets = Budgets(plan)

    assert [account.scope for account in budgets.accounts("a", "writer")] == ["run", "agent", "task"]


@pytest.mark.requirement("RUN-BUDGET-001")
def test_a_command_check_does_not_count_as_a_call() -> None:
    tasks = {"a": {**WORK, "budget": {"calls": 1}, "accept": [{"command": ["check"]}]}}

    recorded = run(tasks, [{"check": "command", "output": ""}, *outputs(a="x")])

    assert recorded.ends == {"a": "passed"}
    assert recorded.only("run.sealed").data["totals"]["calls"] == 1


@pytest.mark.requirement("RUN-BUDGET-001")
def test_instances_share_the_budget_of_their_task() -> None:
    source = {**RUN, "output": {"type": "array"}}
    each = {**WORK, "foreach": {"task": "a", "as": "item", "max": 3}, "budget": {"calls": 2}}

    recorded = run({"a": source, "each": each}, outputs(a=[1, 2, 3], each="x"), policy={"on_failure": "continue"})

    assert recorded.ends == {
        "a": "passed",
        "each[0]": "passed",
        "each[1]": "passed",
        "each[2]": "stopped/budget",
        "each": "stopped/budget",
    }


@pytest.mark.requirement("RUN-BUDGET-003", "RUN-ORDER-003")
def test_a_unit_waiting_for_budget_does_not_block_others() -> None:
    manual = ManualRun({"a": WORK, "b": WORK, "c": RUN}, policy={"budget": {"output_tokens": 5_000}})

    assert list(manual.open) == ["a", "c"]
    manual.reply("a", "x", usage=Usage(10, 0, 20))
    assert list(manual.open) == ["c", "b"]


@pytest.mark.requirement("RUN-BUDGET-004")
def test_a_unit_over_budget_is_stopped_and_the_exceeded_budget_is_recorded() -> None:
    tasks = {"a": {**WORK, "budget": {"calls": 2}, "accept": [{"agent": "critic"}], "escalate": ["frontier"]}}

    recorded = run(tasks, [FAIL, {"output": "x"}])

    assert recorded.only("budget.stopped").data == {
        "scope": "task",
        "name": "a",
        "amount": "calls",
        "limit": 2,
        "used": 2,
        "needed": 1,
    }
    assert recorded.ends == {"a": "stopped/budget"}
    assert recorded.status == "stopped"


@pytest.mark.requirement("RUN-BUDGET-004")
@pytest.mark.parametrize(
    ("budget", "kind", "facts"),
    [
        ({"wall": "5s"}, ErrorKind.TIMEOUT, {"amount": "wall_ms", "limit": 5_000, "used": 5_000, "needed": 600_000}),
        (
            {"output_tokens": 100},
            ErrorKind.OUTPUT_LIMIT,
            {"amount": "output_tokens", "limit": 100, "used": 100, "needed": 4_096},
        ),
    ],
)
def test_a_reduced_call_that_hits_its_limit_stops_its_unit(
    budget: dict[str, Any], kind: ErrorKind, facts: dict[str, Any]
) -> None:
    manual = ManualRun({"a": {**WORK, "budget": budget, "retry": {"attempts": 3}}})
    manual.wait(5_000)
    manual.reply("a", "", failure=Failure(kind))

    assert manual.recorded.only("budget.stopped").data == {"scope": "task", "name": "a", **facts}
    assert manual.recorded.ends == {"a": "stopped/budget"}


@pytest.mark.requirement("RUN-BUDGET-004")
def test_a_reduced_call_with_another_error_is_retried() -> None:
    manual = ManualRun({"a": {**WORK, "budget": {"output_tokens": 100}, "retry": {"attempts": 3}}})
    manual.reply("a", "", failure=Failure(ErrorKind.NETWORK), usage=Usage())

    assert manual.recorded.kinds == ["task.started", "task.finished"]


@pytest.mark.requirement("RUN-BUDGET-005")
def test_a_rejected_call_without_any_reply_costs_nothing() -> None:
    manual = ManualRun({"a": {**WORK, "agent": "costly"}})
    manual.reply("a", "", failure=Failure(ErrorKind.AUTH))

    usage = manual.recorded.only("task.finished").data["usage"]

    assert set(usage.values()) == {0}


@pytest.mark.requirement("RUN-BUDGET-005")
@pytest.mark.parametrize(
    ("agent", "reply", "charged", "is_measured"),
    [
        # 60 at 3, 40 cached at 3 (the roster names no other price), 50 at 15.
        ("costly", {"usage": Usage(100, 40, 50)}, (100, 40, 50, 1_050), True),
        ("costly", {}, (262, 0, 4_096, 62_226), False),
        ("costly", {"failure": Failure(ErrorKind.TIMEOUT)}, (262, 0, 4_096, 62_226), False),
        ("costly", {"failure": Failure(ErrorKind.AUTH)}, (262, 0, 4_096, 62_226), False),
        ("local", {}, (0, 0, 0, 0), True),
        ("local", {"usage": Usage(7, 0, 8)}, (7, 0, 8, 0), True),
    ],
)
def test_a_call_is_charged_its_reported_usage_or_its_reservation(
    agent: str, reply: dict[str, Any], charged: tuple[int, ...], is_measured: bool
) -> None:
    manual = ManualRun({"a": {**WORK, "agent": agent}})
    manual.wait(1_500)
    manual.reply("a", "done", **reply)

    entry = manual.recorded.only("task.finished")
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "micro_usd")
    assert entry.data["usage"] == {**dict(zip(names, charged, strict=True)), "output_bytes": 4, "wall_ms": 1_500}
    assert entry.data["measured"] is is_measured


@pytest.mark.requirement("RUN-BUDGET-005")
def test_a_program_with_prices_is_charged_for_every_byte() -> None:
    own = {**ROSTER["adapters"]["own"], "prices": {"input": "1", "output": "2"}}
    manual = ManualRun(
        {"a": {**WORK, "agent": "local"}}, roster={**ROSTER, "adapters": {**ROSTER["adapters"], "own": own}}
    )
    manual.reply("a", "done")

    usage = manual.recorded.only("task.finished").data["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["micro_usd"]) == (22, 4, 30)


@pytest.mark.requirement("RUN-BUDGET-005")
def test_a_lost_call_is_charged_what_it_reserved() -> None:
    manual = ManualRun({"a": WORK})
    manual.wait(1_500)
    manual.lose("a")

    assert manual.recorded.only("run.sealed").data["totals"] == {
        "calls": 1,
        "input_tokens": 262,
        "cached_input_tokens": 0,
        "output_tokens": 4_096,
        "micro_usd": 0,
        "output_bytes": 66_560,
        "wall_ms": 0,
    }


@pytest.mark.requirement("RUN-BUDGET-006")
def test_usage_beyond_the_reservation_is_recorded() -> None:
    manual = ManualRun({"a": WORK})
    manual.reply("a", "x", usage=Usage(1_000, 0, 5_000))

    assert [entry.data for entry in manual.recorded.of_kind("budget.exceeded")] == [
        {"task": "a", "attempt": 1, "amount": "input_tokens", "reserved": 262, "used": 1_000},
        {"task": "a", "attempt": 1, "amount": "output_tokens", "reserved": 4_096, "used": 5_000},
    ]
    assert manual.recorded.kinds[:4] == ["task.started", "task.finished", "budget.exceeded", "budget.exceeded"]


@pytest.mark.requirement("RUN-WALL-001")
def test_a_run_is_stopped_when_its_wall_time_runs_out() -> None:
    tasks = {"a": WORK, "b": WORK, "c": {**WORK, "needs": ["a"]}}
    manual = ManualRun(tasks, policy={"budget": {"wall": "5s"}, "max_parallel": 1})
    assert manual.open["a"].limits.timeout_ms == 5_000
    manual.pass_time(5_000)

    assert manual.recorded.only("budget.stopped").data == {
        "scope": "run",
        "amount": "wall_ms",
        "limit": 5_000,
        "used": 5_000,
        "needed": 0,
    }
    assert manual.cancelled == [manual.open["a"].id]
    assert manual.recorded.ends == {"b": "stopped/budget", "c": "stopped/budget"}
    manual.reply("a", "", failure=Failure(ErrorKind.CANCELLED))
    assert manual.recorded.ends == {"a": "stopped/budget", "b": "stopped/budget", "c": "stopped/budget"}


@pytest.mark.requirement("RUN-WALL-001")
def test_a_unit_waiting_for_a_retry_is_stopped_with_the_run() -> None:
    manual = ManualRun({"a": {**WORK, "retry": {"attempts": 2, "backoff": "10s"}}}, policy={"budget": {"wall": "5s"}})
    manual.reply("a", "", failure=Failure(ErrorKind.NETWORK))
    manual.pass_time(5_000)

    assert manual.recorded.ends == {"a": "stopped/budget"}


@pytest.mark.requirement("RUN-WALL-001")
def test_time_spent_at_a_gate_is_not_counted() -> None:
    tasks = {
        "a": {**WORK, "gate": {"question": "Go?", "deadline": "1h", "on_deadline": "approve"}},
    }

    recorded = run(tasks, [{"output": "x", "latency": "4s"}], policy={"budget": {"wall": "5s"}})

    assert recorded.ends == {"a": "passed"}


@pytest.mark.requirement("RUN-WALL-001")
@pytest.mark.parametrize("latencies", [("10s", "0s"), ("1s", "10s")])
def test_a_call_cut_short_by_the_wall_time_stops_its_unit(latencies: tuple[str, str]) -> None:
    tasks = {"a": {**WORK, "accept": [{"agent": "critic"}]}}
    answers = [{"agent": "writer", "output": "x", "latency": latencies[0]}, {**PASS, "latency": latencies[1]}]

    recorded = run(tasks, answers, policy={"budget": {"wall": "5s"}})

    assert recorded.ends == {"a": "stopped/budget"}
    assert recorded.status == "stopped"


@pytest.mark.requirement("RUN-WALL-001")
@pytest.mark.parametrize("kind", ["body.redacted", "run.repaired"])
def test_time_before_a_redaction_or_repair_after_a_kill_is_not_counted(kind: str) -> None:
    machine = ManualRun({"a": WORK}, policy={"budget": {"wall": "5s"}}).machine
    an_hour_later_us = machine.state.last_entry_us + 3_600_000_000
    machine.state.apply(kind, an_hour_later_us, {}, {})

    machine.resume(an_hour_later_us)

    assert (machine.state.active_ms(an_hour_later_us), machine.state.is_out_of_time) == (0, False)
