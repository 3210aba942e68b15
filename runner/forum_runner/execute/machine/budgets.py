"""Budgets of the run, its agents and its tasks: reserved before a call, settled after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from forum_runner.wave_plan.wave_plan_reader import NO_PRICES, TokenPrices, WavePlan

RESOURCES = ("calls", "input_tokens", "output_tokens", "tokens", "micro_usd", "output_bytes", "wall_ms")
CALLS, INPUT, OUTPUT, TOKENS, MONEY, BYTES, WALL = range(len(RESOURCES))
TOTALS = ("input_tokens", "cached_input_tokens", "output_tokens", "micro_usd", "output_bytes", "wall_ms")

# A call whose answer is limited to fewer tokens is not made.
MIN_TOKENS = 16
_MILLION = 1_000_000

Amounts = tuple[int, int, int, int, int, int, int]


class Account:
    """One budget: the usage of finished calls (`charged`) and the reservations of open calls (`held`), by resource."""

    __slots__ = ("charged", "held", "limits", "name", "scope")

    def __init__(self, scope: str, name: str, limits: Mapping[str, int]) -> None:
        self.scope = scope
        self.name = name
        # The wall time of a run is not the sum of the wall times of its calls: the machine watches the clock instead.
        limited = [resource for resource in RESOURCES if resource in limits and (scope, resource) != ("run", "wall_ms")]
        self.limits = [(RESOURCES.index(resource), limits[resource]) for resource in limited]
        self.charged = [0] * len(RESOURCES)
        self.held = [0] * len(RESOURCES)

    def remaining(self, resource: int, limit: int) -> int:
        return limit - self.charged[resource] - self.held[resource]


class Shortage(Struct, frozen=True):
    """A call does not fit a budget. With `is_temporary`, open calls hold a share of the budget and may release it."""

    account: Account
    resource: int
    limit: int
    used: int
    needed: int
    is_temporary: bool

    def entry_data(self) -> dict[str, Any]:
        """The data of a `budget.stopped` entry."""
        data: dict[str, Any] = {"scope": self.account.scope, "amount": RESOURCES[self.resource], "limit": self.limit}
        if self.account.scope != "run":
            data["name"] = self.account.name
        return {**data, "used": self.used, "needed": self.needed}


class Ceiling(Struct, frozen=True):
    """The limits of one call. The shortages are the budgets that lowered the limits of the adapter."""

    input_tokens: int
    max_tokens: int
    max_output_bytes: int
    timeout_ms: int
    prices: TokenPrices
    time_shortage: Shortage | None = None
    output_shortage: Shortage | None = None

    def amounts(self, calls: int) -> Amounts:
        money = self.prices.cost(self.input_tokens, 0, self.max_tokens)
        tokens = self.input_tokens + self.max_tokens
        return calls, self.input_tokens, self.max_tokens, tokens, money, self.max_output_bytes, self.timeout_ms

    def reserved(self) -> dict[str, int]:
        """The reservation, as `task.started` and `verdict.asked` record it."""
        input_tokens, max_tokens, prices = self.input_tokens, self.max_tokens, self.prices
        return {
            "input_tokens": input_tokens,
            "output_tokens": max_tokens,
            "micro_usd": 0 if prices is NO_PRICES else prices.cost(input_tokens, 0, max_tokens),
            "output_bytes": self.max_output_bytes,
        }


def fit(accounts: Sequence[Account], wanted: Ceiling, calls: int) -> Ceiling | Shortage:
    """The ceiling, lowered if necessary to fit every account; a shortage if none fits, or none fits at the moment."""
    if not accounts:
        return wanted
    shortage = _first_shortage(accounts, wanted.amounts(calls))
    if shortage is None or shortage.is_temporary:
        return wanted if shortage is None else shortage
    lowered = wanted
    for account in accounts:
        for resource, limit in account.limits:
            lowered = _lower(lowered, account, resource, limit)
    min_tokens = min(wanted.max_tokens, MIN_TOKENS)
    smallest = structs.replace(
        lowered,
        max_tokens=max(lowered.max_tokens, min_tokens),
        max_output_bytes=max(lowered.max_output_bytes, min(1, wanted.max_output_bytes)),
        timeout_ms=max(lowered.timeout_ms, 1),
    )
    still_short = _first_shortage(accounts, smallest.amounts(calls))
    if still_short is not None:
        return still_short
    shortages = list(_shortages(accounts, wanted.amounts(calls)))
    return structs.replace(
        smallest,
        time_shortage=next((item for item in shortages if item.resource == WALL), wanted.time_shortage),
        output_shortage=next((item for item in shortages if item.resource != WALL), None),
    )


def _first_shortage(accounts: Sequence[Account], need: Amounts) -> Shortage | None:
    """The first permanent shortage or, without one, the first temporary one; None if the need fits."""
    temporary: Shortage | None = None
    for shortage in _shortages(accounts, need):
        if not shortage.is_temporary:
            return shortage
        temporary = temporary or shortage
    return temporary


def _shortages(accounts: Sequence[Account], need: Amounts) -> Iterator[Shortage]:
    for account in accounts:
        for resource, limit in account.limits:
            if need[resource] > account.remaining(resource, limit):
                held = account.held[resource]
                yield Shortage(account, resource, limit, account.charged[resource] + held, need[resource], held > 0)


def _lower(ceiling: Ceiling, account: Account, resource: int, limit: int) -> Ceiling:
    remaining = max(account.remaining(resource, limit), 0)
    tokens, prices = ceiling.max_tokens, ceiling.prices
    if resource == OUTPUT:
        tokens = min(tokens, remaining)
    elif resource == TOKENS:
        tokens = min(tokens, max(remaining - ceiling.input_tokens, 0))
    elif resource == MONEY and prices.output:
        remaining_price = remaining * _MILLION - ceiling.input_tokens * prices.input
        tokens = min(tokens, max(remaining_price // prices.output, 0))
    elif resource == BYTES:
        return structs.replace(ceiling, max_output_bytes=min(ceiling.max_output_bytes, remaining))
    elif resource == WALL:
        return structs.replace(ceiling, timeout_ms=min(ceiling.timeout_ms, remaining))
    return structs.replace(ceiling, max_tokens=tokens)


def _amounts(values: Mapping[str, int], calls: int, wall_ms: int) -> Amounts:
    sent, received = values["input_tokens"], values["output_tokens"]
    return calls, sent, received, sent + received, values["micro_usd"], values["output_bytes"], wall_ms


class Budgets:
    """All accounts of a run, and its totals."""

    def __init__(self, plan: WavePlan) -> None:
        self._agents = plan.agents
        self._tasks = plan.tasks
        self.run = Account("run", "", plan.policy.budget)
        self._agent_accounts: dict[str, Account] = {}
        self._task_accounts: dict[str, Account] = {}
        self.totals = dict.fromkeys(("calls", *TOTALS), 0)
        self.limits_anything = (
            bool(self.run.limits)
            or any(agent.limits is not None for agent in plan.agents.values())
            or any(task.budget is not None for task in plan.tasks.values())
        )

    def accounts(self, task: str, agent: str | None) -> list[Account]:
        """The accounts with limits that a call of the agent for the task is charged to, the widest first."""
        found = [self.run] if self.run.limits else []
        if agent is not None and (limits := self._agents[agent].limits):
            account = self._agent_accounts.get(agent)
            if account is None:
                account = self._agent_accounts[agent] = Account("agent", agent, limits)
            found.append(account)
        if limits := self._tasks[task].budget:
            account = self._task_accounts.get(task)
            if account is None:
                account = self._task_accounts[task] = Account("task", task, limits)
            found.append(account)
        return found

    def limit_timeout(self, task: str, agent: str | None, timeout_ms: int) -> int:
        """The timeout of a call within the accounts that limit wall time."""
        if not self.limits_anything:
            return timeout_ms
        for account in self.accounts(task, agent):
            for resource, limit in account.limits:
                if resource == WALL:
                    timeout_ms = max(min(timeout_ms, account.remaining(resource, limit)), 1)
        return timeout_ms

    def hold(self, task: str, agent: str | None, reserved: Mapping[str, int], timeout_ms: int) -> None:
        """Reserves the amounts of a call. A check by a command, which has no agent, does not count as a call."""
        calls = 0 if agent is None else 1
        self.totals["calls"] += calls
        if self.limits_anything:
            need = _amounts(reserved, calls, timeout_ms)
            for account in self.accounts(task, agent):
                for resource, _ in account.limits:
                    account.held[resource] += need[resource]

    def settle(
        self,
        task: str,
        agent: str | None,
        reserved: Mapping[str, int],
        timeout_ms: int,
        usage: Mapping[str, int] | None,
    ) -> None:
        """Charges the usage or, if it is unknown, the reservation."""
        charged = reserved if usage is None else usage
        totals = self.totals
        totals["input_tokens"] += charged["input_tokens"]
        totals["output_tokens"] += charged["output_tokens"]
        totals["micro_usd"] += charged["micro_usd"]
        totals["output_bytes"] += charged["output_bytes"]
        if usage is not None:
            totals["cached_input_tokens"] += usage["cached_input_tokens"]
            totals["wall_ms"] += usage["wall_ms"]
        if self.limits_anything:
            calls = 0 if agent is None else 1
            held = _amounts(reserved, calls, timeout_ms)
            used = _amounts(charged, calls, timeout_ms if usage is None else charged.get("wall_ms", 0))
            for account in self.accounts(task, agent):
                for resource, _ in account.limits:
                    account.held[resource] -= held[resource]
                    account.charged[resource] += used[resource]
