"""The shipped manifests (examples, defaults and the starter workflow) are valid, and scripts answer every call."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from forum_runner.api import Inputs
from forum_runner.app.workflows import check, compile_file
from forum_runner.manifest.yaml_reader import read_yaml

_CHECKOUT = Path(__file__).resolve().parents[2]
_SCHEMAS = _CHECKOUT / "schemas" / "v1"
_MANIFESTS = _CHECKOUT / "manifests"
_EXAMPLES = sorted(path.parent for path in _MANIFESTS.glob("examples/*/workflow.yaml"))
_COMMANDS = [
    f"forum {verb}" for verb in ("check workflow.yaml", "graph workflow.yaml", "run workflow.yaml --deterministic")
]
_MODELINE = "# yaml-language-server: $schema="
# A git hook passes its repository to every git process through the environment.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def _documents(path: Path) -> list[Any]:
    """Read the documents as forum does: other YAML readers take `no` for false."""
    documents, findings = read_yaml(path.name, path.read_text(encoding="utf-8"))
    assert findings == []
    return [document.value for document in documents]


# An inputs file is not a manifest: it has no kind and no schema.
_FILES = [path for path in sorted(_MANIFESTS.rglob("*.yaml")) if "kind" in _documents(path)[0]]

each_example = pytest.mark.parametrize("example", _EXAMPLES, ids=lambda path: path.name)
each_manifest = pytest.mark.parametrize("path", _FILES, ids=lambda path: path.relative_to(_MANIFESTS).as_posix())


@pytest.fixture
def workspace(example: Path, tmp_path: Path) -> Path:
    """A copy of an example's folder as a git repository."""
    folder = tmp_path / example.name
    shutil.copytree(example, folder)
    settings = ["-c", "user.name=forum", "-c", "user.email=forum@example.com", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "--quiet"], ["add", "."], [*settings, "commit", "--quiet", "--message=Begin"]):
        subprocess.run(["git", *arguments], cwd=folder, env=_ENVIRONMENT, check=True)
    return folder


def test_the_documented_examples_exist() -> None:
    names = {example.name for example in _EXAMPLES}

    assert names >= {"code-review", "data-check", "issue-triage", "release-notes", "research", "translation"}


@each_example
def test_an_example_has_no_findings(example: Path) -> None:
    report = check([str(example / "workflow.yaml")], None, Inputs())

    assert report.findings == ()


@each_example
def test_an_example_compiles_to_a_valid_wave_plan(example: Path) -> None:
    compiled = compile_file(str(example / "workflow.yaml"), None, Inputs())

    assert compiled.report.findings == ()
    assert compiled.data is not None
    assert _schema_errors(json.loads(compiled.data)) == []


@each_example
def test_a_script_answers_every_task(example: Path) -> None:
    unanswered = [id_ for id_ in _wave_plan(example)["tasks"] if not list(_answers(example, id_))]

    assert unanswered == []


@each_example
def test_a_script_answers_every_judge(example: Path) -> None:
    calls = [(id_, judge) for id_, task in _wave_plan(example)["tasks"].items() for judge in sorted(_judges(task))]

    # The first matching answer is used: a worker's answer without an agent would also answer the judge.
    assert [pair for pair in calls if _agent_of_first_answer(example, *pair) != pair[1]] == []


@each_example
def test_an_answer_matches_the_output_type_of_its_task(example: Path) -> None:
    wave_plan = _wave_plan(example)

    for id_, task in wave_plan["tasks"].items():
        schema = wave_plan["schemas"][task["output"]] if "output" in task else {"type": "string"}
        errors = [error.message for output in _outputs(example, id_) for error in _errors(schema, output)]
        assert errors == [], id_


@each_example
def test_the_last_answer_for_a_task_passes_its_checks(example: Path, workspace: Path) -> None:
    wave_plan = _wave_plan(example)

    for id_, task in wave_plan["tasks"].items():
        for accept in task.get("accept", []):
            output = _outputs(example, id_)[-1]
            if "schema" in accept:
                assert list(_errors(wave_plan["schemas"][accept["schema"]], output)) == [], id_
            if "command" in accept:
                completed = _run(
                    workspace, accept["command"], output if isinstance(output, str) else json.dumps(output)
                )
                assert completed.returncode == 0, completed.stdout


@each_example
def test_the_output_of_a_command_matches_the_type_of_its_task(example: Path, workspace: Path) -> None:
    wave_plan = _wave_plan(example)

    for id_, task in wave_plan["tasks"].items():
        if "run" not in task or not _is_static(task["run"]) or not _is_static([task.get("instruction", [])]):
            continue
        completed = _run(workspace, task["run"], "")
        assert completed.returncode == 0, f"{id_}: {completed.stderr}"
        if "output" in task:
            assert list(_errors(wave_plan["schemas"][task["output"]], json.loads(completed.stdout))) == [], id_


@each_example
def test_a_readme_lists_the_commands(example: Path) -> None:
    readme = (example / "README.md").read_text(encoding="utf-8")
    block = readme.split("```")[1]

    assert block.split("\n")[1:-1] == _COMMANDS
    assert "`script.yaml`" in readme


@each_manifest
def test_an_editor_finds_the_schema_of_a_manifest(path: Path) -> None:
    """Each document names its own schema, because editors read the comment per document."""
    texts = path.read_text(encoding="utf-8").split("---\n")
    folder = Path(".forum/schemas/v1") if path.parent.name == "init" else _relative_schemas(path)

    assert [text.partition("\n")[0] for text in texts] == [
        f"{_MODELINE}{folder.as_posix()}/{document['kind'].lower()}.schema.json" for document in _documents(path)
    ]


