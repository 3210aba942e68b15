"""Forecasts a run: the fate of each task, and the maximum that the run could use."""

from __future__ import annotations

from collections import Counter

from msgspec import structs

from forum_adapters.base import Attempt
from forum_runner.app.reuse import Reuse
from forum_runner.app.run_preparation import PreparedRun, unset_variables
from forum_runner.canonical import canonical
from forum_runner.execute.machine import MAX_FEEDBACK_BYTES, Context, Machine, limits_of, route
from forum_runner.report.forecast_text import Forecast, TaskForecast
from forum_runner.wave_plan.planned_task import PlannedTask
from forum_runner.wave_plan.wave_plan_reader import WavePlan

# An upper bound for the rest of a prompt: the text around the data, and the instructions for a judge.
_OTHER_BYTES = 4_096
# A `foreach` has at most 10,000 instances; the task itself is a unit, too.
_MAX_UNITS_PER_TASK = 10_001
# The machine needs a run id to render prompts. A forecast has no run.
_NO_RUN = "0" * 36
_AMOUNTS = ("calls", "input_tokens", "output_tokens", "micro_usd")


def forecast(prepared: PreparedRun, reuse: Reuse) -> Forecast:
    plan = prepared.plan
    fates = _fates(prepared, reuse)
    tasks = tuple(_forecast_task(plan, task, fates.get(task.id, ("later", None))) for task in plan.tasks.values())
    executed = [task for task in tasks if task.fate != "reuse"]
    maximum = {name: sum(getattr(task, name) for task in executed) for name in _AMOUNTS}
    maximum["tokens"] = maximum["input_tokens"] + maximum["output_tokens"]
    name, limits = plan.metadata.name, plan.policy.budget
    return Forecast(name, plan.digest, len(plan.waves), tasks, maximum, limits, tuple(unset_variables(prepared)))


def _fates(prepared: PreparedRun, reuse: Reuse) -> dict[str, tuple[str, str | None]]:
    """The fate of each task and its reason, if any. Runs the machine, without limits, until it waits for answers."""
    plan = prepared.plan
    max_units = len(plan.tasks) * _MAX_UNITS_PER_TASK
    unlimited = structs.replace(plan.policy, max_parallel=max_units, dispatch="eager", budget={}, rates={})
    context = Context(
        run=_NO_RUN,
        implementation={},
        settings={name: adapter.settings for name, adapter in plan.adapters.items()},
        check_settings={},
        secrets=dict.fromkeys(plan.secret_names(), ""),
        find_reusable=reuse.find,
    )
    transition = Machine(structs.replace(plan, policy=unlimited), context).open(0)
    fates: dict[str, tuple[str, str | None]] = {}
    for entry in transition.entries:
        if entry.kind == "task.reused":
            data = entry.data
            origin = "the cache" if data["source"] == "cache" else "the earlier run"
            fates[data["task"]] = ("reuse", f"{origin}: run {data['run']}, entry {data['seq']}")
        elif entry.kind == "task.ended" and entry.data["state"] == "skipped":
            fates[entry.data["task"]] = ("skip", entry.data["reason"])
        elif entry.kind == "gate.opened":
            fates[entry.data["task"]] = ("later", "waits for a decision first")
    for command in transition.commands:
        if isinstance(command, Attempt):
            fates[command.task] = ("run", _why_not_cached(plan, reuse, command.task))
    return fates


def _why_not_cached(plan: WavePlan, reuse: Reuse, task: str) -> str | None:
    if task in reuse.redacted:
        return "its output in the cache was redacted"
    uses_cache = task in plan.tasks and plan.tasks[task].uses_cache
    return "no earlier result has its fingerprint" if uses_cache else None


def _forecast_task(plan: WavePlan, task: PlannedTask, fate: tuple[str, str | None]) -> TaskForecast:
    agent = task.agent or route(plan, task).agent
    ladder = plan.ladder_of(task, agent)
    units = task.foreach.max if task.foreach is not None else 1
    attempts = task.retry.attempts
    prompt_bytes = _max_prompt_bytes(plan, task)
    maximum: Counter[str] = Counter()
    calls = [(rung.adapter, attempts, prompt_bytes) for rung in ladder]
    judges = [plan.agents[check.agent].own_rung.adapter for check in task.checks if check.agent is not None]
    judge_prompt_bytes = prompt_bytes + _max_output_bytes(plan, task)
    calls += [(adapter, attempts * attempts * len(ladder), judge_prompt_bytes) for adapter in judges]
    for adapter, count, size in calls:
        call = limits_of(plan.adapters[adapter]).ceiling(size)
        cost = call.prices.cost(call.input_tokens, 0, call.max_tokens)
        amounts = (1, call.input_tokens, call.max_tokens, cost)
        maximum.update({name: count * units * amount for name, amount in zip(_AMOUNTS, amounts, strict=True)})
    budget = task.budget or {}
    limited = [min(maximum[name], budget.get(name, maximum[name])) for name in _AMOUNTS]
    return TaskForecast(task.id, task.wave, agent, ladder[0].adapter, fate[0], fate[1], *limited)


def _max_prompt_bytes(plan: WavePlan, task: PlannedTask) -> int:
    """The size of the longest possible prompt, in bytes."""
    texts = (task.instruction or (), *(task.done_when or ()))
    text_bytes = sum(len(part.encode()) for text in texts for part in text if isinstance(part, str))
    schema = 0 if task.output is None else len(canonical(plan.schemas[task.output])) * 2
    persona = len(plan.agents[task.agent].persona.encode()) if task.agent else 0
    input_bytes = 0
    for edge in task.edges:
        size = sum(_max_output_bytes(plan, plan.tasks[name]) for name in edge.value.tasks())
        input_bytes += size if edge.max_bytes is None else min(size, edge.max_bytes)
    if task.foreach is not None:
        input_bytes += sum(_max_output_bytes(plan, plan.tasks[name]) for name in task.foreach.value.tasks())
    # After a bad answer, the next prompt has the reason and the answer, both truncated.
    feedback = 2 * MAX_FEEDBACK_BYTES if task.retry.attempts > 1 or task.checks else 0
    return text_bytes + persona + schema + input_bytes + feedback + _OTHER_BYTES


def _max_output_bytes(plan: WavePlan, task: PlannedTask) -> int:
    agent = task.agent or route(plan, task).agent
    maximum = max(limits_of(plan.adapters[rung.adapter]).max_output_bytes for rung in plan.ladder_of(task, agent))
    return maximum * (task.foreach.max if task.foreach is not None else 1)
