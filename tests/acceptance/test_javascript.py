"""The JavaScript implementation: its own tests, and the vectors of its roles."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
JAVASCRIPT = ROOT / "conformance" / "js"


@pytest.fixture
def node() -> str:
    """The path of Node. Without it, the test is skipped, except in CI."""
    path = shutil.which("node")
    if path is None:
        if "CI" in os.environ:
            pytest.fail("node is not installed")
        pytest.skip("node is not installed")
    return path


def test_the_javascript_tests_pass(node: str) -> None:
    files = sorted(str(path) for path in (JAVASCRIPT / "test").glob("*.test.js"))

    completed = subprocess.run([node, "--test", *files], capture_output=True, text=True, timeout=300, check=False)

    assert files
    assert completed.returncode == 0, completed.stdout + completed.stderr


def test_the_javascript_implementation_passes_the_vectors_of_its_roles(node: str) -> None:
    command = [sys.executable, "-m", "forum_conformance", "test", "--serve", "--progress", "none"]
    roles = ["--role", "canonicalize", "--role", "verify", "--role", "prove"]
    program = ["--entrypoint", f"{node} {JAVASCRIPT / 'main.js'}"]

    completed = subprocess.run([*command, *roles, *program], capture_output=True, text=True, timeout=600, check=False)

    assert completed.returncode == 0, completed.stdout + completed.stderr


def test_modules_for_browsers_do_not_need_node() -> None:
    node_only = {"main.js", "node_files.js"}
    core = [
        path
        for path in [*JAVASCRIPT.glob("*.js"), *(JAVASCRIPT / "semantics").glob("*.js")]
        if path.name not in node_only
    ]

    using_node = [path.name for path in core if "node:" in path.read_text() or "node_files" in path.read_text()]

    assert len(core) > 20
    assert using_node == []
