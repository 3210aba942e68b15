"""Reads a plan: its inputs, tasks and outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from forum_runner.document import Origin
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.shared_fields import read_budget, read_retry, read_text
from forum_runner.manifest.units import parse_duration
from forum_runner.manifest.user_schema import SchemaReader
from forum_runner.model import (
    Accept,
    EdgeKind,
    Foreach,
    Gate,
    Need,
    OutputSelection,
    Plan,
    PlanInput,
    Schema,
    Task,
    Text,
    Tier,
    When,
)

_DATA_FIELDS = ("select", "as", "expects", "max_bytes")


class PlanReader:
    """Reads plans and adds problems in schemas and templates to `findings`."""

    def __init__(self, schemas: SchemaReader, findings: list[ManifestFinding]) -> None:
        self._schemas = schemas
        self._findings = findings
        # The task fields that need conversion. All other fields are copied.
        self._readers: dict[str, Callable[[Any, Origin], Any]] = {
            "instruction": self._text,
            "run": self._texts,
            "needs": self._needs,
            "output": schemas.read,
            "done_when": self._texts,
            "accept": self._accepts,
            "retry": lambda value, _: read_retry(value),
            "escalate": lambda value, _: tuple(Tier(tier) for tier in value if tier is not None),
            "budget": read_budget,
            "gate": self._gate,
            "when": self._when,
            "matrix": lambda value, _: _matrix(value),
            "foreach": self._foreach,
        }

    def read(self, value: Mapping[str, Any], origin: Origin) -> Plan:
        inputs, tasks, outputs = (value.get(name, {}) for name in ("inputs", "tasks", "outputs"))
        return Plan(
            origin=origin,
            inputs={n: self._input(n, v, origin.at("inputs", n)) for n, v in inputs.items()},
            tasks={n: self._task(n, v, origin.at("tasks", n)) for n, v in tasks.items()},
            outputs={n: o for n, v in outputs.items() if (o := self._output(v, origin.at("outputs", n)))},
        )

    def _input(self, name: str, value: Mapping[str, Any], origin: Origin) -> PlanInput:
        schema = {keyword: content for keyword, content in value.items() if keyword not in ("secret", "default")}
        return PlanInput(
            origin=origin,
            name=name,
            schema=self._schemas.read(schema, origin),
            has_default="default" in value,
            default=value.get("default"),
            secret=value.get("secret", False),
        )

    def _task(self, name: str, value: Mapping[str, Any], origin: Origin) -> Task:
        fields: dict[str, Any] = {"origin": origin, "id": name}
        for field, content in value.items():
            if field in self._readers:
                fields[field] = self._readers[field](content, origin.at(field))
            elif not field.startswith("x-"):
                fields["arguments" if field == "with" else field] = content
        return Task(**fields)

    def _needs(self, items: list[Any], origin: Origin) -> tuple[Need, ...]:
        needs = []
        for index, item in enumerate(items):
            if isinstance(item, str):
                needs.append(Need(origin.at(index), item, name=item))
            elif item is not None and "task" in item:
                needs.append(self._need(item, origin.at(index)))
        return tuple(needs)

    def _need(self, value: Mapping[str, Any], origin: Origin) -> Need:
        return Need(
            *self._selection(value, origin),
            kind=EdgeKind(value.get("edge", EdgeKind.DATA)),
            name=value.get("as", value["task"]),
            expects=self._schema(value, "expects", origin),
            max_bytes=value.get("max_bytes"),
            data_fields=tuple(field for field in _DATA_FIELDS if field in value),
        )

    def _accepts(self, items: list[Any], origin: Origin) -> tuple[Accept, ...]:
        checks = []
        for index, item in enumerate(items):
            if item is None:
                continue
            check_origin = origin.at(index)
            command = self._texts(item["command"], check_origin.at("command")) if "command" in item else None
            checks.append(Accept(check_origin, self._schema(item, "schema", check_origin), command, item.get("agent")))
        return tuple(checks)

    def _gate(self, value: Mapping[str, Any], origin: Origin) -> Gate:
        return Gate(
            question=self._text(value.get("question", ""), origin.at("question")),
            deadline_ms=parse_duration(value["deadline"]) if "deadline" in value else None,
            on_deadline=value.get("on_deadline", "reject"),
        )

    def _when(self, value: Mapping[str, Any], origin: Origin) -> When | None:
        if "task" not in value:
            return None
        return When(*self._selection(value, origin), output=self._schema(value, "output", origin))

    def _foreach(self, value: Mapping[str, Any], origin: Origin) -> Foreach | None:
        if "task" not in value or "as" not in value:
            return None
        return Foreach(*self._selection(value, origin), name=value["as"], max=value.get("max", 1))

    def _output(self, value: Any, origin: Origin) -> OutputSelection | None:
        if isinstance(value, str):
            return OutputSelection(origin, value)
        return OutputSelection(*self._selection(value, origin)) if "task" in value else None

    def _selection(self, value: Mapping[str, Any], origin: Origin) -> tuple[Origin, str, str, dict[str, Any]]:
        """The fields of an OutputSelection. Text in `matrix` is parsed for references; other values are copied."""
        matrix_origin = origin.at("matrix")
        matrix = {
            axis: self._text(item, matrix_origin.at(axis)) if isinstance(item, str) else item
            for axis, item in value.get("matrix", {}).items()
        }
        return origin, value["task"], value.get("select", ""), matrix

    def _schema(self, value: Mapping[str, Any], field: str, origin: Origin) -> Schema | None:
        return self._schemas.read(value[field], origin.at(field)) if field in value else None

    def _text(self, value: str, origin: Origin) -> Text:
        if "${{" not in value:
            return (value,) if value else ()
        return read_text(value, origin, self._findings)

    def _texts(self, items: Any, origin: Origin) -> tuple[Text, ...]:
        return tuple(() if item is None else self._text(item, origin.at(i)) for i, item in enumerate(items))


def _matrix(value: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {axis: tuple(item for item in items if item is not None) for axis, items in value.items()}
