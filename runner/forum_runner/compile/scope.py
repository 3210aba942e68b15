"""A plan during expansion: what its inputs are bound to, and how they are substituted in its texts."""

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
    """An input whose value is passed when the run starts; `name` is its name in the workflow."""

    name: str


@dataclass(frozen=True, slots=True)
class EdgeInput:
    """An input of a used plan that an edge delivers during the run; `expects` are the schemas of edge and inputs."""

    value: ValueSource
    expects: tuple[Schema, ...]
    max_bytes: int | None


@dataclass(frozen=True, slots=True)
class RunFactInput:
    """An input of a used plan that is a fact of the run, such as its id."""

    name: str


@dataclass(frozen=True, slots=True)
class UnsetInput:
    """An input without a value: the plan can be displayed, but not run."""


Binding = KnownInput | SecretInput | EdgeInput | RunFactInput | UnsetInput
Part = str | dict[str, str]


@dataclass(frozen=True, slots=True)
class PlanScope:
    """A plan during expansion: its id prefix, inputs, upstream tasks and conditions."""

    plan: Plan
    prefix: str
    bindings: Mapping[str, Binding]
    after: tuple[str, ...] = ()
    conditions: tuple[dict[str, Any], ...] = ()

    @property
    def has_edge_inputs(self) -> bool:
        return bool(self.prefix) and any(isinstance(binding, EdgeInput) for binding in self.bindings.values())

    def bound(self, references: Iterable[Reference]) -> list[tuple[Reference, Binding]]:
        """The references to inputs, each with the binding of its input."""
        return [(r, self.bindings[r.name]) for r in references if r.namespace == "inputs"]

    def filled(self, value: Any, values: Mapping[str, Any]) -> Any:
        """A value of `with` with its references resolved; a value that is only a reference keeps its type."""
        if isinstance(value, Mapping):
            return {name: self.filled(item, values) for name, item in value.items()}
        if isinstance(value, list):
            return [self.filled(item, values) for item in value]
        if not isinstance(value, str) or "${{" not in value:
            return value
        reference = whole_reference(value)
        if reference and reference.namespace == "matrix":
            return values[reference.name]
        if reference and isinstance(binding := self.bindings[reference.name], KnownInput):
            return binding.value
        return "".join(str(part) for part in self.parts(parse_text(value)[0], values))

    def parts(self, text: Text, values: Mapping[str, Any]) -> list[Part]:
        """The text with known references resolved; adjacent strings are joined."""
        parts: list[Part] = []
        for part in text:
            filled = part if isinstance(part, str) else self._filled_reference(part, values)
            if isinstance(filled, str) and parts and isinstance(parts[-1], str):
                parts[-1] += filled
            elif filled != "":
                parts.append(filled)
        return parts

    def _filled_reference(self, reference: Reference, values: Mapping[str, Any]) -> Part:
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
            case RunFactInput(name):
                return {"run": name}
            case UnsetInput():
                return reference.source
