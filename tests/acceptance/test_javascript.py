"""The second implementation, in JavaScript: its own tests, and the vectors of the roles that it offers."""

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
    """The path of Node."""
    path = shutil.which("node")
    if path is None:
        if "CI" in os.environ:
            pytest.fail("node is not installed")
        pytest.skip("node is not installed")
    return path


def test_the_tests_of_the_javascript_implementation_pass(node: str) -> None:
    files = sorted(str(path) for path in (JAVASCRIPT / "test").glob("*.test.js"))

    done = subprocess.run([node, "--test", *files], capture_output=True, text=True, timeout=300, check=False)

    assert files
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_javascript_implementation_conforms_in_the_roles_that_it_offers(node: str) -> None:
    command = [sys.executable, "-m", "forum_conformance", "test", "--serve", "--progress", "none"]
    roles = ["--role", "canonicalize", "--role", "verify", "--role", "prove"]
    program = ["--entrypoint", f"{node} {JAVASCRIPT / 'main.js'}"]

    done = subprocess.run([*command, *roles, *program], capture_output=True, text=True, timeout=600, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_that_a_page_imports_needs_node() -> None:
    node_only = {"main.js", "node_files.js"}
    core = [
        path for path in [*JAVASCRIPT.glob("*.js"), *(JAVASCRIPT / "replay").glob("*.js")] if path.name not in node_only
    ]

    using_node = [path.name for path in core if "node:" in path.read_text() or "node_files" in path.read_text()]

    assert len(core) > 20
    assert using_node == []
