"""The values of a wave plan, computed from the outputs of a fake run (LEDGER-SEMANTICS-018)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fake_ledger.files import Body, json_body

# The output of a task by its name; of a task with a foreach, those of its instances that passed.
Output = Callable[[str], Body]
Outputs = Callable[[str], Sequence[Body]]


def value_of(value: Mapping[str, Any], output: Output, outputs: Outputs) -> Body:
    if set(value) == {"task"}:
        return output(value["task"])
    return json_body(_made(value, output, outputs))


def sources(value: Mapping[str, Any]) -> Iterator[str]:
    yield from (value[key] for key in ("task", "each") if key in value)
    for part in [*value.get("list", ()), *value.get("object", {}).values()]:
        yield from sources(part)


def pointed(document: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def _made(value: Mapping[str, Any], output: Output, outputs: Outputs) -> Any:
    if "task" in value:
        made = _read(output(value["task"]))
    elif "each" in value:
        made = [pointed(_read(body), value.get("item", "")) for body in outputs(value["each"])]
    elif "list" in value:
        made = [_made(part, output, outputs) for part in value["list"]]
    else:
        made = {name: _made(part, output, outputs) for name, part in value["object"].items()}
    return pointed(made, value.get("select", ""))


def _read(body: Body) -> Any:
    return json.loads(body.content) if body.type == "application/json" else body.content.decode()
