"""The adapter in the guide works as printed: its entry point is found and its workflow runs."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from acceptance.test_documents import ROOT, blocks

GUIDE = ROOT / "docs" / "guide" / "adapters.md"


def install_guide(guide: Path, module: str, folder: Path) -> Path:
    """Write the files of a guide page as an installed distribution."""
    texts = {text.partition("\n")[0].removeprefix("# "): text for _, text in blocks(guide)}
    site, work = folder / "site", folder / "work"
    for directory, name in ((site, module), (work, "workflow.yaml")):
        directory.mkdir()
        (directory / name).write_text(texts[name])
    project = tomllib.loads(texts["pyproject.toml"])["project"]
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    group, entry_points = next(iter(project["entry-points"].items()))
    lines = "".join(f"{name} = {value}\n" for name, value in entry_points.items())
    (info / "entry_points.txt").write_text(f"[{group}]\n{lines}")
    return folder


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return install_guide(GUIDE, "forum_shout.py", tmp_path)


def forum(package: Path, *arguments: str, is_installed: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(package / "site")} if is_installed else dict(os.environ)
    command = [sys.executable, "-m", "forum_runner", *arguments]
    return subprocess.run(command, cwd=package / "work", env=environment, capture_output=True, text=True, check=False)


def test_the_adapter_from_the_guide_answers(package: Path) -> None:
    result = forum(package, "run", "workflow.yaml", "--out", "run")

    assert result.returncode == 0, result.stderr
    assert (package / "work/run/outputs/cry.txt").read_text() == "HEAR YE!!"
    assert forum(package, "verify", "run").returncode == 0


def test_doctor_names_the_package_of_an_adapter(package: Path) -> None:
    result = forum(package, "doctor", "workflow.yaml")

    assert result.returncode == 0, result.stdout
    assert "x-shout        forum-shout 1.0.0" in result.stdout
    assert "loud           x-shout: answers" in result.stdout


def test_an_adapter_that_is_not_installed_is_an_error_before_anything_runs(package: Path) -> None:
    result = forum(package, "run", "workflow.yaml", "--out", "run", is_installed=False)

    assert result.returncode == 2
    assert "x-shout" in result.stderr
    assert not (package / "work/run").exists()


def test_the_adapter_in_the_guide_has_at_most_20_lines() -> None:
    text = next(text for kind, text in blocks(GUIDE) if kind == "python")

    assert sum(bool(line.strip()) and not line.lstrip().startswith(("#", '"""')) for line in text.splitlines()) <= 20
