"""The judge and the suite with everything of the runner out of reach: what is not there cannot be used."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from installing import ROOT, worked_ledger

OUT_OF_REACH = (
    # ours
    "forum_adapters",
    "forum_manifests",
    "forum_runner",
    "forum_schemas",
    # what only the runner stands on
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

class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OUT_OF_REACH!r}:
            raise ModuleNotFoundError(f"{{name}} is out of reach", name=name)

sys.meta_path.insert(0, Refusal())
sys.path.insert(0, {str(ROOT / "conformance")!r})
"""
REFUSES_ALL = """\
import json, sys

request = json.load(sys.stdin)
if request["role"] != "canonicalize":
    sys.exit(33)
print(json.dumps({"protocol": 1, "verdict": "invalid"}))
"""


def without_the_runner(program: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM + program]
    return subprocess.run(command, cwd=cwd, env={}, capture_output=True, text=True, check=False)


def command(*arguments: object) -> str:
    words = [str(argument) for argument in arguments]
    return f"from forum_conformance.cli import main\nsys.exit(main({words!r}))"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.jsonl"
    path.write_text(worked_ledger())
    return path


@pytest.mark.parametrize("name", OUT_OF_REACH)
def test_what_is_out_of_reach_cannot_be_imported(name: str, tmp_path: Path) -> None:
    result = without_the_runner(f"import {name}", tmp_path)

    assert result.stderr.endswith(f"ModuleNotFoundError: {name} is out of reach\n")


def test_the_judge_judges(ledger: Path, tmp_path: Path) -> None:
    result = without_the_runner(command("judge", ledger), tmp_path)

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("valid: 3 entries")


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    package = ROOT / "conformance" / "forum_conformance"
    paths = (path.relative_to(package.parent).with_suffix("") for path in sorted(package.rglob("*.py")))
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths if path.name != "__main__"]

    program = f"from importlib import import_module\nfor name in {names!r}: import_module(name)"
    result = without_the_runner(program, tmp_path)

    assert (result.returncode, result.stderr) == (0, "")


def test_the_suite_tests_a_program(tmp_path: Path) -> None:
    (tmp_path / "refuses_all.py").write_text(REFUSES_ALL)
    entrypoint = shlex.join([sys.executable, "refuses_all.py"])
    options = ("--filter", "canonical/key-*", "--filter", "compile/*", "--progress", "none", "--json")

    result = without_the_runner(command("test", "--entrypoint", entrypoint, *options), tmp_path)

    assert (result.returncode, result.stderr) == (1, "")
    results = json.loads(result.stdout)["results"]
    assert {each["role"] for each in results} == {"canonicalize", "compile"}
    for each in results:
        of_the_role = "passed" if each["expected"]["verdict"] == "invalid" else "failed"
        assert each["state"] == (of_the_role if each["role"] == "canonicalize" else "not offered")


def test_the_schemas_of_an_installed_runner_change_nothing(ledger: Path, tmp_path: Path) -> None:
    """A runner of another version may be installed beside the judge."""
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
