"""The next call of a unit: whether there is one, what it may take, and its beginning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from forum_adapters.base import Attempt, Limits, Prompt
from forum_runner.execute import beginning, closing, ending
from forum_runner.execute.budgets import NO_PRICES, WALL, Ceiling, Shortage, fit, prices_in
from forum_runner.execute.prompts import recorded, size_of
from forum_runner.execute.rendering import check_without_secrets, edited_for, render, render_check, without_secrets
from forum_runner.execute.state import DEFAULT_TIMEOUT_MS, body_digest, timeout_of
from forum_runner.execute.unit import Unit
from forum_runner.ledger.body import JSON, Body

if TYPE_CHECKING:
    from forum_runner.execute.machine import Machine

DEFAULT_MAX_TOKENS = 4_096
DEFAULT_OUTPUT_BYTES = 10_000_000
CHECK_OUTPUT_BYTES = 1_000_000
# A chat template adds marks of its own around the messages, and secrets are counted by their names alone: what is
# reserved must not tell how long they are.
_TEMPLATE_TOKENS = 256
# No tokenizer makes tokens that are longer on average; the rest is for short answers.
_BYTES_PER_TOKEN = 16
_BYTES_BESIDE = 1_024


def advance(m: Machine, unit: Unit) -> None:
    """There is room for a call: the unit makes its next one, or ends, or waits."""
    if unit.state is not None or unit.call is not None or unit.resumes_us is not None:
        return
    if not unit.has_begun:
        if m.is_stopping:
            beginning.sweep_unit(m, unit)
            return
        if unit.gate is None and not beginning.prepare(m, unit):
            return
        if unit.gate is not None and unit.gate.decision == "rejected":
            reason = "deadline" if unit.gate.by == "deadline" else "rejected"
            ending.end(m, unit, "refused", reason)
            return
    if unit.ending is not None and unit.ending.status == "ok" and not unit.has_failed_check:
        _check(m, unit)
    else:
        _attempt(m, unit)


def _attempt(m: Machine, unit: Unit) -> None:
    agent = unit.agent
    if agent is None:
        raise ValueError(f"'{unit.name}' has no agent")
    fingerprint = unit.fingerprint or m.fingerprints.of(unit.task, agent, unit.ladder, unit.given, edited_for(unit))
    if not unit.has_begun and beginning.reuse(m, unit, fingerprint):
        return
    step = unit.ladder[unit.step]
    prompt = render(m, m.renderer, unit)
    shown = without_secrets(m, unit, prompt)
    kept = Body(recorded(shown), JSON, unit.is_sensitive)
    if unit.seen and body_digest(kept) in unit.seen:
        closing.stop_repeating(m, unit)
        return
    settings = m.plan.adapters[step.adapter]
    ceiling = _room(m, unit, agent, step.adapter, _wanted(settings, shown))
    if ceiling is None:
        return
    data = {
        "task": unit.name,
        "attempt": unit.attempts + 1,
        "agent": agent,
        "tier": step.tier,
        "adapter": step.adapter,
        "fingerprint": fingerprint,
        "reserved": ceiling.reserved(),
    }
    causes = _causes_of_an_attempt(unit)
    m.tell("task.started", data, {"prompt": kept}, causes)
    _begin(m, unit, agent, step.adapter, m.context.settings[step.adapter], prompt, ceiling)


def _causes_of_an_attempt(unit: Unit) -> list[int]:
    if unit.attempts:
        return [] if unit.closed is None else [unit.closed]
    decided = None if unit.gate is None else unit.gate.decided_seq
    ground = unit.cause if unit.delivered is None else unit.delivered
    if decided is None:
        return [] if ground is None else [ground]
    return [decided] if ground is None else sorted({ground, decided})


def _check(m: Machine, unit: Unit) -> None:
    """The next check, which a command or an agent makes. Those by schemas need no call, and were made."""
    number = unit.checks_passed
    agent: str | None = unit.task.accept[number].get("agent")
    data: dict[str, Any] = {"task": unit.name, "attempt": unit.attempts, "check": number}
    prompt = render_check(m, m.renderer, unit)
    shown = check_without_secrets(m, unit, prompt)
    if agent is None:
        data["by"], adapter, settings = "command", None, m.context.check_settings
        wanted = Ceiling(0, 0, CHECK_OUTPUT_BYTES, timeout_of(m.plan, None), NO_PRICES)
    else:
        step = m.plan.judge_step(agent)
        adapter, settings = step.adapter, m.context.settings[step.adapter]
        data |= {"by": "agent", "agent": agent, "tier": step.tier, "adapter": adapter}
        wanted = _wanted(m.plan.adapters[adapter], shown)
    ceiling = _room(m, unit, agent, adapter, wanted)
    if ceiling is None:
        return
    kept = Body(recorded(shown), JSON, unit.is_sensitive)
    causes = [] if unit.closed is None else [unit.closed]
    m.tell("verdict.asked", {**data, "reserved": ceiling.reserved()}, {"prompt": kept}, causes)
    _begin(m, unit, agent, adapter or "", settings, prompt, ceiling)


def _begin(
    m: Machine,
    unit: Unit,
    agent: str | None,
    adapter: str,
    settings: Mapping[str, Any],
    prompt: Prompt,
    ceiling: Ceiling,
) -> None:
    call = unit.call
    if call is None:
        raise ValueError(f"no call of '{unit.name}' is open")
    call.short_time, call.short_output = ceiling.short_time, ceiling.short_output
    is_final = ceiling.short_time is not None
    limits = Limits(ceiling.timeout_ms, ceiling.max_output_bytes, ceiling.max_tokens, is_final)
    attempt = Attempt(
        call.id, m.context.run, unit.name, unit.attempts, adapter, settings, prompt, limits, agent, call.check,
        m.context.site,
    )  # fmt: skip
    m.begin(attempt)


def _wanted(settings: Mapping[str, Any], prompt: Prompt) -> Ceiling:
    """What a call may take by its adapter alone."""
    needs_size = settings["type"] != "command" or "prices" in settings
    return most_of(settings, size_of(prompt) if needs_size else 0)


def most_of(settings: Mapping[str, Any], prompt_bytes: int) -> Ceiling:
    """What a call with a prompt of so many bytes may take."""
    timeout_ms = int(settings.get("timeout_ms", DEFAULT_TIMEOUT_MS))
    prices = prices_in(settings.get("prices"))
    if settings["type"] == "command":
        max_bytes = settings.get("max_output_bytes", DEFAULT_OUTPUT_BYTES)
        if prices is NO_PRICES:
            return Ceiling(0, 0, max_bytes, timeout_ms, prices)
        # A model's own command line does not say what it took; a token has at least one byte.
        return Ceiling(prompt_bytes, max_bytes, max_bytes, timeout_ms, prices)
    max_tokens = settings.get("max_tokens", DEFAULT_MAX_TOKENS)
    max_bytes = _BYTES_PER_TOKEN * max_tokens + _BYTES_BESIDE
    return Ceiling(prompt_bytes + _TEMPLATE_TOKENS, max_tokens, max_bytes, timeout_ms, prices)


def _room(m: Machine, unit: Unit, agent: str | None, adapter: str | None, wanted: Ceiling) -> Ceiling | None:
    """The ceiling with which the call may begin; None: it waits, or the unit was stopped."""
    left_ms = m.wall_left_ms()
    if left_ms is not None:
        if left_ms <= 0:
            ending.end(m, unit, "stopped", "budget")
            return None
        if left_ms < wanted.timeout_ms:
            used_ms = m.state.active_ms(m.now_us)
            short = Shortage(m.state.budgets.run, WALL, used_ms + left_ms, used_ms, wanted.timeout_ms, False)
            wanted = wanted._replace(timeout_ms=left_ms, short_time=short)
    accounts = m.state.budgets.accounts(unit.task.id, agent)
    ceiling = fit(accounts, wanted, 0 if agent is None else 1)
    if isinstance(ceiling, Shortage):
        if ceiling.may_pass:
            m.short.append(unit)
        else:
            ending.stop(m, unit, ceiling)
        return None
    if adapter is not None:
        free_us = m.state.rates.free_at(adapter, m.now_us, ceiling.input_tokens + ceiling.max_tokens)
        if free_us > m.now_us:
            m.wait(unit, free_us)
            return None
    return ceiling
