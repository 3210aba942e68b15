"""The result of a run in the step summary of a CI job."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_ledger.files import leaf
from forum_runner.history.read_history import read_history
from forum_runner.ledger.source import ledger_at
from forum_runner.report.run_result import RunResult, read_result
from forum_runner.report.step_summary import MAX_BYTES, append_step_summary, escape_markdown, render_step_summary
from ledgers import EXAMPLES
from ledgers.example_run import ExampleRun


def result_of(example: ExampleRun, directory: Path, exit_code: int = 0) -> RunResult:
    example.write(directory)
    return read_result(directory, read_history(ledger_at(directory)), exit_code)


def test_a_run_stopped_by_a_budget_shows_its_tasks_budgets_and_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example = EXAMPLES["budget_stop"]()
    head = leaf(example.lines()[-1]).hex()

    assert render_step_summary(result_of(example, Path("out"), 4)) == (
        "### forum: test\n"
        "\n"
        "stopped (exit 4): 1 stopped, 2 passed in 30.0s\n"
        "\n"
        "| task | state | reason | attempts | agent | time | tokens | cost |\n"
        "| --- | --- | --- | --: | --- | --: | --: | --: |\n"
        "| draft | passed |  | 2 | writer | 1.8s | 670 | &#36;0.0042 |\n"
        "| judged | passed |  | 1 | writer | 2.7s | 320 |  |\n"
        "| last | stopped | budget |  |  |  |  |  |\n"
        "\n"
        "- draft: attempt 2 used &#36;0.0042, more than the &#36;0.0040 reserved\n"
        "- stopped by the budget of the agent &#39;writer&#39;: 830 of 2,200 tokens used; the next call needs 1,400\n"
        "- stopped by the budget of the run: 990 of 3,000 tokens used; the next call needs 1,400\n"
        "\n"
        "Spent: 4 of 6 calls, 990 of 3,000 tokens, &#36;0.0042 of &#36;0.0100, 300 of 11,000 output bytes, "
        "4.5s total call time\n"
        "\n"
        f"Head of the ledger: <code>{head}</code>\n"
        "\n"
        "```sh\n"
        f"forum verify out --expect-head {head}\n"
        "```\n"
    )


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", "a&#124;b"),
        ("`code`", "&#96;code&#96;"),
        ("<b>&amp;", "&#60;b&#62;&#38;amp;"),
        ("two\nlines\r\n", "two lines"),
        ("\x1b[31m", "\ufffd&#91;31m"),
        ("[x](https://e.org) www.e.org", "&#91;x&#93;(https&#58;//e.org) www&#46;e.org"),
        ("*_~@me #1 :tada: $x$ \\", "&#42;&#95;&#126;&#64;me &#35;1 &#58;tada: &#36;x&#36; &#92;"),
        ("some: 1.5s", "some: 1.5s"),
    ],
)
def test_text_is_escaped_for_markdown(text: str, escaped: str) -> None:
    assert escape_markdown(text) == escaped


@given(st.text())
def test_no_text_can_break_out_of_its_line_or_cell(text: str) -> None:
    assert set(escape_markdown(text)) & set("|`<>\n\r\x1b[]*\\") == set()


def test_tasks_that_do_not_fit_are_counted_and_failures_are_kept(tmp_path: Path) -> None:
    example = ExampleRun()
    for number in range(10_000):
        name = f"{number}{'_' * 70}"
        example.add("task.ended", {"task": name, "state": "passed"})
    example.add("task.ended", {"task": "the-last", "state": "failed", "reason": "error"})

    summary = render_step_summary(result_of(example, tmp_path, 1))

    rows = [line for line in summary.splitlines() if line.startswith("| ")][2:]
    assert 0.95 * MAX_BYTES < len(summary.encode()) <= MAX_BYTES
    assert rows[-1] == "| the-last | failed | error |"
    assert f"\n\nAnd {10_001 - len(rows):,} more, omitted here.\n" in summary


def test_a_paused_run_shows_the_commands_to_resume_it(tmp_path: Path) -> None:
    example = EXAMPLES["gate_approved"]()
    del example.entries[8:]

    summary = render_step_summary(result_of(example, tmp_path, 5))

    assert "\n\nAnd 1 not started.\n\n- archive is waiting for a decision: Keep?\n" in summary
    assert "- publish is waiting for a decision: Publish?\n" in summary
    assert f"\nforum gate approve {tmp_path} publish\n" in summary
    assert summary.endswith(f"\nforum resume {tmp_path}\n```\n")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_rendered(tmp_path: Path, name: str) -> None:
    summary = render_step_summary(result_of(EXAMPLES[name](), tmp_path))

    assert summary.startswith("### forum: ")
    assert summary.count("```") == 2


def test_the_summary_is_appended_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"

    assert append_step_summary(path, "one\n") is None
    assert append_step_summary(path, "zwei ä \udcff\n") is None

    assert path.read_bytes() == b"one\nzwei \xc3\xa4 \\udcff\n"


def test_a_summary_that_cannot_be_written_is_reported_without_an_exception(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * 1_000_000)

    assert append_step_summary(tmp_path, "x") == f"cannot write '{tmp_path}': Is a directory"
    assert append_step_summary(tmp_path / "a" / "b", "x") == f"cannot write '{tmp_path}/a/b': No such file or directory"
    message = append_step_summary(path, "x" * 100_000)
    assert message == f"'{path}' would exceed 1,048,576 bytes, and GitHub would not show it"
    assert path.stat().st_size == 1_000_000
