"""Evaluate value expressions of a wave plan with the outputs of an example run (LEDGER-SEMANTICS-018)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fake_ledger.files import Body, json_body

# Look up the output of a task, or the outputs of the instances that passed for a task with `foreach`.
FindOutput = Callable[[str], Body]
FindOutputs = Callable[[str], Sequence[Body]]


def evaluate(value: Mapping[str, Any], output: FindOutput, outputs: FindOutputs) -> Body:
    """Return the value as a body. The whole output of a task keeps its type; any other value is JSON."""
    if set(value) == {"task"}:
        return output(value["task"])
    return json_body(_evaluate_json(value, output, outputs))


def source_tasks(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the tasks that a value refers to."""
    yield from (value[key] for key in ("task", "each") if key in value)
    for part in [*value.get("list", ()), *value.get("object", {}).values()]:
        yield from source_tasks(part)


def resolve_pointer(document: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def _evaluate_json(value: Mapping[str, Any], output: FindOutput, outputs: FindOutputs) -> Any:
    if "task" in value:
        result = _parse(output(value["task"]))
    elif "each" in value:
        result = [resolve_pointer(_parse(body), value.get("item", "")) for body in outputs(value["each"])]
    elif "list" in value:
        result = [_evaluate_json(part, output, outputs) for part in value["list"]]
    else:
        result = {name: _evaluate_json(part, output, outputs) for name, part in value["object"].items()}
    return resolve_pointer(result, value.get("select", ""))


def _parse(body: Body) -> Any:
    return json.loads(body.content) if body.type == "application/json" else body.content.decode()
