"""The runner's wheel finds the schemas and the default manifests, and contains no part of the judge."""

import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from distributions import build, create_environment, install, run

WORKFLOW = """\
apiVersion: forum/v1
kind: Workflow
metadata: {name: tiny}
plan:
  tasks:
    hello: {agent: operator, run: [git, --version]}
"""


@pytest.fixture(scope="module")
def bin_(runner_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has this wheel. Tests may install more packages."""
    return create_environment(tmp_path_factory.mktemp("runner") / "venv", runner_wheel)


def test_a_wheel_built_from_the_source_distribution_is_identical(
    checkout: Path, runner_wheel: Path, tmp_path: Path
) -> None:
    build(checkout, tmp_path)

    (from_source,) = tmp_path.glob("*.whl")
    assert from_source.read_bytes() == runner_wheel.read_bytes()
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert {
        "runner",
        "adapters",
        "conformance",
        "schemas",
        "manifests",
        "tests",
        "docs",
        "README.md",
        "LICENSE",
    } <= names


def test_the_wheel_contains_only_packages_with_forum_names(runner_wheel: Path) -> None:
    top_level_names = {name.partition("/")[0] for name in zipfile.ZipFile(runner_wheel).namelist()}

    assert {name for name in top_level_names if not name.endswith(".dist-info")} == {
        "forum_adapters",
        "forum_manifests",
        "forum_runner",
        "forum_schemas",
    }


def test_the_wheel_installs_one_command(runner_wheel: Path) -> None:
    archive = zipfile.ZipFile(runner_wheel)
    (entry_points,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("entry_points.txt"))

    scripts = entry_points.partition("[console_scripts]\n")[2].partition("\n\n")[0]
    assert scripts == "forum = forum_runner.__main__:main"


def test_the_data_folders_contain_no_code(runner_wheel: Path) -> None:
    names = zipfile.ZipFile(runner_wheel).namelist()

    assert [name for name in names if name.startswith("forum_schemas") and not name.endswith(".json")] == []
    assert [
        n for n in names if n.startswith(("forum_manifests/default", "forum_manifests/init")) and n.endswith(".py")
    ] == []


def test_the_wheel_contains_the_license(runner_wheel: Path) -> None:
    assert any(name.endswith("licenses/LICENSE") for name in zipfile.ZipFile(runner_wheel).namelist())


def test_a_wheel_in_an_empty_environment_compiles_a_workflow(bin_: Path, tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)

    plan = json.loads(run(bin_ / "forum", "compile", "--json", "workflow.yaml", cwd=tmp_path))

    assert plan["waves"] == [["hello"]]
    paths = [item["path"] for item in plan["bundle"]]
    assert paths == ["forum:default/policy.yaml", "forum:default/roster.yaml", "workflow.yaml"]
    assert "wave-plan" in run(bin_ / "forum", "schema", cwd=tmp_path)
    assert "F012" in run(bin_ / "forum", "explain", "f012", cwd=tmp_path)


def test_forum_and_the_judge_installed_together_both_call_a_run_valid(
    bin_: Path, conformance_wheel: Path, checkout: Path, tmp_path: Path
) -> None:
    install(bin_, conformance_wheel)
    workflow = checkout / "manifests" / "examples" / "release-notes" / "workflow.yaml"

    run(bin_ / "forum", "run", workflow, "--deterministic", "--out", "run", cwd=tmp_path)

    assert run(bin_ / "forum", "verify", "run", cwd=tmp_path).startswith("valid")
    assert run(bin_ / "forum-conformance", "judge", "run", cwd=tmp_path).startswith("valid")
