"""Reads fields that several kinds of manifest share: budgets, retries, templates."""

from collections.abc import Callable, Mapping
from typing import Any

from forum_runner.document import Origin
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.template import REFERENCE_HINT, parse_text
from forum_runner.manifest.units import parse_duration, parse_usd
from forum_runner.model import Budget, Retry, Text

# The name in the model and the conversion of fields that have a unit.
_UNITS: dict[str, tuple[str, Callable[[str], int]]] = {
    "usd": ("micro_usd", parse_usd),
    "wall": ("wall_ms", parse_duration),
    "backoff": ("backoff_ms", parse_duration),
    "max_backoff": ("max_backoff_ms", parse_duration),
    "timeout": ("timeout_ms", parse_duration),
    "connect_timeout": ("connect_timeout_ms", parse_duration),
}


def to_model_units(value: Mapping[str, Any]) -> dict[str, Any]:
    """Converts fields to the names and units of the model, and leaves out the user's `x-` fields."""
    fields = {}
    for name, content in value.items():
        if name in _UNITS:
            model_name, convert = _UNITS[name]
            fields[model_name] = convert(content)
        elif not name.startswith("x-"):
            fields[name] = content
    return fields


def read_budget(value: Mapping[str, Any], origin: Origin) -> Budget:
    return Budget(origin, **to_model_units(value))


def read_retry(value: Mapping[str, Any]) -> Retry:
    return Retry(**to_model_units(value))


def read_text(value: str, origin: Origin, findings: list[ManifestFinding]) -> Text:
    """Parses a text and adds its invalid references to `findings`."""
    text, problems = parse_text(value)
    findings += [
        ManifestFinding("F019", origin.place_of(p.source, last=p.is_last), p.message, REFERENCE_HINT) for p in problems
    ]
    return text
