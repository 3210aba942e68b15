"""The judge and the suite work in a process that cannot import the runner or its dependencies."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from distributions import ROOT, worked_example_ledger

BLOCKED = (
    # our other packages
    "forum_adapters",
    "forum_manifests",
    "forum_runner",
    "forum_schemas",
    # dependencies that only the runner has
    "click",
    "cryptography",
    "httpx",
    "jsonschema_rs",
    "orjson",
    "rich",
    "yaml",
)
PROGRAM = f"""\
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"{{name}} is blocked", name=name)

sys.meta_path.insert(0, Blocker())
sys.path.insert(0, {str(ROOT / "conformance")!r})
"""
REJECTS_ALL = """\
import json, sys

request = json.load(sys.stdin)
if request["role"] != "canonicalize":
    sys.exit(33)
print(json.dumps({"protocol": 1, "verdict": "invalid"}))
"""


def run_without_runner(program: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM + program]
    return subprocess.run(command, cwd=cwd, env={}, capture_output=True, text=True, check=False)


def command(*arguments: object) -> str:
    argv = [str(argument) for argument in arguments]
    return f"from forum_conformance.cli import main\nsys.exit(main({argv!r}))"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.jsonl"
    path.write_text(worked_example_ledger())
    return path


@pytest.mark.parametrize("name", BLOCKED)
def test_a_blocked_package_cannot_be_imported(name: str, tmp_path: Path) -> None:
    result = run_without_runner(f"import {name}", tmp_path)

    assert result.stderr.endswith(f"ModuleNotFoundError: {name} is blocked\n")


def test_the_judge_can_verify_a_ledger(ledger: Path, tmp_path: Path) -> None:
    result = run_without_runner(command("judge", ledger), tmp_path)

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("valid: 3 entries")


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    package = ROOT / "conformance" / "forum_conformance"
    paths = (path.relative_to(package.parent).with_suffix("") for path in sorted(package.rglob("*.py")))
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths if path.name != "__main__"]

    program = f"from importlib import import_module\nfor name in {names!r}: import_module(name)"
    result = run_without_runner(program, tmp_path)

    assert (result.returncode, result.stderr) == (0, "")


def test_the_suite_can_test_a_program(tmp_path: Path) -> None:
    (tmp_path / "rejects_all.py").write_text(REJECTS_ALL)
    entrypoint = shlex.join([sys.executable, "rejects_all.py"])
    options = ("--filter", "canonical/key-*", "--filter", "compile/*", "--progress", "none", "--json")

    completed = run_without_runner(command("test", "--entrypoint", entrypoint, *options), tmp_path)

    assert (completed.returncode, completed.stderr) == (1, "")
    results = json.loads(completed.stdout)["results"]
    assert {result["role"] for result in results} == {"canonicalize", "compile"}
    for result in results:
        expected_state = "passed" if result["expected"]["verdict"] == "invalid" else "failed"
        assert result["state"] == (expected_state if result["role"] == "canonicalize" else "not offered")


def test_the_schemas_of_an_installed_runner_change_nothing(ledger: Path, tmp_path: Path) -> None:
    """A different version of the runner may be installed beside the judge."""
    schemas = tmp_path / "site" / "forum_schemas" / "v1"
    schemas.mkdir(parents=True)
    for path in (ROOT / "schemas" / "v1").iterdir():
        (schemas / path.name).write_text(json.dumps({"not": {}}))

    result = subprocess.run(
        [sys.executable, "-m", "forum_conformance", "judge", str(ledger)],
        env={"PYTHONPATH": f"{tmp_path / 'site'}:{ROOT / 'conformance'}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("valid: 3 entries")
