"""The registry of manifest kinds: to add a kind, add a row here, its schema, and the modules that the row names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from forum_runner.compile.name_checks import check_roster
from forum_runner.compile.workflow_compiler import Compilation, CompileOptions, check_plan, compile_to_wave_plan
from forum_runner.document import Origin
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.manifest_reader import ManifestKind, ManifestReader
from forum_runner.manifest.policy_reader import read_policy
from forum_runner.manifest.roster_reader import read_roster
from forum_runner.manifest.workflow import read_answers, read_workflow

_Read = Callable[[ManifestReader, Mapping[str, Any], Origin], Any]


def _no_checks(_reader: ManifestReader, _value: Any) -> Iterable[ManifestFinding]:
    return ()


@dataclass(frozen=True, slots=True)
class CompilerKind(ManifestKind):
    """How the compiler handles one kind of manifest.

    `check` runs the checks beyond the schema on a single manifest. `compile` runs all checks and turns the manifest
    into a wave plan; it is None for kinds that cannot be run by themselves.
    """

    check: Callable[[ManifestReader, Any], Iterable[ManifestFinding]] = _no_checks
    compile: Callable[[ManifestReader, Any, CompileOptions], Compilation] | None = None


def _self_contained(read: Callable[[Mapping[str, Any], Origin], Any]) -> _Read:
    """Adapts the function that reads a kind whose manifests do not refer to others."""
    return lambda _, value, origin: read(value, origin)


_ROWS = (
    CompilerKind("Workflow", "workflow", read_workflow, compile=compile_to_wave_plan),
    CompilerKind(
        "Roster", "roster", _self_contained(read_roster), has_default=True, check=lambda _, value: check_roster(value)
    ),
    CompilerKind("Policy", "policy", _self_contained(read_policy), has_default=True),
    CompilerKind("Plan", "plan", ManifestReader.plan, check=check_plan),
    CompilerKind("Script", "script", _self_contained(read_answers)),
)
KINDS = {row.name: row for row in _ROWS}
