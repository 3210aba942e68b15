"""What calls reserve and use, against every budget that limits them."""

from __future__ import annotations

from collections.abc import Mapping

from forum_runner.ledger.semantics.violation import Violation
from forum_runner.wave_plan.planned_task import PlannedTask
from forum_runner.wave_plan.wave_plan_reader import WavePlan

AMOUNTS = ("calls", "input_tokens", "output_tokens", "tokens", "micro_usd", "output_bytes")
_SUMS = ("input_tokens", "cached_input_tokens", "output_tokens", "micro_usd", "output_bytes", "wall_ms")

Amounts = tuple[int, int, int, int, int, int]


class _Account:
    """One budget: what was charged and what open calls reserve, in the order of AMOUNTS."""

    __slots__ = ("limits", "name", "used")

    def __init__(self, name: str, limits: Mapping[str, int]) -> None:
        self.name = name
        self.limits = [(AMOUNTS.index(amount), limit) for amount, limit in limits.items() if amount in AMOUNTS]
        self.used = [0] * len(AMOUNTS)


class CheckedBudgets:
    def __init__(self, plan: WavePlan) -> None:
        self._plan = plan
        self._run = _Account("the run", plan.policy.budget)
        self._agents: dict[str, _Account] = {}
        self._tasks: dict[str, _Account] = {}
        self._accounts_of: dict[tuple[str, str | None], list[_Account]] = {}
        self.totals = dict.fromkeys(("calls", *_SUMS), 0)

    def reserve(self, task: PlannedTask, agent: str | None, reserved: Mapping[str, int]) -> None:
        """A Violation for a call that does not fit. A check by a command does not count as a call."""
        needed = _amounts(reserved, 0 if agent is None else 1)
        accounts = self._accounts(task, agent)
        for account in accounts:
            used = account.used
            for amount, limit in account.limits:
                if used[amount] + needed[amount] > limit:
                    raise Violation("L412", _beyond(account, amount, needed[amount], limit))
        for account in accounts:
            for amount, _ in account.limits:
                account.used[amount] += needed[amount]
        self.totals["calls"] += needed[0]

    def settle(
        self, task: PlannedTask, agent: str | None, reserved: Mapping[str, int], usage: Mapping[str, int] | None
    ) -> None:
        """Charges what was used or, if that is unknown, what was reserved."""
        if usage is not None:
            before, after = _amounts(reserved, 0), _amounts(usage, 0)
            for account in self._accounts(task, agent):
                for amount, _ in account.limits:
                    account.used[amount] += after[amount] - before[amount]
        charged = reserved if usage is None else usage
        totals = self.totals
        for name in _SUMS:
            totals[name] += charged.get(name, 0)

    def _accounts(self, task: PlannedTask, agent: str | None) -> list[_Account]:
        """Those that limit anything."""
        found = self._accounts_of.get((task.id, agent))
        if found is None:
            accounts = [self._run]
            if agent is not None and (limits := self._plan.agents[agent].limits):
                accounts.append(self._agents.setdefault(agent, _Account(f"the agent '{agent}'", limits)))
            if own := task.budget:
                accounts.append(self._tasks.setdefault(task.id, _Account(f"the task '{task.id}'", own)))
            found = self._accounts_of[task.id, agent] = [account for account in accounts if account.limits]
        return found


def _amounts(of: Mapping[str, int], calls: int) -> Amounts:
    sent, received = of["input_tokens"], of["output_tokens"]
    return calls, sent, received, sent + received, of["micro_usd"], of["output_bytes"]


def _beyond(account: _Account, amount: int, needed: int, limit: int) -> str:
    total = account.used[amount] + needed
    return f"with {needed:,} more, {AMOUNTS[amount]} of {account.name} would be {total:,}, and the limit is {limit:,}"
