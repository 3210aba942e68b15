"""Amounts of a budget in words: what was used of what, and which budget stopped what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forum_runner.ledger.read_entry import amount, text
from forum_runner.ledger.usage import Usage
from forum_runner.report import counted
from forum_runner.report.amounts import money, shown, span

AMOUNTS = ("calls", "input_tokens", "output_tokens", "tokens", "micro_usd", "output_bytes", "wall_ms")
_NOUNS = {
    "calls": "call",
    "input_tokens": "input token",
    "output_tokens": "output token",
    "tokens": "token",
    "output_bytes": "output byte",
}


def quantity(name: str, number: int) -> str:
    """`830 tokens`, `$0.0042`, `2.2s`; a name that is not known stays as it is."""
    if name == "micro_usd":
        return money(number)
    if name == "wall_ms":
        return span(number)
    noun = _NOUNS.get(name)
    return counted(number, noun) if noun else f"{number:,} {shown(name)}"


def used_of(name: str, used: int, limit: int) -> str:
    """`830 of 2,200 tokens`, `$0.0042 of $0.0100`."""
    first = quantity(name, used) if name in ("micro_usd", "wall_ms") else f"{used:,}"
    return f"{first} of {quantity(name, limit)}"


def used_amount(usage: Usage, name: str) -> int:
    """What a budget's amount has been used up; 0 for a name that is not known."""
    return int(getattr(usage, name)) if name in AMOUNTS else 0


def stop_words(data: Mapping[str, Any]) -> str:
    """What a `budget.stopped` tells: `the budget of the run: 990 of 3,000 tokens used, 1,400 tokens more needed`."""
    scope, name, what = text(data, "scope") or "?", text(data, "name"), text(data, "amount") or "?"
    whose = f"{shown(scope)} '{shown(name, 80)}'" if name is not None else shown(scope)
    used = used_of(what, amount(data, "used"), amount(data, "limit"))
    needed = f", {quantity(what, amount(data, 'needed'))} more needed" if tells_need(data) else ""
    return f"the budget of the {whose}: {used} used{needed}"


def tells_need(data: Mapping[str, Any]) -> bool:
    """Whether a call really needs what a `budget.stopped` says: of time that is a timeout, and few take that long."""
    return text(data, "amount") != "wall_ms" and amount(data, "needed") > 0


def excess_words(data: Mapping[str, Any]) -> str:
    """What a `budget.exceeded` tells: `attempt 2 used $0.0042, with $0.0040 reserved`."""
    what = text(data, "amount") or "?"
    used, reserved = (quantity(what, amount(data, part)) for part in ("used", "reserved"))
    return f"attempt {amount(data, 'attempt'):,} used {used}, with {reserved} reserved"
