"""Build and compile bundles from files in memory, as the application does."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forum_runner.app.invocation import Invocation
from forum_runner.compile.compiler import Compilation, CompileOptions, check_file, compile_workflow
from forum_runner.manifest.bundle import Bundle
from forum_runner.manifest.bundle_files import FileProblem
from forum_runner.manifest.workflow import InputValue

ROSTER: dict[str, Any] = {
    "adapters": {
        "shell": {"type": "command"},
        "small": {"type": "scripted"},
        "large": {"type": "scripted", "prices": {"input": "3", "output": "15"}},
    },
    "agents": {
        "operator": {"adapter": "shell"},
        "writer": {"adapters": {"cheap": "small", "frontier": "large"}},
        "critic": {"adapter": "small"},
    },
}
POLICY: dict[str, Any] = {"allow": {"commands": ["git", "true"]}}


def workflow(plan: Mapping[str, Any], **parts: Any) -> dict[str, Any]:
    """Return a workflow with this plan and, unless `parts` replace them, the roster and policy of this module."""
    head = {"apiVersion": "forum/v1", "kind": "Workflow", "metadata": {"name": "test"}}
    return {**head, "roster": ROSTER, "policy": POLICY, "plan": plan, **parts}


def invocation_in(root: Path, answers: Sequence[Any] | None = None) -> Invocation:
    """The invocation of `workflow.yaml` in a folder, without inputs and selected tasks."""
    members: dict[str, Any] = dict.fromkeys(Invocation.__struct_fields__) | {"inputs": {}, "selection": {}}
    return Invocation(**{**members, "root": root, "workflow": "workflow.yaml", "answers": answers})


def plan_manifest(name: str = "inner", **body: Any) -> dict[str, Any]:
    return {"apiVersion": "forum/v1", "kind": "Plan", "metadata": {"name": name}, **body}


def as_bytes(content: Any) -> bytes:
    """Encode a file: bytes unchanged, text as UTF-8, any other value as JSON, which is also YAML."""
    if isinstance(content, bytes):
        return content
    return content.encode() if isinstance(content, str) else json.dumps(content).encode()


class MemoryFiles:
    """Files in memory, by their paths from the bundle's root."""

    def __init__(self, files: Mapping[str, Any]) -> None:
        self._files = files

    def read(self, name: str) -> bytes:
        if name not in self._files:
            raise FileProblem("F101", f"file '{name}' not found")
        return as_bytes(self._files[name])


def bundle_of(files: Mapping[str, Any]) -> Bundle:
    return Bundle(MemoryFiles(files))


def compile_files(
    files: Mapping[str, Any], entry: str = "workflow.yaml", inputs: Mapping[str, Any] | None = None
) -> Compilation:
    values = {name: InputValue(value) for name, value in (inputs or {}).items()}
    return compile_workflow(bundle_of(files), entry, None, CompileOptions(values, require_all_inputs=True))


def compile_plan(plan: Mapping[str, Any], **parts: Any) -> Mapping[str, Any]:
    """Return the wave plan of a workflow around the plan. Assert that it has no findings."""
    result = compile_files({"workflow.yaml": workflow(plan, **parts)})
    assert result.findings == ()
    assert result.wave_plan is not None
    return result.wave_plan


def finding_codes(files: Mapping[str, Any], entry: str = "workflow.yaml") -> list[str]:
    result = check_file(bundle_of(files), entry, None, {})
    return [finding.code for finding in result.findings]


def plan_finding_codes(plan: Mapping[str, Any], **parts: Any) -> list[str]:
    return finding_codes({"workflow.yaml": workflow(plan, **parts)})


def without_bundle(wave_plan: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wave_plan.items() if name != "bundle"}
