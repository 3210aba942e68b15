"""Makes the next call of a unit, within the limits of budgets and rates."""

from __future__ import annotations

from typing import Any

import orjson
from msgspec import structs

from forum_adapters.base import Attempt, Limits, Prompt
from forum_runner.execute.machine import call_result, task_end, task_start
from forum_runner.execute.machine.budgets import WALL, Ceiling, Shortage, fit
from forum_runner.execute.machine.call_prompt import render_attempt, render_check
from forum_runner.execute.machine.core import MachineCore
from forum_runner.execute.machine.prompt_renderer import prompt_document, prompt_size
from forum_runner.execute.machine.unit import Unit
from forum_runner.ledger.body import JSON, Body
from forum_runner.ledger.recorded_body import body_digest


def advance(core: MachineCore, unit: Unit) -> None:
    """Lets the unit make its next call, wait, or end. Call it only if the run may make one more call."""
    if unit.state is not None or unit.call is not None or unit.resumes_us is not None:
        return
    if not unit.has_begun:
        if core.state.is_stopping:
            task_start.end_unstarted(core, unit)
            return
        if unit.gate is None and not task_start.prepare(core, unit):
            return
        if unit.gate is not None and unit.gate.decision == "rejected":
            reason = "deadline" if unit.gate.by == "deadline" else "rejected"
            task_end.end(core, unit, "refused", reason)
            return
    if unit.needs_check:
        _check(core, unit)
    else:
        _attempt(core, unit)


def _attempt(core: MachineCore, unit: Unit) -> None:
    agent = unit.agent
    if agent is None:
        raise ValueError(f"'{unit.name}' has no agent")
    fingerprint = unit.fingerprint or core.fingerprints.compute(
        unit.task, agent, unit.ladder, unit.delivered, unit.edited_instruction
    )
    if not unit.has_begun and task_start.reuse(core, unit, fingerprint):
        return
    rung = unit.ladder[unit.step]
    prompt = render_attempt(core, core.renderer, unit)
    public_prompt = render_attempt(core, core.public_renderer, unit) if core.context.secrets else prompt
    body = _prompt_body(unit, public_prompt)
    if unit.answered_prompts and body_digest(body) in unit.answered_prompts:
        # A model gives no better answer to a prompt that it has answered before.
        call_result.escalate_or_fail(core, unit, "repeated")
        return
    ceiling = _reserve(core, unit, agent, rung.adapter, public_prompt)
    if ceiling is None:
        return
    data = {
        "task": unit.name,
        "attempt": unit.attempts + 1,
        "agent": agent,
        "tier": rung.tier,
        "adapter": rung.adapter,
        "fingerprint": fingerprint,
        "reserved": ceiling.reserved(),
    }
    core.record("task.started", data, {"prompt": body}, _causes_of_attempt(unit))
    _begin(core, unit, prompt, ceiling)


def _prompt_body(unit: Unit, public_prompt: Prompt) -> Body:
    return Body(orjson.dumps(prompt_document(public_prompt)), JSON, unit.is_sensitive)


def _causes_of_attempt(unit: Unit) -> list[int]:
    if unit.attempts:
        return unit.causes_after_attempt
    decided = None if unit.gate is None else unit.gate.decided_seq
    cause = unit.cause_seq if unit.delivered_seq is None else unit.delivered_seq
    if decided is None:
        return [] if cause is None else [cause]
    return [decided] if cause is None else sorted({cause, decided})


def _check(core: MachineCore, unit: Unit) -> None:
    """Makes the next check by a command or an agent. Checks by schemas need no call."""
    number = unit.checks_passed
    agent, adapter = unit.task.checks[number].agent, None
    data: dict[str, Any] = {"task": unit.name, "attempt": unit.attempts, "check": number, "by": "command"}
    if agent is not None:
        rung = core.plan.agents[agent].own_rung
        adapter = rung.adapter
        data |= {"by": "agent", "agent": agent, "tier": rung.tier, "adapter": adapter}
    prompt = render_check(core, core.renderer, unit)
    public_prompt = render_check(core, core.public_renderer, unit) if core.context.secrets else prompt
    ceiling = _reserve(core, unit, agent, adapter, public_prompt)
    if ceiling is None:
        return
    bodies = {"prompt": _prompt_body(unit, public_prompt)}
    core.record("verdict.asked", {**data, "reserved": ceiling.reserved()}, bodies, unit.causes_after_attempt)
    _begin(core, unit, prompt, ceiling)


def _begin(core: MachineCore, unit: Unit, prompt: Prompt, ceiling: Ceiling) -> None:
    call, context = unit.call, core.context
    if call is None:
        raise ValueError(f"no call of '{unit.name}' is open")
    call.time_shortage, call.output_shortage = ceiling.time_shortage, ceiling.output_shortage
    limits = Limits(
        ceiling.timeout_ms, ceiling.max_output_bytes, ceiling.max_tokens, is_final=ceiling.time_shortage is not None
    )
    settings = context.check_settings if call.adapter is None else context.settings[call.adapter]
    core.commands.append(
        Attempt(
            call.id, context.run, unit.name, call.attempt, call.adapter or "", settings, prompt, limits,
            call.agent, call.check, context.site,
        )
    )  # fmt: skip


def _reserve(core: MachineCore, unit: Unit, agent: str | None, adapter: str | None, prompt: Prompt) -> Ceiling | None:
    """The ceiling of the call, within the limits of budgets and rates; None if the unit waits or was stopped."""
    state, limits = core.state, core.state.call_limits[adapter]
    wanted = limits.ceiling(prompt_size(prompt) if limits.counts_prompt else 0)
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
        if ceiling.is_temporary:
            core.waiting_for_budget.append(unit)
        else:
            task_end.stop(core, unit, ceiling)
        return None
    if adapter is not None and state.rates.limits_anything:
        free_us = state.rates.free_at(adapter, state.now_us, ceiling.input_tokens + ceiling.max_tokens)
        if free_us > state.now_us:
            core.wait(unit, free_us)
            return None
    return ceiling


def _within_time(core: MachineCore, wanted: Ceiling, left_ms: int) -> Ceiling:
    """Limits the call to the time that the run has left."""
    if left_ms >= wanted.timeout_ms:
        return wanted
    used_ms = core.state.active_ms(core.state.now_us)
    shortage = Shortage(core.state.budgets.run, WALL, used_ms + left_ms, used_ms, wanted.timeout_ms, False)
    return structs.replace(wanted, timeout_ms=left_ms, time_shortage=shortage)
