"""Run every command in the documents and compare its output, digests included, with the text.

A `yaml` or `python` block whose first line is `# name.yaml` or `# name.py` is written to that file; a `console` block
is run in the same folder.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: Path) -> list[tuple[str, str]]:
    return [(kind, text) for kind, text in BLOCK.findall(document.read_text(encoding="utf-8"))]


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block and its expected output."""
    _, *parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return zip(parts[0::2], parts[1::2], strict=True)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH starts with the programs under test."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name, module in (("forum", "-m forum_runner"), ("forum-conformance", "-m forum_conformance"), ("python", "")):
        script = bin_ / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        script.chmod(0o755)
    return {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_commands_in_a_document_print_the_output_shown(
    document: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for kind, text in blocks(document):
        first, _, rest = text.partition("\n")
        if (kind, first[-5:]) == ("yaml", ".yaml") or (kind, first[-3:]) == ("python", ".py"):
            (folder / first.removeprefix("# ")).write_text(f"{first}\n{rest}")
        for command, expected in commands(text) if kind == "console" else ():
            result = subprocess.run(
                ["sh", "-c", f"{command} 2>&1"] if ";" not in command else ["sh", "-c", command],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert result.stdout == expected, f"$ {command}\n{result.stderr}"


def test_links_between_documents_have_existing_targets() -> None:
    for document in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_the_readme_has_one_line_commands_to_try_it_and_to_test_it() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    for heading in ("### Try it", "### Run the tests"):
        block = BLOCK.search(text[text.index(heading) :])
        assert block is not None and block[2].count("\n") == 1 and block[2].startswith("python3 -m venv .venv && ")
