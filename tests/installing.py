"""Builds the project's distributions and installs them into environments of their own, for tests of packaging."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SPECIFICATION = ROOT / "docs" / "spec" / "ledger.md"


def run(*command: object, cwd: Path) -> str:
    # What is on the path of these tests must not be found by what is under test.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    arguments = [str(part) for part in command]
    result = subprocess.run(arguments, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def build(project: Path, folder: Path, *kinds: str) -> None:
    """Without a kind: a source distribution, and a wheel from that."""
    # Installs of a checkout build in isolation, and so show that what is needed to build is named.
    run(sys.executable, "-m", "build", "--no-isolation", *kinds, "--outdir", folder, project, cwd=folder)


def environment(folder: Path, *packages: object) -> Path:
    """The folder of its programs. It has no pip of its own: to install one takes longer than most packages."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    install(folder / "bin", *packages)
    return folder / "bin"


def install(bin_: Path, *packages: object) -> None:
    pip = (sys.executable, "-m", "pip", "--python", bin_ / "python", "--disable-pip-version-check")
    # Most of what is installed is never imported: Python compiles what is.
    run(*pip, "install", "--quiet", "--no-compile", *packages, cwd=bin_)


def worked_ledger() -> str:
    """The ledger of the specification's worked example, which was written by hand."""
    page = _SPECIFICATION.read_text(encoding="utf-8")
    return page.partition("```jsonl\n")[2].partition("```")[0]
