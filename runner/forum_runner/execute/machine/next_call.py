"""Makes the next call of a unit, within the limits of budgets and rates."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from forum_adapters.base import Attempt, Limits, Prompt
from forum_runner.execute.machine import call_result, task_end, task_start
from forum_runner.execute.machine.budgets import WALL, Ceiling, Shortage, fit
from forum_runner.execute.machine.call_limits import COMMAND_CHECK_LIMITS, CallLimits
from forum_runner.execute.machine.call_prompt import edited_for, render, render_check
from forum_runner.execute.machine.core import MachineCore
from forum_runner.execute.machine.prompt_renderer import recorded, size_of
from forum_runner.execute.machine.unit import Unit
from forum_runner.ledger.body import JSON, Body
from forum_runner.ledger.recorded_body import body_digest
from forum_runner.wave_plan.wave_plan_reader import AdapterSettings


def advance(core: MachineCore, unit: Unit) -> None:
    """Lets the unit make its next call, wait, or end. There is room for a call."""
    if unit.state is not None or unit.call is not None or unit.resumes_us is not None:
        return
    if not unit.has_begun:
        if core.state.is_stopping:
            task_start.sweep_unit(core, unit)
            return
        if unit.gate is None and not task_start.prepare(core, unit):
            return
        if unit.gate is not None and unit.gate.decision == "rejected":
            reason = "deadline" if unit.gate.by == "deadline" else "rejected"
            task_end.end(core, unit, "refused", reason)
            return
    if unit.ending is not None and unit.ending.status == "ok" and not unit.has_failed_check:
        _check(core, unit)
    else:
        _attempt(core, unit)


def _attempt(core: MachineCore, unit: Unit) -> None:
    agent = unit.agent
    if agent is None:
        raise ValueError(f"'{unit.name}' has no agent")
    edited = None if unit.gate is None else edited_for(unit)
    fingerprint = unit.fingerprint or core.fingerprints.of(unit.task, agent, unit.ladder, unit.given, edited)
    if not unit.has_begun and task_start.reuse(core, unit, fingerprint):
        return
    rung = unit.ladder[unit.step]
    adapter = rung.adapter
    prompt = render(core, core.renderer, unit)
    # The ledger gets the names of secrets.
    public = render(core, core.recording, unit) if core.context.secrets else prompt
    kept = Body(recorded(public), JSON, unit.is_sensitive)
    if unit.seen and body_digest(kept) in unit.seen:
        call_result.stop_repeating(core, unit)
        return
    ceiling = _room(core, unit, agent, adapter, _wanted(core.plan.call_limits[adapter], public))
    if ceiling is None:
        return
    data = {
        "task": unit.name,
        "attempt": unit.attempts + 1,
        "agent": agent,
        "tier": rung.tier,
        "adapter": adapter,
        "fingerprint": fingerprint,
        "reserved": ceiling.reserved(),
    }
    core.record("task.started", data, {"prompt": kept}, _causes_of_an_attempt(unit))
    _begin(core, unit, agent, adapter, core.context.settings[adapter], prompt, ceiling)


def _causes_of_an_attempt(unit: Unit) -> list[int]:
    if unit.attempts:
        return [] if unit.closed is None else [unit.closed]
    decided = None if unit.gate is None else unit.gate.decided_seq
    cause = unit.cause if unit.delivered is None else unit.delivered
    if decided is None:
        return [] if cause is None else [cause]
    return [decided] if cause is None else sorted({cause, decided})


def _check(core: MachineCore, unit: Unit) -> None:
    """Makes the next check by a command or an agent. Checks by schemas need no call."""
    number = unit.checks_passed
    agent: str | None = unit.task.checks[number].agent
    data: dict[str, Any] = {"task": unit.name, "attempt": unit.attempts, "check": number}
    prompt = render_check(core, core.renderer, unit)
    public = render_check(core, core.recording, unit) if core.context.secrets else prompt
    if agent is None:
        data["by"], adapter, settings = "command", None, core.context.check_settings
        wanted = COMMAND_CHECK_LIMITS.ceiling(0)
    else:
        rung = core.plan.agents[agent].own_rung
        adapter, settings = rung.adapter, core.context.settings[rung.adapter]
        data |= {"by": "agent", "agent": agent, "tier": rung.tier, "adapter": adapter}
        wanted = _wanted(core.plan.call_limits[adapter], public)
    ceiling = _room(core, unit, agent, adapter, wanted)
    if ceiling is None:
        return
    kept = Body(recorded(public), JSON, unit.is_sensitive)
    causes = [] if unit.closed is None else [unit.closed]
    core.record("verdict.asked", {**data, "reserved": ceiling.reserved()}, {"prompt": kept}, causes)
    _begin(core, unit, agent, adapter or "", settings, prompt, ceiling)


def _begin(
    core: MachineCore,
    unit: Unit,
    agent: str | None,
    adapter: str,
    settings: AdapterSettings,
    prompt: Prompt,
    ceiling: Ceiling,
) -> None:
    call = unit.call
    if call is None:
        raise ValueError(f"no call of '{unit.name}' is open")
    call.short_time, call.short_output = ceiling.short_time, ceiling.short_output
    limits = Limits(
        ceiling.timeout_ms, ceiling.max_output_bytes, ceiling.max_tokens, is_final=ceiling.short_time is not None
    )
    run, site = core.context.run, core.context.site
    core.begin(
        Attempt(call.id, run, unit.name, unit.attempts, adapter, settings, prompt, limits, agent, call.check, site)
    )


def _wanted(limits: CallLimits, prompt: Prompt) -> Ceiling:
    """The limits of a call, from its adapter only."""
    return limits.ceiling(size_of(prompt) if limits.counts_prompt else 0)


def _room(core: MachineCore, unit: Unit, agent: str | None, adapter: str | None, wanted: Ceiling) -> Ceiling | None:
    """The ceiling for the call; None if the unit waits or was stopped."""
    state = core.state
    ceiling: Ceiling | Shortage = wanted
    left_ms = core.wall_left_ms()
    if left_ms is not None:
        if left_ms <= 0:
            task_end.end(core, unit, "stopped", "budget")
            return None
        ceiling = wanted = _within_time(core, wanted, left_ms)
    if state.budgets.limits_anything:
        accounts = state.budgets.accounts(unit.task.id, agent)
        ceiling = fit(accounts, wanted, 0 if agent is None else 1)
    if isinstance(ceiling, Shortage):
        if ceiling.may_pass:
            core.short.append(unit)
        else:
            task_end.stop(core, unit, ceiling)
        return None
    if adapter is not None and state.rates.limits_anything:
        free_us = state.rates.free_at(adapter, core.state.now_us, ceiling.input_tokens + ceiling.max_tokens)
        if free_us > core.state.now_us:
            core.wait(unit, free_us)
            return None
    return ceiling


def _within_time(core: MachineCore, wanted: Ceiling, left_ms: int) -> Ceiling:
    """Limits the call to the time that the run has left."""
    if left_ms >= wanted.timeout_ms:
        return wanted
    used_ms = core.state.active_ms(core.state.now_us)
    short = Shortage(core.state.budgets.run, WALL, used_ms + left_ms, used_ms, wanted.timeout_ms, False)
    return structs.replace(wanted, timeout_ms=left_ms, short_time=short)
