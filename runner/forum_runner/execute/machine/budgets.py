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
LEAST_TOKENS = 16
_MILLION = 1_000_000

Amounts = tuple[int, int, int, int, int, int, int]


class Account:
    """One budget: what finished calls used (`charged`) and open calls reserve (`held`), in the order of RESOURCES."""

    __slots__ = ("charged", "held", "limits", "name", "scope")

    def __init__(self, scope: str, name: str, limits: Mapping[str, int]) -> None:
        self.scope = scope
        self.name = name
        # The run's wall time is not the sum of its calls': the machine watches the clock for that.
        kept = [amount for amount in RESOURCES if amount in limits and (scope, amount) != ("run", "wall_ms")]
        self.limits = [(RESOURCES.index(amount), limits[amount]) for amount in kept]
        self.charged = [0] * len(RESOURCES)
        self.held = [0] * len(RESOURCES)

    def left(self, amount: int, limit: int) -> int:
        return limit - self.charged[amount] - self.held[amount]


class Shortage(Struct, frozen=True):
    """The budget that a call does not fit. With `may_pass`, open calls hold a share and may release it."""

    account: Account
    amount: int
    limit: int
    used: int
    needed: int
    may_pass: bool

    def facts(self) -> dict[str, Any]:
        """The data of a `budget.stopped` entry."""
        facts: dict[str, Any] = {"scope": self.account.scope, "amount": RESOURCES[self.amount], "limit": self.limit}
        if self.account.scope != "run":
            facts["name"] = self.account.name
        return {**facts, "used": self.used, "needed": self.needed}


class Ceiling(Struct, frozen=True):
    """The limits of one call. `short_time` and `short_output` are the budgets that lowered the adapter's limits."""

    input_tokens: int
    max_tokens: int
    max_output_bytes: int
    timeout_ms: int
    prices: TokenPrices
    short_time: Shortage | None = None
    short_output: Shortage | None = None

    def amounts(self, calls: int) -> Amounts:
        money = self.prices.cost(self.input_tokens, 0, self.max_tokens)
        tokens = self.input_tokens + self.max_tokens
        return calls, self.input_tokens, self.max_tokens, tokens, money, self.max_output_bytes, self.timeout_ms

    def reserved(self) -> dict[str, int]:
        """As `task.started` and `verdict.asked` record it."""
        input_tokens, max_tokens, prices = self.input_tokens, self.max_tokens, self.prices
        return {
            "input_tokens": input_tokens,
            "output_tokens": max_tokens,
            "micro_usd": 0 if prices is NO_PRICES else prices.cost(input_tokens, 0, max_tokens),
            "output_bytes": self.max_output_bytes,
        }


def fit(accounts: Sequence[Account], wanted: Ceiling, calls: int) -> Ceiling | Shortage:
    """The ceiling that fits every account, or the account that the call does not fit."""
    if not accounts:
        return wanted
    shortage = _first_shortage(accounts, wanted.amounts(calls))
    if shortage is None or shortage.may_pass:
        return wanted if shortage is None else shortage
    lowered = wanted
    for account in accounts:
        for amount, limit in account.limits:
            lowered = _lowered(lowered, account, amount, limit)
    least = min(wanted.max_tokens, LEAST_TOKENS)
    smallest = structs.replace(
        lowered,
        max_tokens=max(lowered.max_tokens, least),
        max_output_bytes=max(lowered.max_output_bytes, min(1, wanted.max_output_bytes)),
        timeout_ms=max(lowered.timeout_ms, 1),
    )
    still_short = _first_shortage(accounts, smallest.amounts(calls))
    if still_short is not None:
        return still_short
    short = list(_shortages(accounts, wanted.amounts(calls)))
    return structs.replace(
        smallest,
        short_time=next((item for item in short if item.amount == WALL), wanted.short_time),
        short_output=next((item for item in short if item.amount != WALL), None),
    )


def _first_shortage(accounts: Sequence[Account], need: Amounts) -> Shortage | None:
    """The first shortage that will not pass or, without one, the first that may."""
    passing: Shortage | None = None
    for shortage in _shortages(accounts, need):
        if not shortage.may_pass:
            return shortage
        passing = passing or shortage
    return passing


def _shortages(accounts: Sequence[Account], need: Amounts) -> Iterator[Shortage]:
    for account in accounts:
        for amount, limit in account.limits:
            if need[amount] > account.left(amount, limit):
                held = account.held[amount]
                yield Shortage(account, amount, limit, account.charged[amount] + held, need[amount], held > 0)


def _lowered(ceiling: Ceiling, account: Account, amount: int, limit: int) -> Ceiling:
    left = max(account.left(amount, limit), 0)
    tokens, prices = ceiling.max_tokens, ceiling.prices
    if amount == OUTPUT:
        tokens = min(tokens, left)
    elif amount == TOKENS:
        tokens = min(tokens, max(left - ceiling.input_tokens, 0))
    elif amount == MONEY and prices.output:
        rest = left * _MILLION - ceiling.input_tokens * prices.input
        tokens = min(tokens, max(rest // prices.output, 0))
    elif amount == BYTES:
        return structs.replace(ceiling, max_output_bytes=min(ceiling.max_output_bytes, left))
    elif amount == WALL:
        return structs.replace(ceiling, timeout_ms=min(ceiling.timeout_ms, left))
    return structs.replace(ceiling, max_tokens=tokens)


def _amounts(of: Mapping[str, int], calls: int, wall_ms: int) -> Amounts:
    sent, received = of["input_tokens"], of["output_tokens"]
    return calls, sent, received, sent + received, of["micro_usd"], of["output_bytes"], wall_ms


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
        """The accounts with limits, the widest first."""
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

    def timeout(self, task: str, agent: str | None, timeout_ms: int) -> int:
        """The timeout of a call within the accounts that limit wall time."""
        if not self.limits_anything:
            return timeout_ms
        for account in self.accounts(task, agent):
            for amount, limit in account.limits:
                if amount == WALL:
                    timeout_ms = max(min(timeout_ms, account.left(amount, limit)), 1)
        return timeout_ms

    def hold(self, task: str, agent: str | None, reserved: Mapping[str, int], timeout_ms: int) -> None:
        calls = 0 if agent is None else 1
        self.totals["calls"] += calls
        if self.limits_anything:
            need = _amounts(reserved, calls, timeout_ms)
            for account in self.accounts(task, agent):
                for amount, _ in account.limits:
                    account.held[amount] += need[amount]

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
                for amount, _ in account.limits:
                    account.held[amount] -= held[amount]
                    account.charged[amount] += used[amount]
