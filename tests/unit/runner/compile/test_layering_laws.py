"""Properties of the wave plan for random plans."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles import as_bytes, compile_files, plan_manifest, without_bundle, workflow
from forum_runner.compile.layer import layer, split_waves
from forum_runner.compile.value_source import tasks_in

NAMES = [f"t{index}" for index in range(24)]
WORK = {"agent": "operator", "run": ["true"]}


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """Plans without cycles: a task needs only tasks that come before it in a random order."""
    order = draw(st.permutations(NAMES))[: draw(st.integers(1, len(NAMES)))]
    tasks: dict[str, Any] = {}
    for index, name in enumerate(order):
        upstream = draw(st.lists(st.sampled_from(order[:index]), max_size=4, unique=True)) if index else []
        kinds = [draw(st.sampled_from(["data", "order", "short"])) for _ in upstream]
        needs = [u if k == "short" else {"task": u, "edge": k} for u, k in zip(upstream, kinds, strict=True)]
        tasks[name] = {**WORK, "needs": needs} if needs else dict(WORK)
    return {"tasks": tasks}


@st.composite
def rich_plans(draw: st.DrawFn) -> dict[str, Any]:
    """Plans with matrices, conditions, checks, types and outputs."""
    plan = draw(plans())
    for name, task in plan["tasks"].items():
        if draw(st.booleans()):
            task["matrix"] = {
                "b": draw(st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True)),
                "a": ["x", "y"],
            }
        if draw(st.booleans()):
            task["accept"] = [{"agent": "critic"}, {"schema": {"type": "string", "minLength": 1}}]
        upstream: Any = [need if isinstance(need, str) else need["task"] for need in task.get("needs", [])]
        has_condition: bool = draw(st.booleans())
        if upstream and has_condition:
            task["when"] = {"task": draw(st.sampled_from(upstream)), "output": {"not": {"const": name}}}
    plan["outputs"] = {name: name for name in plan["tasks"]}
    plan["inputs"] = {"k": {"type": "string", "default": "v"}, "j": {"default": {"z": 1, "a": [2]}}}
    return plan


def edges_of(plan: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (need if isinstance(need, str) else need["task"], name)
        for name, task in plan["tasks"].items()
        for need in task.get("needs", [])
    ]


def waves_of(plan: dict[str, Any], max_parallel: int) -> list[list[str]]:
    policy = {"max_parallel": max_parallel, "allow": {"commands": ["true"]}}
    result = compile_files({"workflow.yaml": workflow(plan, policy=policy)})
    assert result.wave_plan is not None, result.findings
    waves: list[list[str]] = result.wave_plan["waves"]
    return waves


def shuffle_keys(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        items = [(key, shuffle_keys(item, rng)) for key, item in value.items()]
        rng.shuffle(items)
        return dict(items)
    return [shuffle_keys(item, rng) for item in value] if isinstance(value, list) else value


@pytest.mark.requirement("COMPILE-LAYER-001", "COMPILE-LAYER-002", "COMPILE-LAYER-003")
@given(plans(), st.integers(1, 6))
def test_waves_follow_every_edge_contain_each_task_once_and_respect_max_parallel(
    plan: dict[str, Any], max_parallel: int
) -> None:
    waves = waves_of(plan, max_parallel)

    position = {task: index for index, wave in enumerate(waves) for task in wave}
    assert sorted(task for wave in waves for task in wave) == sorted(plan["tasks"])
    assert all(position[upstream] < position[task] for upstream, task in edges_of(plan))
    assert all(1 <= len(wave) <= max_parallel for wave in waves)
    assert all(wave == sorted(wave) for wave in waves)


@pytest.mark.requirement("COMPILE-LAYER-001")
@given(plans())
def test_without_a_parallelism_limit_each_task_is_in_the_earliest_possible_wave(plan: dict[str, Any]) -> None:
    waves = waves_of(plan, 10_000)

    position = {task: index for index, wave in enumerate(waves) for task in wave}
    latest = {task: max((position[u] for u, t in edges_of(plan) if t == task), default=-1) for task in position}
    assert position == {task: index + 1 for task, index in latest.items()}


@pytest.mark.requirement("COMPILE-LAYER-002")
@given(plans(), st.integers(1, 6))
def test_splitting_wide_waves_keeps_their_order(plan: dict[str, Any], max_parallel: int) -> None:
    unsplit = layer({name: [u for u, t in edges_of(plan) if t == name] for name in plan["tasks"]})

    flat = [task for wave in split_waves(unsplit, max_parallel) for task in wave]

    assert flat == [task for wave in unsplit for task in wave]


@pytest.mark.requirement("COMPILE-PURE-001", "COMPILE-PURE-002")
@given(rich_plans(), st.integers(1, 6), st.randoms(use_true_random=False))
def test_reordering_keys_or_documents_changes_only_the_file_digests(
    plan: dict[str, Any], max_parallel: int, rng: random.Random
) -> None:
    parts = workflow(plan, policy={"max_parallel": max_parallel, "allow": {"commands": ["true"]}})
    documents = [{k: v for k, v in parts.items() if k != "plan"}, plan_manifest("main", **plan)]
    reordered = shuffle_keys(documents, rng)
    rng.shuffle(reordered)

    first, second = (
        compile_files({"workflow.yaml": b"\n---\n".join(map(as_bytes, d))}) for d in (documents, reordered)
    )

    assert first.wave_plan is not None and second.wave_plan is not None
    assert without_bundle(first.wave_plan) == without_bundle(second.wave_plan)
    assert first.wave_plan["digest"] == second.wave_plan["digest"]


@pytest.mark.requirement("COMPILE-LAYER-003")
@given(rich_plans())
def test_a_task_takes_values_only_from_earlier_waves(plan: dict[str, Any]) -> None:
    result = compile_files({"workflow.yaml": workflow(plan)})

    assert result.wave_plan is not None, result.findings
    position = {task: index for index, wave in enumerate(result.wave_plan["waves"]) for task in wave}
    assert sorted(position) == sorted(result.wave_plan["tasks"])
    for id_, task in result.wave_plan["tasks"].items():
        values = [edge["from"] for edge in task.get("needs", []) if edge["edge"] == "data"]
        values += [condition["from"] for condition in task.get("when", [])]
        ids = [edge["task"] for edge in task.get("needs", []) if edge["edge"] == "order"]
        for upstream in [*ids, *(task_id for value in values for task_id in tasks_in(value))]:
            assert position[upstream] < position[id_]


@pytest.mark.requirement("COMPILE-WRITE-001")
@given(rich_plans())
def test_compiling_the_same_bundle_twice_gives_the_same_bytes(plan: dict[str, Any]) -> None:
    files = {"workflow.yaml": workflow(plan)}

    first, second = compile_files(files), compile_files(files)

    assert first.data == second.data
    assert first.data is not None and json.loads(first.data) == first.wave_plan
