"""Adding a manifest kind takes one row in the registry and one schema."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bundles import ROSTER, bundle_of, finding_codes
from forum_runner import resources
from forum_runner.commands import explain, schema
from forum_runner.compile.compiler import CompileOptions, check_file, compile_workflow
from forum_runner.compile.kinds import KINDS, KindSupport
from forum_runner.compile.workflow_compiler import compile_to_wave_plan
from forum_runner.document import Origin
from forum_runner.manifest.manifest_reader import ManifestReader
from forum_runner.manifest.workflow import Workflow

DEBATE = {
    "apiVersion": "forum/v1",
    "kind": "Debate",
    "metadata": {"name": "tabs"},
    "roster": ROSTER,
    "question": "Tabs or spaces?",
    "sides": ["writer", "critic"],
}
DEBATE_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["question", "sides"],
    "properties": {
        "apiVersion": {"const": "forum/v1"},
        "kind": {"const": "Debate"},
        "metadata": {"$ref": "types.schema.json#/$defs/metadata"},
        "roster": {"type": "object"},
        "question": {"type": "string"},
        "sides": {"type": "array", "items": {"type": "string"}},
    },
    "additionalProperties": False,
}


def read_debate(reader: ManifestReader, value: Mapping[str, Any], origin: Origin) -> Workflow:
    question = value.get("question", "")
    tasks = {agent: {"agent": agent, "instruction": question} for agent in value.get("sides", ())}
    return Workflow(
        origin=origin,
        name=value["metadata"]["name"],
        description=None,
        roster=reader.workflow_part(value, origin, "Roster"),
        policy=reader.workflow_part(value, origin, "Policy"),
        plan=reader.plan({"tasks": tasks}, origin),
        inputs={},
        answers=None,
    )


@pytest.fixture
def _debate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register a made-up kind: one row and one schema."""
    folder = tmp_path / "v1"
    shutil.copytree(str(resources.schema_folder()), folder)
    (folder / "debate.schema.json").write_text(json.dumps(DEBATE_SCHEMA), encoding="utf-8")
    monkeypatch.setattr(resources, "schema_folder", lambda: folder)
    monkeypatch.setitem(KINDS, "Debate", KindSupport("Debate", "debate", read_debate, compile=compile_to_wave_plan))
    yield
    resources.schema.cache_clear()


def test_the_manifest_schema_has_a_branch_for_each_registered_kind() -> None:
    union = resources.schema("manifest")
    branches = {branch["if"]["properties"]["kind"]["const"]: branch["then"]["$ref"] for branch in union["allOf"]}

    assert union["properties"]["kind"]["enum"] == list(KINDS)
    assert branches == {kind.name: f"{kind.schema}.schema.json" for kind in KINDS.values()}


@pytest.mark.usefixtures("_debate")
def test_a_registered_kind_compiles() -> None:
    result = compile_workflow(bundle_of({"debate.yaml": DEBATE}), "debate.yaml", None, CompileOptions())

    assert result.findings == ()
    assert result.wave_plan is not None
    assert list(result.wave_plan["tasks"]) == ["critic", "writer"]


@pytest.mark.usefixtures("_debate")
def test_a_registered_kind_is_checked_by_its_schema_and_by_the_compiler() -> None:
    misspelled = {**DEBATE, "queston": "", "sides": ["writer", "critc"]}

    assert finding_codes({"debate.yaml": DEBATE}, "debate.yaml") == []
    assert finding_codes({"debate.yaml": misspelled}, "debate.yaml") == ["F012", "F201"]


@pytest.mark.usefixtures("_debate")
def test_a_registered_kind_is_suggested_for_a_misspelled_one() -> None:
    misspelled = {**DEBATE, "kind": "Debat"}

    (finding,) = check_file(bundle_of({"debate.yaml": misspelled}), "debate.yaml", None, {}).findings

    assert (finding.code, finding.hint) == ("F002", "did you mean 'Debate'?")


@pytest.mark.usefixtures("_debate")
def test_schema_and_explain_know_a_registered_kind() -> None:
    printed = CliRunner().invoke(schema.command, ["debate"], standalone_mode=False)
    explained = CliRunner().invoke(explain.command, ["F012"], standalone_mode=False)

    assert json.loads(printed.output) == DEBATE_SCHEMA
    assert explained.output.startswith("F012  ")


def test_an_unregistered_kind_is_unknown() -> None:
    assert finding_codes({"debate.yaml": DEBATE}, "debate.yaml") == ["F002"]
