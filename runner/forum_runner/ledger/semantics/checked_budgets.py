"""Charges the reservations and the usage of calls to every budget that limits them."""

from __future__ import annotations

from collections.abc import Mapping

from forum_runner.ledger.entry_values import CallUsage, Reservation
from forum_runner.ledger.verification.report import Violation
from forum_runner.wave_plan.planned_task import PlannedTask
from forum_runner.wave_plan.wave_plan_reader import WavePlan

RESOURCES = ("calls", "input_tokens", "output_tokens", "tokens", "micro_usd", "output_bytes")
_SEALED_TOTALS = ("input_tokens", "cached_input_tokens", "output_tokens", "micro_usd", "output_bytes", "wall_ms")


class _Account:
    """One budget. `used` has the charges plus the open reservations, in the order of RESOURCES.

    `limits` has the index of each limited resource in RESOURCES, and its limit.
    """

    __slots__ = ("limits", "name", "used")

    def __init__(self, name: str, limits: Mapping[str, int]) -> None:
        self.name = name
        self.limits = [(RESOURCES.index(name), limit) for name, limit in limits.items() if name in RESOURCES]
        self.used = [0] * len(RESOURCES)


class CheckedBudgets:
    """The budgets of a run. `totals` has the amounts that the seal records."""

    def __init__(self, plan: WavePlan) -> None:
        self._plan = plan
        self._accounts: dict[str, _Account] = {}
        self._limited_accounts: dict[tuple[str | None, str | None], list[_Account]] = {}
        self.totals = dict.fromkeys(("calls", *_SEALED_TOTALS), 0)

    def reserve(self, task: PlannedTask, agent: str | None, reserved: Reservation) -> None:
        """Reserves amounts for a call. Raises a Violation if they exceed a limit.

        `agent` is None for a check by a command, which does not count as a call.
        """
        needed = _amounts(reserved, 0 if agent is None else 1)
        accounts = self._accounts_of(task, agent)
        for account in accounts:
            for resource, limit in account.limits:
                total = account.used[resource] + needed[resource]
                if total > limit:
                    what = f"{RESOURCES[resource]} of {account.name}"
                    raise Violation("L412", f"the {what} would reach {total:,}; the limit is {limit:,}")
        for account in accounts:
            for resource, _ in account.limits:
                account.used[resource] += needed[resource]
        self.totals["calls"] += needed[0]

    def settle(self, task: PlannedTask, agent: str | None, reserved: Reservation, usage: CallUsage | None) -> None:
        """Replaces the reservation of a call with its usage. If the usage is unknown, the reservation stays charged."""
        if usage is not None:
            before, after = _amounts(reserved, 0), _amounts(usage, 0)
            for account in self._accounts_of(task, agent):
                for resource, _ in account.limits:
                    account.used[resource] += after[resource] - before[resource]
        charged = reserved if usage is None else usage
        for name in _SEALED_TOTALS:
            self.totals[name] += getattr(charged, name, 0)

    def _accounts_of(self, task: PlannedTask, agent: str | None) -> list[_Account]:
        """The accounts with a limit that a call of the agent for the task is charged to."""
        key = task.id if task.budget else None, agent
        limited = self._limited_accounts.get(key)
        if limited is None:
            accounts = [self._account("the run", self._plan.policy.budget)]
            if agent is not None:
                accounts.append(self._account(f"agent '{agent}'", self._plan.agents[agent].limits))
            accounts.append(self._account(f"task '{task.id}'", task.budget))
            limited = self._limited_accounts[key] = [account for account in accounts if account.limits]
        return limited

    def _account(self, name: str, limits: Mapping[str, int] | None) -> _Account:
        return self._accounts.setdefault(name, _Account(name, limits or {}))


def _amounts(values: Reservation | CallUsage, calls: int) -> tuple[int, int, int, int, int, int]:
    """The amounts in the order of RESOURCES."""
    sent, received = values.input_tokens, values.output_tokens
    return calls, sent, received, sent + received, values.micro_usd, values.output_bytes