@pytest.mark.parametrize("name", ["roster", "policy"])
def test_a_default_manifest_has_no_findings(name: str) -> None:
    report = check([str(_MANIFESTS / "default" / f"{name}.yaml")], None, Inputs())

    assert report.findings == ()


def test_a_workflow_without_roster_and_policy_gets_the_defaults(tmp_path: Path) -> None:
    agents = _documents(_MANIFESTS / "default" / "roster.yaml")[0]["agents"]
    tasks = {name: {"agent": name, "instruction": "Say what you can do."} for name in agents if name != "operator"}
    tasks["operator"] = {"agent": "operator", "run": ["git", "--version"]}
    header = {"apiVersion": "forum/v1", "kind": "Workflow", "metadata": {"name": "everybody"}}
    (tmp_path / "workflow.yaml").write_text(json.dumps({**header, "plan": {"tasks": tasks}}), encoding="utf-8")

    compiled = compile_file(str(tmp_path / "workflow.yaml"), None, Inputs())

    assert compiled.report.findings == ()
    assert set(compiled.plan.agents) == set(agents)


def test_the_default_manifests_access_only_this_machine() -> None:
    roster = _documents(_MANIFESTS / "default" / "roster.yaml")[0]
    policy = _documents(_MANIFESTS / "default" / "policy.yaml")[0]

    assert policy["allow"] == {
        "commands": ["git", "python3"],
        "hosts": ["127.0.0.1", "localhost"],
        "env": ["PATH", "HOME", "LANG", "LC_ALL", "TZ"],
    }
    assert roster["adapters"]["local"]["base_url"].startswith("http://127.0.0.1:")
    assert roster["adapters"]["local"]["prices"] == {"input": "0", "output": "0"}


def test_the_starter_workflow_has_no_findings_in_an_empty_folder(tmp_path: Path) -> None:
    shutil.copytree(_MANIFESTS / "init", tmp_path, dirs_exist_ok=True)

    report = check([str(tmp_path / "workflow.yaml")], None, Inputs())
    compiled = compile_file(str(tmp_path / "workflow.yaml"), None, Inputs())

    assert (report.findings, compiled.report.findings) == ((), ())
    assert compiled.data is not None
    assert _schema_errors(json.loads(compiled.data)) == []
    assert _outputs(tmp_path, "list") == [sorted(path.name for path in tmp_path.iterdir())]


@cache
def _wave_plan(example: Path) -> Mapping[str, Any]:
    wave_plan: Mapping[str, Any] = json.loads(compile_file(str(example / "workflow.yaml"), None, Inputs()).data or b"")
    return wave_plan


def _script(example: Path) -> list[Mapping[str, Any]]:
    answers: list[Mapping[str, Any]] = _documents(example / "script.yaml")[0]["answers"]
    return [answer for answer in answers if "check" not in answer]


def _task_name(id_: str) -> str:
    """The task's name in its plan, without enclosing plans, matrix values and item number."""
    return id_.partition("[")[0].rpartition("/")[2]


def _answers(example: Path, id_: str) -> Iterator[Mapping[str, Any]]:
    """The answers for the worker of one task, which name it by its id or by its name in the plan."""
    judges = _judges(_wave_plan(example)["tasks"][id_])
    for answer in _script(example):
        if answer.get("task") in (id_, _task_name(id_)) and answer.get("agent") not in judges:
            yield answer


def _outputs(example: Path, id_: str) -> list[Any]:
    return [answer["output"] for answer in _answers(example, id_) if "output" in answer]


def _judges(task: Mapping[str, Any]) -> set[str]:
    return {accept["agent"] for accept in task.get("accept", []) if "agent" in accept}


def _agent_of_first_answer(example: Path, id_: str, judge: str) -> str | None:
    """The agent of the first answer that matches a judge's call."""
    for answer in _script(example):
        if answer.get("task", id_) in (id_, _task_name(id_)) and answer.get("agent", judge) == judge:
            return answer.get("agent")
    return None


def _is_static(texts: list[list[Any]]) -> bool:
    """Whether the texts are known before a run."""
    return all(isinstance(part, str) for parts in texts for part in parts)


def _run(folder: Path, command: list[list[str]], text: str) -> subprocess.CompletedProcess[str]:
    argv = ["".join(parts) for parts in command]
    return subprocess.run(
        argv, cwd=folder, env=_ENVIRONMENT, input=text, capture_output=True, encoding="utf-8", check=False
    )


@cache
def _registry() -> Registry[Any]:
    contents = {path.name: json.loads(path.read_bytes()) for path in _SCHEMAS.glob("*.schema.json")}
    resources = [(name, Resource.from_contents(content, DRAFT202012)) for name, content in contents.items()]
    return Registry().with_resources(resources)


def _schema_errors(wave_plan: Any) -> list[str]:
    schema = {"$ref": "wave-plan.schema.json"}
    errors = Draft202012Validator(schema, registry=_registry()).iter_errors(wave_plan)
    return [f"{error.json_path}: {error.message}" for error in errors]


def _errors(schema: Any, value: Any) -> Iterator[Any]:
    return Draft202012Validator(schema).iter_errors(value)


def _relative_schemas(path: Path) -> Path:
    depth = len(path.parent.relative_to(_CHECKOUT).parts)
    return Path(*[".."] * depth, _SCHEMAS.relative_to(_CHECKOUT))
