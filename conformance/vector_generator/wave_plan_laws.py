"""Invariants of every wave plan, checked without the runner before a plan becomes an expectation."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import rfc8785

from forum_conformance.canonical import NotCanonical, read_form
from forum_conformance.schemas import wave_plan_validator
from vector_generator.requirements import ROOT

Json = dict[str, Any]

DEFAULT_FILES = {
    f"forum:default/{name}": ROOT / "manifests" / "default" / name for name in ("roster.yaml", "policy.yaml")
}


def violations(data: bytes, bundle: Mapping[str, bytes]) -> Iterator[str]:
    """The invariants that a wave plan violates, given its bundle."""
    try:
        plan: Json = read_form(data)
    except NotCanonical as error:
        yield f"COMPILE-WRITE-001: {error}"
        return
    if errors := [error.message for error in wave_plan_validator().iter_errors(plan)]:
        yield f"wave-plan.schema.json: {errors[0]}"
        return
    yield from _digest_violations(plan, bundle)
    yield from _reference_violations(plan)
    if plan["waves"] != waves_of(plan):
        yield "COMPILE-LAYER-001: the waves do not follow from the edges"
    for id_, task in plan["tasks"].items():
        yield from (f"{problem} in task '{id_}'" for problem in _order_violations(task))
    yield from _sorting_violations(plan)


def waves_of(plan: Json) -> list[list[str]]:
    """The waves that COMPILE-LAYER-001 and 002 require; empty if the tasks form a cycle."""
    tasks: Json = plan["tasks"]
    needs = {id_: set(dependencies(task)) for id_, task in tasks.items()}
    layer_of: dict[str, int] = {}
    while len(layer_of) < len(tasks):
        ready = [id_ for id_ in tasks if id_ not in layer_of and needs[id_] <= layer_of.keys()]
        if not ready:
            return []
        layer_of |= {id_: 1 + max((layer_of[other] for other in needs[id_]), default=-1) for id_ in ready}
    size = plan["policy"]["max_parallel"]
    layers = (sorted(id_ for id_ in tasks if layer_of[id_] == number) for number in range(max(layer_of.values()) + 1))
    return [layer[start : start + size] for layer in layers for start in range(0, len(layer), size)]


def dependencies(task: Json) -> Iterator[str]:
    """The tasks that a task depends on through edges or its foreach."""
    for edge in task.get("needs", []):
        yield from [edge["task"]] if edge["edge"] == "order" else sources(edge["from"])
    if "foreach" in task:
        yield from sources(task["foreach"]["from"])


def sources(value: Json) -> Iterator[str]:
    """The tasks that a value comes from."""
    if "task" in value or "each" in value:
        yield value.get("task") or value["each"]
    for part in value.get("list", value.get("object", {}).values()):
        yield from sources(part)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest_violations(plan: Json, bundle: Mapping[str, bytes]) -> Iterator[str]:
    rest = {name: value for name, value in plan.items() if name not in ("bundle", "digest")}
    if plan["digest"] != _digest(rfc8785.dumps(rest)):
        yield "COMPILE-WRITE-002: the digest does not match the document"
    if any(name != _digest(rfc8785.dumps(schema)) for name, schema in plan["schemas"].items()):
        yield "COMPILE-WRITE-003: the key of a schema is not its digest"
    files = {**bundle, **{name: path.read_bytes() for name, path in DEFAULT_FILES.items()}}
    for file in plan["bundle"]:
        data = files.get(file["path"])
        if data is None or (file["digest"], file["bytes"]) != (_digest(data), len(data)):
            yield f"COMPILE-WRITE-002: '{file['path']}' is not a file of the bundle"


def _reference_violations(plan: Json) -> Iterator[str]:
    tasks, adapters, agents = plan["tasks"], plan["adapters"], plan["agents"]
    values = [*plan["outputs"].values()]
    for task in tasks.values():
        values += [condition["from"] for condition in task.get("when", [])]
    referenced = {name for task in tasks.values() for name in dependencies(task)} | {
        name for value in values for name in sources(value)
    }
    if not referenced <= tasks.keys():
        yield "COMPILE-LAYER-003: a reference to a task that does not exist"
    workers = {task["agent"] for task in tasks.values() if "agent" in task}
    judges = {check["agent"] for task in tasks.values() for check in task.get("accept", []) if "agent" in check}
    if not workers | judges <= agents.keys():
        yield "COMPILE-WRITE-004: a reference to an agent that does not exist"
    steps = {step["adapter"] for task in tasks.values() for step in task.get("ladder", [])}
    if not steps | {name for agent in agents.values() for name in agent["adapters"].values()} <= adapters.keys():
        yield "COMPILE-WRITE-004: a reference to an adapter that does not exist"


def _order_violations(task: Json) -> Iterator[str]:
    edges = task.get("needs", [])
    order = [edge["task"] for edge in edges if edge["edge"] == "order"]
    data = [edge["as"] for edge in edges if edge["edge"] == "data"]
    is_ordered = [edge["edge"] for edge in edges] == ["order"] * len(order) + ["data"] * len(data)
    if not is_ordered or order != sorted(set(order)) or data != sorted(set(data)):
        yield "COMPILE-WRITE-006: edges out of order"
    if any(edge.get("expects", []) != sorted(set(edge.get("expects", []))) for edge in edges):
        yield "COMPILE-WRITE-006: schemas of an edge out of order"
    kinds = [("schema", "command", "agent").index(*check) for check in task.get("accept", [])]
    if kinds != sorted(kinds):
        yield "COMPILE-WRITE-006: checks out of order"
    if any(not _is_normalized(text) for text in _texts(task)):
        yield "COMPILE-WRITE-005: a text with an empty part, or with two strings side by side"


def _texts(task: Json) -> Iterator[list[Any]]:
    yield task.get("instruction", [])
    yield from task.get("run", [])
    yield from task.get("done_when", [])
    yield task.get("gate", {}).get("question", [])
    for check in task.get("accept", []):
        yield from check.get("command", [])


def _is_normalized(parts: list[Any]) -> bool:
    pairs = pairwise(parts)
    return "" not in parts and not any(
        isinstance(part, str) and isinstance(following, str) for part, following in pairs
    )


def _sorting_violations(plan: Json) -> Iterator[str]:
    policy = plan["policy"]
    lists: list[Iterable[str]] = [*policy["allow"].values(), policy["privacy"]["scrub_env"]]
    lists += [adapter.get("env", []) for adapter in plan["adapters"].values()]
    lists += [agent.get("keywords", []) for agent in plan["agents"].values()]
    lists.append([file["path"] for file in plan["bundle"]])
    if any(list(items) != sorted(items) for items in lists):
        yield "COMPILE-WRITE-006: a list whose order has no meaning is not sorted"
