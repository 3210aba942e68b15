"""A plan during expansion: binds its inputs and substitutes references in its texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.compile import matrix
from forum_runner.compile.references import whole_reference
from forum_runner.compile.value_source import ValueSource
from forum_runner.manifest.template import parse_text
from forum_runner.model import Plan, Reference, Schema, Text


@dataclass(frozen=True, slots=True)
class KnownInput:
    """An input whose value is known at compile time."""

    value: Any


@dataclass(frozen=True, slots=True)
class SecretInput:
    """A secret input, whose value is passed when the run starts. `name` is its name in the workflow."""

    name: str


@dataclass(frozen=True, slots=True)
class EdgeInput:
    """An input of a used plan that an edge delivers during the run. Its value must match all schemas in `expects`."""

    value: ValueSource
    expects: tuple[Schema, ...]
    max_bytes: int | None


@dataclass(frozen=True, slots=True)
class RunPropertyInput:
    """An input of a used plan that is a property of the run, such as its id."""

    name: str


@dataclass(frozen=True, slots=True)
class UnsetInput:
    """An input without a value: the plan can be displayed, but not run."""


Binding = KnownInput | SecretInput | EdgeInput | RunPropertyInput | UnsetInput
Part = str | dict[str, str]


@dataclass(frozen=True, slots=True)
class PlanScope:
    """A plan during expansion: its id prefix, inputs, upstream tasks and conditions."""

    plan: Plan
    prefix: str
    bindings: Mapping[str, Binding]
    upstreams: tuple[str, ...] = ()
    conditions: tuple[dict[str, Any], ...] = ()

    @property
    def has_edge_inputs(self) -> bool:
        return bool(self.prefix) and any(isinstance(binding, EdgeInput) for binding in self.bindings.values())

    def input_bindings(self, references: Iterable[Reference]) -> list[tuple[Reference, Binding]]:
        """The references to inputs, each with the binding of its input."""
        return [(r, self.bindings[r.name]) for r in references if r.namespace == "inputs"]

    def fill(self, value: Any, values: Mapping[str, Any]) -> Any:
        """Resolves the references in a value of `with`. A value that is only a reference keeps its type."""
        if isinstance(value, Mapping):
            return {name: self.fill(item, values) for name, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item, values) for item in value]
        if not isinstance(value, str) or "${{" not in value:
            return value
        reference = whole_reference(value)
        if reference and reference.namespace == "matrix":
            return values[reference.name]
        if reference and isinstance(binding := self.bindings[reference.name], KnownInput):
            return binding.value
        return "".join(str(part) for part in self.fill_text(parse_text(value)[0], values))

    def fill_text(self, text: Text, values: Mapping[str, Any]) -> list[Part]:
        """Inserts known values into a text and joins adjacent strings.

        References to values of the run and to secrets become objects. References to unset inputs stay as they are.
        """
        parts: list[Part] = []
        for part in text:
            value = part if isinstance(part, str) else self._fill_reference(part, values)
            if isinstance(value, str) and parts and isinstance(parts[-1], str):
                parts[-1] += value
            elif value != "":
                parts.append(value)
        return parts

    def _fill_reference(self, reference: Reference, values: Mapping[str, Any]) -> Part:
        if reference.namespace == "matrix":
            return matrix.as_text(values[reference.name])
        if reference.namespace == "needs":
            return {"need": reference.name}
        if reference.namespace == "run":
            return {"run": reference.name}
        binding = self.bindings[reference.name]
        match binding:
            case KnownInput(value):
                return value if isinstance(value, str) else canonical(value).decode()
            case SecretInput(name):
                return {"secret": name}
            case EdgeInput():
                return {"need": f"inputs.{reference.name}"}
            case RunPropertyInput(name):
                return {"run": name}
            case UnsetInput():
                return reference.source
