"""Budgets: reserved and used amounts, compared with the limits of the run, its agents and its tasks."""

from collections import Counter
from collections.abc import Iterator, Mapping

from forum_conformance.semantics.call import Call
from forum_conformance.semantics.plan import Plan

# Resources that can have a limit. Wall time is not checked.
RESOURCES = ("calls", "input_tokens", "output_tokens", "tokens", "micro_usd", "output_bytes")
CHARGED_RESOURCES = ("input_tokens", "cached_input_tokens", "output_tokens", "micro_usd", "output_bytes", "wall_ms")
_Scope = tuple[str, str]
"""`run`, `task` or `agent`, and the name of the task or agent."""


class Budgets:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        # Charged plus reserved: no rule needs one of the two alone.
        self._committed: dict[_Scope, Counter[str]] = {}
        self.totals: Counter[str] = Counter({"calls": 0, **dict.fromkeys(CHARGED_RESOURCES, 0)})

    def excess(self, call: Call) -> str | None:
        """A description of the first limit that the call would exceed; None if it fits."""
        needed = _amounts(call, call.reserved)
        for scope, limits in self._limits(call):
            committed = self._committed.get(scope, Counter())
            for resource in RESOURCES:
                if resource in limits and committed[resource] + needed[resource] > limits[resource]:
                    return f"{resource} of the {' '.join(scope).strip()} would exceed {limits[resource]}"
        return None

    def reserve(self, call: Call) -> None:
        self._commit(call, call.reserved, 1)

    def settle(self, call: Call, usage: Mapping[str, int] | None) -> None:
        """Replace the reservation with the usage; a lost call has no usage and is charged its reservation."""
        charged = call.reserved if usage is None else usage
        self._commit(call, call.reserved, -1)
        self._commit(call, charged, 1)
        self.totals["calls"] += call.agent is not None
        for resource in CHARGED_RESOURCES:
            self.totals[resource] += charged.get(resource, 0)

    def _commit(self, call: Call, amounts: Mapping[str, int], sign: int) -> None:
        for scope, _ in self._limits(call):
            committed = self._committed.setdefault(scope, Counter())
            for resource, amount in _amounts(call, amounts).items():
                committed[resource] += sign * amount

    def _limits(self, call: Call) -> Iterator[tuple[_Scope, Mapping[str, int]]]:
        yield ("run", ""), self._plan.policy["budget"]
        yield ("task", call.task), self._plan.tasks[call.task].get("budget", {})
        if call.agent is not None:
            yield ("agent", call.agent), self._plan.agents[call.agent].get("limits", {})


def _amounts(call: Call, used: Mapping[str, int]) -> dict[str, int]:
    return {
        "calls": 0 if call.agent is None else 1,
        "input_tokens": used["input_tokens"],
        "output_tokens": used["output_tokens"],
        "tokens": used["input_tokens"] + used["output_tokens"],
        "micro_usd": used["micro_usd"],
        "output_bytes": used["output_bytes"],
    }
