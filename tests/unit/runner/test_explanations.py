"""Every finding code in the ledger specification has exactly one explanation."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import forum_runner
from forum_runner.commands.explain import command
from forum_runner.explanations import Explanation, explanations

SPECIFICATION = Path(__file__).parents[3] / "docs" / "spec" / "ledger.md"
SOURCE = Path(forum_runner.__file__).parent / "ledger_explanations.md"
LEDGER_EXPLANATIONS = [item for code, item in explanations().items() if code.startswith("L")]


def test_every_code_of_the_specification_is_explained_once_and_in_order() -> None:
    specified = sorted(set(re.findall(r"\bL[0-9]{3}\b", SPECIFICATION.read_text(encoding="utf-8"))))

    assert re.findall(r"^## (\S+)", SOURCE.read_text(encoding="utf-8"), re.MULTILINE) == specified
    assert [item.code for item in LEDGER_EXPLANATIONS] == specified


def test_the_introduction_lists_every_level() -> None:
    introduction = SOURCE.read_text(encoding="utf-8").partition("\n## ")[0]

    assert re.findall(r"^\| (L[0-9])xx \|", introduction, re.MULTILINE) == sorted(
        {i.code[:2] for i in LEDGER_EXPLANATIONS}
    )


def test_explanations_state_which_findings_leave_a_ledger_incomplete() -> None:
    [listed] = re.findall(
        r"is `invalid` if there is a finding other than ([^;]+);", SPECIFICATION.read_text(encoding="utf-8")
    )

    incomplete = [item.code for item in LEDGER_EXPLANATIONS if "ledger is incomplete" in " ".join(item.text.split())]
    assert incomplete == re.findall(r"L[0-9]{3}", listed)
    assert f"{listed} make a ledger incomplete" in SOURCE.read_text(encoding="utf-8")


@pytest.mark.parametrize("item", LEDGER_EXPLANATIONS, ids=lambda item: item.code)
def test_an_explanation_has_two_to_five_sentences(item: Explanation) -> None:
    assert 2 <= len(re.findall(r"[.](?:\s|$)", item.text)) <= 5
    assert "\n\n" not in item.text


def test_explanations_fit_a_terminal() -> None:
    lines = SOURCE.read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if len(line) > 100] == []


@pytest.mark.parametrize("code", ["L201", "l201"])
def test_explain_prints_the_explanation_of_a_code(code: str) -> None:
    item = explanations()["L201"]

    result = CliRunner().invoke(command, [code])

    assert (result.exit_code, result.stdout) == (0, f"L201  {item.title}\n\n{item.text}\n")


def test_explain_without_a_code_lists_all() -> None:
    listed = CliRunner().invoke(command, []).stdout
    as_json = json.loads(CliRunner().invoke(command, ["--json"]).stdout)

    assert [line[:4] for line in listed.splitlines()] == list(explanations())
    assert [item["code"] for item in as_json] == list(explanations())
