"""Wave plans to draw: the given tasks and waves, and the least that the reader needs besides them."""

from typing import Any

from forum_runner.graph import GraphFormat, render
from forum_runner.wave_plan.wave_plan_reader import WavePlan, read_wave_plan

GATE = {"question": [], "on_deadline": "reject"}
POLICY = {
    "max_parallel": 4,
    "dispatch": "waves",
    "budget": {},
    "allow": {},
    "retry": {"attempts": 1, "backoff_ms": 1000, "max_backoff_ms": 60000},
    "rates": {},
    "on_failure": "stop",
    "privacy": {"sensitive": False, "scrub_env": []},
    "durability": "batch",
}


def condition(task: str) -> dict[str, Any]:
    return {"from": {"task": task}, "matches": "0" * 64}


def whole(plan: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {name: {} for name in ("adapters", "agents", "inputs", "schemas", "outputs")}
    return {**empty, "digest": "0" * 64, "bundle": [], "policy": POLICY, **plan}


def typed(plan: dict[str, Any]) -> WavePlan:
    return read_wave_plan(whole(plan))


def drawn(plan: dict[str, Any], graph_format: GraphFormat) -> str:
    return render(whole(plan), graph_format)
