"""Charges what calls reserve and use to every budget that limits them."""

from __future__ import annotations

from collections.abc import Mapping

from forum_runner.ledger.entry_values import CallUsage, Reservation
from forum_runner.ledger.verification.report import Violation
from forum_runner.wave_plan.planned_task import PlannedTask
from forum_runner.wave_plan.wave_plan_reader import WavePlan

RESOURCES = ("calls", "input_tokens", "output_tokens", "tokens", "micro_usd", "output_bytes")
_SUMS = ("input_tokens", "cached_input_tokens", "output_tokens", "micro_usd", "output_bytes", "wall_ms")

Amounts = tuple[int, int, int, int, int, int]


class _Account:
    """One budget: the sum of charges and open reservations, in the order of RESOURCES."""

    __slots__ = ("limits", "name", "used")

    def __init__(self, name: str, limits: Mapping[str, int]) -> None:
        self.name = name
        self.limits = [(RESOURCES.index(amount), limit) for amount, limit in limits.items() if amount in RESOURCES]
        self.used = [0] * len(RESOURCES)


class CheckedBudgets:
    def __init__(self, plan: WavePlan) -> None:
        self._plan = plan
        self._accounts: dict[str, _Account] = {}
        self._limiting: dict[tuple[str, str | None], list[_Account]] = {}
        self.totals = dict.fromkeys(("calls", *_SUMS), 0)

    def reserve(self, task: PlannedTask, agent: str | None, reserved: Reservation) -> None:
        """Raises a Violation if the call does not fit. A check by a command does not count as a call."""
        needed = _amounts(reserved, 0 if agent is None else 1)
        accounts = self._accounts_of(task, agent)
        for account in accounts:
            for amount, limit in account.limits:
                if account.used[amount] + needed[amount] > limit:
                    raise Violation("L412", _excess(account, amount, needed[amount], limit))
        for account in accounts:
            for amount, _ in account.limits:
                account.used[amount] += needed[amount]
        self.totals["calls"] += needed[0]

    def settle(self, task: PlannedTask, agent: str | None, reserved: Reservation, usage: CallUsage | None) -> None:
        """Charges the usage or, if it is unknown, the reservation."""
        if usage is not None:
            before, after = _amounts(reserved, 0), _amounts(usage, 0)
            for account in self._accounts_of(task, agent):
                for amount, _ in account.limits:
                    account.used[amount] += after[amount] - before[amount]
        charged = reserved if usage is None else usage
        for name in _SUMS:
            self.totals[name] += getattr(charged, name, 0)

    def _accounts_of(self, task: PlannedTask, agent: str | None) -> list[_Account]:
        """The accounts that have a limit."""
        found = self._limiting.get((task.id, agent))
        if found is None:
            accounts = [self._account("the run", self._plan.policy.budget)]
            if agent is not None:
                accounts.append(self._account(f"agent '{agent}'", self._plan.agents[agent].limits))
            accounts.append(self._account(f"task '{task.id}'", task.budget))
            found = self._limiting[task.id, agent] = [account for account in accounts if account.limits]
        return found

    def _account(self, name: str, limits: Mapping[str, int] | None) -> _Account:
        return self._accounts.setdefault(name, _Account(name, limits or {}))


def _amounts(values: Reservation | CallUsage, calls: int) -> Amounts:
    sent, received = values.input_tokens, values.output_tokens
    return calls, sent, received, sent + received, values.micro_usd, values.output_bytes


def _excess(account: _Account, amount: int, needed: int, limit: int) -> str:
    total = account.used[amount] + needed
    return f"{needed:,} more {RESOURCES[amount]} bring {account.name} to {total:,}; the limit is {limit:,}"
