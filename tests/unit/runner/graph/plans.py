"""Minimal wave plans for drawing: the given tasks and waves plus the fields a reader requires."""

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


def complete_plan(plan: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {name: {} for name in ("adapters", "agents", "inputs", "schemas", "outputs")}
    return {**empty, "digest": "0" * 64, "bundle": [], "policy": POLICY, **plan}


def read_plan(plan: dict[str, Any]) -> WavePlan:
    return read_wave_plan(complete_plan(plan))


def render_plan(plan: dict[str, Any], graph_format: GraphFormat) -> str:
    return render(read_plan(plan), graph_format)
