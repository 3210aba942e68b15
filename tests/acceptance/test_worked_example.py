"""The example of the specification: its commands print what it shows, and both verifiers call it valid."""

import re
import subprocess
from pathlib import Path

import pytest

from forum_conformance.judge import judge
from forum_conformance.report import document_of
from forum_runner.ledger import verify
from forum_runner.ledger.source import ledger_at

PAGE = (Path(__file__).parents[2] / "docs" / "spec" / "ledger.md").read_text(encoding="utf-8")
EXAMPLE = PAGE[PAGE.index("## A worked example") :]


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", EXAMPLE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which the page's commands were run, each checked against what the page shows."""
    (tmp_path / "ledger.jsonl").write_text(blocks("jsonl")[0])
    for block in blocks("console"):
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            result = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
            assert result.stdout == shown
    return tmp_path


@pytest.mark.requirement("LEDGER-CHAIN-001", "LEDGER-TREE-001", "LEDGER-TAR-001", "LEDGER-BODY-001")
def test_small_tools_check_the_example(folder: Path) -> None:
    assert (folder / "bodies.tar").is_file()


def test_both_verifiers_call_the_example_valid(folder: Path) -> None:
    report = verify(ledger_at(folder)).document()

    assert (report["verdict"], report["head"]) == (
        "valid",
        "161c88a0cf7b5c5a4edee6047e5a57bfc3bccaad442437dab4b3aadb005b3ce5",
    )
    assert document_of(judge(folder))["verdict"] == "valid"
