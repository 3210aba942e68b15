"""The wheel by itself, and an editable install: both find the schemas and the default manifests."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOW = """\
apiVersion: forum/v1
kind: Workflow
metadata: {name: tiny}
plan:
  tasks:
    hello: {agent: operator, run: [git, --version]}
"""


def run(*command: object, cwd: Path) -> str:
    # What is on the path of these tests must not be found by what is under test.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    arguments = [str(part) for part in command]
    result = subprocess.run(arguments, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, so that building leaves nothing behind and an edit is seen by nobody else."""
    target = tmp_path_factory.mktemp("checkout") / "forum"
    ignored = shutil.ignore_patterns(".git", ".venv", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "dist")
    shutil.copytree(ROOT, target, ignore=ignored)
    return target


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, checkout, cwd=folder)
    return next(folder.glob("forum_runner-*.whl"))


def test_a_wheel_built_from_the_source_distribution_holds_the_same(checkout: Path, wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--outdir", tmp_path, checkout, cwd=tmp_path)

    def contents(path: Path) -> list[str]:
        return sorted(zipfile.ZipFile(path).namelist())

    assert contents(next(tmp_path.glob("*.whl"))) == contents(wheel)
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


def environment(folder: Path, *packages: object) -> Path:
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    run(folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *packages, cwd=folder.parent)
    return folder / "bin"


def test_the_wheel_holds_packages_and_data_under_names_of_their_own(wheel: Path) -> None:
    top = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}

    assert {name for name in top if not name.endswith(".dist-info")} == {
        "forum_adapters",
        "forum_conformance",
        "forum_manifests",
        "forum_runner",
        "forum_schemas",
    }


def test_the_data_folders_hold_no_code(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert [name for name in names if name.startswith("forum_schemas") and not name.endswith(".json")] == []
    assert [
        n for n in names if n.startswith(("forum_manifests/default", "forum_manifests/init")) and n.endswith(".py")
    ] == []


def test_the_license_goes_with_the_wheel(wheel: Path) -> None:
    assert any(name.endswith("licenses/LICENSE") for name in zipfile.ZipFile(wheel).namelist())


def test_a_wheel_in_an_empty_environment_compiles_a_workflow(wheel: Path, tmp_path: Path) -> None:
    bin_ = environment(tmp_path / "venv", wheel)
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)

    plan = json.loads(run(bin_ / "forum", "compile", "--json", "workflow.yaml", cwd=tmp_path))

    assert plan["waves"] == [["hello"]]
    paths = [item["path"] for item in plan["bundle"]]
    assert paths == ["forum:default/policy.yaml", "forum:default/roster.yaml", "workflow.yaml"]
    assert "wave-plan" in run(bin_ / "forum", "schema", cwd=tmp_path)
    assert "F012" in run(bin_ / "forum", "explain", "f012", cwd=tmp_path)


def test_an_editable_install_sees_an_edited_schema_at_once(checkout: Path, tmp_path: Path) -> None:
    bin_ = environment(tmp_path / "venv", "--editable", checkout)
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    run(bin_ / "forum", "compile", "workflow.yaml", cwd=tmp_path)

    schema = checkout / "schemas" / "v1" / "plan.schema.json"
    schema.write_text(schema.read_text().replace('"title": "Command"', '"title": "Edited"', 1))

    assert '"title": "Edited"' in run(bin_ / "forum", "schema", "plan", cwd=tmp_path)
