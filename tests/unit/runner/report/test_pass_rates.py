"""Pass rates over several runs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fake_ledger.files import RUN, leaf
from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.read_entry import read_entry
from forum_runner.report.pass_rates import PassRates, compute_pass_rates, pass_rates_document, render_pass_rates
from forum_runner.report.run_context import RunContext
from forum_runner.report.run_result import RunResult
from forum_runner.report.step_pass_rates import render_step_pass_rates
from forum_runner.report.step_summary import MAX_BYTES
from forum_runner.wave_plan.wave_plan_reader import read_wave_plan
from ledgers import EXAMPLES
from ledgers.example_run import ExampleRun
from ledgers.plans import plan_of

RUNS = Path(".forum/runs")


def result_of(example: ExampleRun, until: int | None = None, directory: Path = RUNS / RUN) -> RunResult:
    history, lines = RunHistory(), example.lines()[:until]
    for line in lines:
        entry = read_entry(line)
        assert entry is not None
        history.apply(entry)
    history.head = leaf(lines[-1]).hex()
    return RunResult(directory, history, 0, RunContext(RUN, read_wave_plan(ExampleRun(plan_of("escalated")).plan)))


def rates_of(examples: Sequence[ExampleRun]) -> PassRates:
    return compute_pass_rates([result_of(example) for example in examples])


def document_of(rates: PassRates) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(pass_rates_document(rates)))
    return document


def three_runs() -> PassRates:
    """Return two passed runs and, between them, one that was killed in its first task."""
    ends = ((None, RUN), (12, f"{RUN}.2"), (None, f"{RUN}.3"))
    return compute_pass_rates([result_of(EXAMPLES["escalated"](), until, RUNS / name) for until, name in ends])


COMPLETE_HEAD, KILLED_HEAD = (leaf(EXAMPLES["escalated"]().lines()[last]).hex() for last in (-1, 11))


def test_the_text_report_shows_rates_costs_and_commands() -> None:
    assert render_pass_rates(three_runs()) == (
        "3 runs: 2 of 3 (66.6%) passed; 1 unfinished\n"
        "\n"
        "task    passed          other states   attempts    tokens\n"
        "draft   2 of 3 (66.6%)  1 running      4 (2 to 5)  1,280 (640 to 1,600)\n"
        "report  2 of 3 (66.6%)  1 not started  3           480\n"
        "\n"
        "tokens    1,600 (640 to 2,080) per run\n"
        "cost      $0.0130 total\n"
        "time      27.0s total call time\n"
        f"verify    forum verify {RUNS}/{RUN} --expect-head {COMPLETE_HEAD}\n"
        f"verify    forum verify {RUNS}/{RUN}.2 --expect-head {KILLED_HEAD}\n"
        f"verify    forum verify {RUNS}/{RUN}.3 --expect-head {COMPLETE_HEAD}\n"
        f"resume    forum resume {RUNS}/{RUN}.2\n"
    )


def test_the_json_report_has_rates_heads_and_commands() -> None:
    document = document_of(three_runs())

    assert [run["head"] for run in document["runs"]] == [COMPLETE_HEAD, KILLED_HEAD, COMPLETE_HEAD]
    assert document["runs"][1] == {
        "run": RUN,
        "status": "unfinished",
        "exit_code": 0,
        "directory": f"{RUNS}/{RUN}.2",
        "head": KILLED_HEAD,
        "verify": f"forum verify {RUNS}/{RUN}.2 --expect-head {KILLED_HEAD}",
    }
    assert document["whole"] == {
        "passed": 2,
        "of": 3,
        "percent": 66.6,
        "otherwise": {"unfinished": 1},
        "attempts": {"mean": 6.0, "min": 2, "max": 8},
        "tokens": {"mean": 1600.0, "min": 640, "max": 2080},
    }
    assert document["tasks"][0]["task"] == "draft"
    assert document["tasks"][1]["otherwise"] == {"not started": 1}


def test_interrupted_runs_are_distinguished_from_paused_ones() -> None:
    examples = [ExampleRun(), ExampleRun()]
    for example, reason in zip(examples, ("interrupted", "gate"), strict=True):
        example.pause(reason)

    assert document_of(rates_of(examples))["whole"]["otherwise"] == {"interrupted": 1, "paused": 1}


def test_the_percentage_is_below_100_unless_every_run_passed() -> None:
    results = [result_of(EXAMPLES["no_plan"]())] * 1999 + [result_of(EXAMPLES["cancelled"]())]

    assert render_pass_rates(compute_pass_rates(results)).startswith(
        "2,000 runs: 1,999 of 2,000 (99.9%) passed; 1 cancelled\n"
    )


def test_the_least_reliable_tasks_are_listed_if_there_are_too_many() -> None:
    example = ExampleRun()
    for number in range(250):
        example.add("task.ended", {"task": f"passed{number}", "state": "passed"})
    example.add("task.ended", {"task": "failed", "state": "failed", "reason": "error"})

    lines = render_pass_rates(rates_of([example])).splitlines()

    assert "failed     0 of 1 (0%)    1 failed" in lines
    assert "and 51 more, which passed at least as often" in lines


def test_zero_runs_have_a_rate_of_zero() -> None:
    assert render_pass_rates(compute_pass_rates([])).startswith("0 runs: 0 of 0 (0%) passed\n")


def test_the_step_summary_shows_rates_heads_and_commands() -> None:
    assert render_step_pass_rates(three_runs()) == (
        "### forum: test\n"
        "\n"
        "3 runs: 2 of 3 (66.6%) passed; 1 unfinished\n"
        "\n"
        "| task | passed | other states | attempts | tokens |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| draft | 2 of 3 (66.6%) | 1 running | 4 (2 to 5) | 1,280 (640 to 1,600) |\n"
        "| report | 2 of 3 (66.6%) | 1 not started | 3 | 480 |\n"
        "\n"
        "| run | status | head |\n"
        "| --- | --- | --- |\n"
        f"| {RUNS}/{RUN} | passed | <code>{COMPLETE_HEAD}</code> |\n"
        f"| {RUNS}/{RUN}.2 | unfinished | <code>{KILLED_HEAD}</code> |\n"
        f"| {RUNS}/{RUN}.3 | passed | <code>{COMPLETE_HEAD}</code> |\n"
        "\n"
        "- tokens: 1,600 (640 to 2,080) per run\n"
        "- cost: &#36;0.0130 total\n"
        "- time: 27.0s total call time\n"
        "\n"
        "```sh\n"
        f"forum verify {RUNS}/{RUN} --expect-head {COMPLETE_HEAD}\n"
        f"forum verify {RUNS}/{RUN}.2 --expect-head {KILLED_HEAD}\n"
        f"forum verify {RUNS}/{RUN}.3 --expect-head {COMPLETE_HEAD}\n"
        f"forum resume {RUNS}/{RUN}.2\n"
        "```\n"
    )


def test_a_full_step_summary_keeps_the_runs_that_did_not_pass() -> None:
    passed, cancelled = result_of(EXAMPLES["no_plan"]()), result_of(EXAMPLES["cancelled"]())

    summary = render_step_pass_rates(compute_pass_rates([passed] * 9_999 + [cancelled]))

    rows = [line for line in summary.splitlines() if line.startswith("| .forum")]
    assert rows[-1].endswith(f"| cancelled | <code>{cancelled.history.head}</code> |")
    assert f"\n\nAnd {10_000 - len(rows):,} more, omitted here.\n" in summary
    assert len(summary.encode()) < MAX_BYTES
