"""Build the project's distributions and install them into separate environments."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SPECIFICATION = ROOT / "docs" / "spec" / "ledger.md"


def run(*command: object, cwd: Path) -> str:
    """Run a command, assert that it succeeds, and return its standard output."""
    # The programs under test must not import from the tests' path.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    arguments = [str(part) for part in command]
    result = subprocess.run(arguments, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def build(project: Path, folder: Path, *kinds: str) -> None:
    """Build into `folder`. `kinds` are options such as `--wheel`; without one, build a source distribution and from it
    a wheel."""
    # Skip isolation, which is slow. The editable installs build in isolation, so missing build requirements are found.
    run(sys.executable, "-m", "build", "--no-isolation", *kinds, "--outdir", folder, project, cwd=folder)


def create_environment(folder: Path, *packages: object) -> Path:
    """Create an environment and return its `bin`. It has no pip: installing pip takes longer than most packages."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    install(folder / "bin", *packages)
    return folder / "bin"


def install(bin_: Path, *packages: object) -> None:
    pip = (sys.executable, "-m", "pip", "--python", bin_ / "python", "--disable-pip-version-check")
    # Most installed modules are never imported, so compiling them is wasted time.
    run(*pip, "install", "--quiet", "--no-compile", *packages, cwd=bin_)


def worked_example_ledger() -> str:
    """The handwritten ledger of the specification's worked example."""
    page = _SPECIFICATION.read_text(encoding="utf-8")
    return page.partition("```jsonl\n")[2].partition("```")[0]
