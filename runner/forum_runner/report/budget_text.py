"""Budgets as text: how much of each is used, and which one stopped a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forum_runner.history.usage import UsageTotals
from forum_runner.ledger.read_entry import get_amount, get_str
from forum_runner.manifest.units import counted
from forum_runner.report.amounts import clip, duration, money

RESOURCES = ("calls", "input_tokens", "output_tokens", "tokens", "micro_usd", "output_bytes", "wall_ms")
_NOUNS = {
    "calls": "call",
    "input_tokens": "input token",
    "output_tokens": "output token",
    "tokens": "token",
    "output_bytes": "output byte",
}


def amount_text(name: str, number: int) -> str:
    """An amount with its unit: `830 tokens`, `$0.0042`, `2.2s`; an unknown name is printed unchanged."""
    if name == "micro_usd":
        return money(number)
    if name == "wall_ms":
        return duration(number)
    noun = _NOUNS.get(name)
    return counted(number, noun) if noun else f"{number:,} {clip(name)}"


def used_of_limit(name: str, used: int, limit: int) -> str:
    """A used amount and its limit: `830 of 2,200 tokens`, `$0.0042 of $0.0100`."""
    return f"{number_text(name, used)} of {amount_text(name, limit)}"


def used_amount(usage: UsageTotals, name: str) -> int:
    """The used amount with this name; 0 for an unknown name."""
    return int(getattr(usage, name)) if name in RESOURCES else 0


def usage_text(usage: Mapping[str, Any] | UsageTotals) -> str:
    """Time, tokens and cost: `2.2s, 412 tokens, $0.0023`, without amounts that are 0."""
    if not isinstance(usage, UsageTotals):
        recorded, usage = usage, UsageTotals()
        usage.charge(recorded)
    amounts = {"wall_ms": usage.wall_ms, "tokens": usage.tokens, "micro_usd": usage.micro_usd}
    return ", ".join(amount_text(name, number) for name, number in amounts.items() if number)


def stop_text(data: Mapping[str, Any]) -> str:
    """Describes a `budget.stopped`: `budget of the run: 2,370 of 2,600 tokens used; the next call needs 293`."""
    scope, name, resource = get_str(data, "scope") or "?", get_str(data, "name"), get_str(data, "amount") or "?"
    owner = f"{clip(scope)} '{clip(name, 80)}'" if name is not None else clip(scope)
    used = used_of_limit(resource, get_amount(data, "used"), get_amount(data, "limit"))
    # For time, `needed` is the call's timeout, and few calls take that long.
    shows_needed = resource != "wall_ms" and get_amount(data, "needed") > 0
    needed = f"; the next call needs {number_text(resource, get_amount(data, 'needed'))}" if shows_needed else ""
    return f"budget of the {owner}: {used} used{needed}"


def number_text(name: str, number: int) -> str:
    """An amount without the name of its unit: `1,400`, `$0.0042`, `2.2s`."""
    return amount_text(name, number) if name in ("micro_usd", "wall_ms") else f"{number:,}"


def excess_text(data: Mapping[str, Any]) -> str:
    """Describes a `budget.exceeded`: `attempt 2 used $0.0042, more than the $0.0040 reserved`."""
    resource = get_str(data, "amount") or "?"
    used, reserved = (amount_text(resource, get_amount(data, part)) for part in ("used", "reserved"))
    return f"attempt {get_amount(data, 'attempt'):,} used {used}, more than the {reserved} reserved"
