"""Fixtures for the packaging tests: a copy of the checkout, and the wheels built from it."""

import shutil
from pathlib import Path

import pytest

from distributions import ROOT, build


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, so that builds and edits do not affect the real one."""
    target = tmp_path_factory.mktemp("checkout") / "forum"
    ignored = shutil.ignore_patterns(".git", ".venv*", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "dist")
    shutil.copytree(ROOT, target, ignore=ignored)
    return target


@pytest.fixture(scope="session")
def runner_wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build_wheel(checkout, tmp_path_factory.mktemp("runner"))


@pytest.fixture(scope="session")
def conformance_wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build_wheel(checkout / "conformance", tmp_path_factory.mktemp("conformance"))


def _build_wheel(project: Path, folder: Path) -> Path:
    build(project, folder, "--wheel")
    (wheel,) = folder.glob("*.whl")
    return wheel
