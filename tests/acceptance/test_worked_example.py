"""The specification's worked example: its commands print the output shown, and both verifiers accept it."""

import re
import subprocess
from pathlib import Path

import pytest

from forum_conformance.judge import judge
from forum_conformance.report import report_document
from forum_runner.ledger import verify
from forum_runner.ledger.source import ledger_at

PAGE = (Path(__file__).parents[2] / "docs" / "spec" / "ledger.md").read_text(encoding="utf-8")
EXAMPLE = PAGE[PAGE.index("## A worked example") :]


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", EXAMPLE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Run the page's commands in a folder and compare each output with the page."""
    (tmp_path / "ledger.jsonl").write_text(blocks("jsonl")[0])
    for block in blocks("console"):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            result = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
            assert result.stdout == expected
    return tmp_path


@pytest.mark.requirement("LEDGER-CHAIN-001", "LEDGER-TREE-001", "LEDGER-TAR-001", "LEDGER-BODY-001")
def test_the_commands_of_the_example_print_the_output_on_the_page(folder: Path) -> None:
    assert (folder / "bodies.tar").is_file()


def test_both_verifiers_accept_the_example(folder: Path) -> None:
    report = verify(ledger_at(folder)).document()

    assert (report["verdict"], report["head"]) == (
        "valid",
        "161c88a0cf7b5c5a4edee6047e5a57bfc3bccaad442437dab4b3aadb005b3ce5",
    )
    assert report_document(judge(folder))["verdict"] == "valid"
