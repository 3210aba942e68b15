"""Wave plans to run: layers of tasks without work, commands that do nothing, and two opposed chains.

Each task of a layered plan has its own instruction, so that no two of its tasks share a body.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from bundles import invocation_in
from forum_runner.api import Inputs
from forum_runner.app.run_preparation import PreparedRun
from forum_runner.app.workflows import compile_file
from forum_runner.wave_plan.wave_plan_reader import decode_wave_plan

ROSTER = {
    "adapters": {"local": {"type": "scripted"}, "shell": {"type": "command", "env": ["PATH"]}},
    "agents": {"worker": {"adapter": "local"}, "operator": {"adapter": "shell"}},
}
LONG_MS = 1_000
SHORT_MS = 50
SHORT_TASKS = 20
CRITICAL_PATH_S = (LONG_MS + SHORT_TASKS * SHORT_MS) / 1_000


def layered_plan(folder: Path, layers: int, width: int, **policy: Any) -> Path:
    """Compile a plan in which each task needs the task in the same column of the previous layer."""
    tasks = dict(_layered_tasks(layers, width))
    return _compile_to_file(folder, tasks, {"max_parallel": width, "durability": "batch", **policy})


def command_plan(folder: Path, count: int, max_parallel: int) -> Path:
    """Compile a plan whose tasks run `true` and do not depend on each other."""
    tasks = {f"t{number:05}": {"agent": "operator", "run": ["true"]} for number in range(count)}
    return _compile_to_file(
        folder, tasks, {"max_parallel": max_parallel, "allow": {"commands": ["true"], "env": ["PATH"]}}
    )


def opposed_chains(folder: Path, dispatch: str) -> Path:
    """Compile two chains: one starts with a long task, the other ends with one. The instructions are milliseconds."""
    chains = {"a": [LONG_MS, *[SHORT_MS] * SHORT_TASKS], "b": [*[SHORT_MS] * SHORT_TASKS, LONG_MS]}
    tasks = {
        f"{chain}{place:02}": _task(str(milliseconds), f"{chain}{place - 1:02}" if place else None)
        for chain, times in chains.items()
        for place, milliseconds in enumerate(times)
    }
    return _compile_to_file(folder, tasks, {"max_parallel": 2, "dispatch": dispatch})


def load(path: Path) -> PreparedRun:
    data = path.read_bytes()
    return PreparedRun(decode_wave_plan(data), data, invocation_in(path.parent))


def _layered_tasks(layers: int, width: int) -> Iterable[tuple[str, dict[str, Any]]]:
    for layer in range(layers):
        for column in range(width):
            instruction = f"Write part {column} of layer {layer}."
            yield f"t{layer:05}_{column:05}", _task(instruction, f"t{layer - 1:05}_{column:05}" if layer else None)


def _task(instruction: str, upstream: str | None) -> dict[str, Any]:
    task: dict[str, Any] = {"agent": "worker", "instruction": instruction}
    return task if upstream is None else {**task, "needs": [{"task": upstream, "edge": "order"}]}


def _compile_to_file(folder: Path, tasks: Mapping[str, Any], policy: Mapping[str, Any]) -> Path:
    head = {"apiVersion": "forum/v1", "kind": "Workflow", "metadata": {"name": "bench"}}
    workflow = {**head, "roster": ROSTER, "policy": policy, "plan": {"tasks": tasks}}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "workflow.yaml"
    path.write_bytes(orjson.dumps(workflow, option=orjson.OPT_INDENT_2))
    compiled = compile_file(str(path), None, Inputs())
    assert compiled.data is not None, [finding.message for finding in compiled.report.findings[:3]]
    plan = folder / "wave-plan.json"
    plan.write_bytes(compiled.data)
    return plan
