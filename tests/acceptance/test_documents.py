"""Every command that the documents show is run, and prints what they show: digests too, which are the same everywhere.

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
    """Each command of a console block, with the output that is shown below it."""
    _, *parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return zip(parts[0::2], parts[1::2], strict=True)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The programs are those under test, wherever they are installed."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name, module in (("forum", "-m forum_runner"), ("forum-conformance", "-m forum_conformance"), ("python", "")):
        script = bin_ / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        script.chmod(0o755)
    return {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_commands_of_a_document_print_what_it_shows(
    document: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for kind, text in blocks(document):
        first, _, rest = text.partition("\n")
        if (kind, first[-5:]) == ("yaml", ".yaml") or (kind, first[-3:]) == ("python", ".py"):
            (folder / first.removeprefix("# ")).write_text(f"{first}\n{rest}")
        for command, shown in commands(text) if kind == "console" else ():
            result = subprocess.run(
                ["sh", "-c", f"{command} 2>&1"] if ";" not in command else ["sh", "-c", command],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert result.stdout == shown, f"$ {command}\n{result.stderr}"


def test_links_between_documents_lead_somewhere() -> None:
    for document in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_the_readme_has_the_two_commands_each_on_one_line() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    for heading in ("### Try it", "### Run the tests"):
        block = BLOCK.search(text[text.index(heading) :])
        assert block is not None and block[2].count("\n") == 1 and block[2].startswith("python3 -m venv .venv && ")
