"""The registry of manifest kinds.

To add a kind, add an entry here, its schema, and the functions that the entry refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from forum_runner.compile.name_checks import check_roster
from forum_runner.compile.workflow_compiler import Compilation, CompileOptions, check_plan, compile_to_wave_plan
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.manifest_reader import ManifestKind, ManifestReader
from forum_runner.manifest.policy_reader import read_policy
from forum_runner.manifest.roster_reader import read_roster
from forum_runner.manifest.workflow import read_answers, read_workflow


@dataclass(frozen=True, slots=True)
class KindSupport(ManifestKind):
    """How the compiler handles one kind of manifest.

    `check` runs the checks that a schema cannot express on a single manifest; it is None if there are none. `compile`
    runs all checks and turns the manifest into a wave plan; it is None for kinds that cannot be run by themselves.
    """

    check: Callable[[ManifestReader, Any], Iterable[ManifestFinding]] | None = None
    compile: Callable[[ManifestReader, Any, CompileOptions], Compilation] | None = None


_ALL = (
    KindSupport("Workflow", "workflow", read_workflow, compile=compile_to_wave_plan),
    KindSupport(
        "Roster",
        "roster",
        lambda _, value, origin: read_roster(value, origin),
        has_default=True,
        check=lambda _, roster: check_roster(roster),
    ),
    KindSupport("Policy", "policy", lambda _, value, origin: read_policy(value, origin), has_default=True),
    KindSupport("Plan", "plan", ManifestReader.plan, check=check_plan),
    KindSupport("Script", "script", lambda _, value, origin: read_answers(value, origin)),
)
KINDS = {kind.name: kind for kind in _ALL}
