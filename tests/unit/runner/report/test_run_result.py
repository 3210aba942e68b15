"""The result of a run as text and as JSON."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import convert

from fake_ledger.files import RUN, Body, leaf
from forum_runner.api import TrustedReferences
from forum_runner.app.verification import verify_ledger
from forum_runner.history.read_history import read_history
from forum_runner.ledger.source import ledger_at
from forum_runner.report.next_commands import run_argument
from forum_runner.report.run_context import RunContext
from forum_runner.report.run_result import RunResult, read_result
from forum_runner.report.run_result_json import result_document
from forum_runner.report.run_result_text import render_result
from forum_runner.wave_plan.planned_task import GateRule
from ledgers import EXAMPLES
from ledgers.example_run import ExampleRun
from ledgers.plans import plan_of

TERMINAL_CODES = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
ReadResult = Callable[..., RunResult]


@pytest.fixture
def result_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReadResult:
    """Write an example to the folder `out` and read its result as `forum run` does."""
    monkeypatch.chdir(tmp_path)

    def write(example: ExampleRun, exit_code: int = 0) -> RunResult:
        directory = example.write(Path("out"))
        return read_result(directory, read_history(ledger_at(Path("out"))), exit_code)

    return write


def head_of(example: ExampleRun) -> str:
    return leaf(example.lines()[-1]).hex()


RETRY_LINE = "retry     forum resume out --failed  (a new run that reuses passed results)"


def footer(example: ExampleRun, spent: str, *more: str) -> str:
    head = head_of(example)
    lines = [f"spent     {spent}", "run       out", f"head      {head}"]
    lines += [f"verify    forum verify out --expect-head {head}", *more]
    return "".join(f"{line}\n" for line in lines)


def test_a_passed_run_shows_its_tasks_outputs_and_costs(result_of: ReadResult) -> None:
    example = EXAMPLES["escalated"]()

    assert render_result(result_of(example)) == (
        "passed: 2 passed in 48.7s\n"
        "\n"
        "task    state   attempts  agent   time  tokens     cost\n"
        "draft   passed         5  writer  9.0s   1,600  $0.0065\n"
        "report  passed         3  writer  2.7s     480\n"
        "\n"
        "truncated by max_bytes\n"
        "  report: the first 9 of 17 bytes of draft\n"
        "\n"
        "outputs\n"
        "  report: out/outputs/report.txt (4 bytes)\n"
        "    done\n"
        "\n" + footer(example, "11 calls, 2,080 tokens, $0.0065, 11.7s total call time")
    )


def test_a_run_stopped_by_a_budget_shows_the_exhausted_budgets(result_of: ReadResult) -> None:
    example = EXAMPLES["budget_stop"]()

    assert render_result(result_of(example, 4)) == (
        "stopped (exit 4): 1 stopped, 2 passed in 30.0s\n"
        "\n"
        "task    state    reason  attempts  agent   time  tokens     cost\n"
        "draft   passed                  2  writer  1.8s     670  $0.0042\n"
        "judged  passed                  1  writer  2.7s     320\n"
        "last    stopped  budget\n"
        "\n"
        "draft: attempt 2 used $0.0042, more than the $0.0040 reserved\n"
        "stopped by the budget of the agent 'writer': 830 of 2,200 tokens used; the next call needs 1,400\n"
        "stopped by the budget of the run: 990 of 3,000 tokens used; the next call needs 1,400\n"
        "\n"
        "outputs\n"
        "  draft: out/outputs/draft.txt (12 bytes)\n"
        "    a long draft\n"
        "\n"
        + footer(
            example,
            "4 of 6 calls, 990 of 3,000 tokens, $0.0042 of $0.0100, 300 of 11,000 output bytes, 4.5s total call time",
            RETRY_LINE,
        )
    )


def test_a_failed_run_shows_the_reasons(result_of: ReadResult) -> None:
    example = EXAMPLES["failed_and_tolerated"]()

    assert render_result(result_of(example, 1)) == (
        "failed (exit 1): 2 failed, 1 tolerated, 3 skipped, 2 passed in 35.0s\n"
        "\n"
        "task        state      reason    attempts  agent         time  tokens\n"
        "risky       tolerated  error            1  writer       900ms     160\n"
        "wrong       failed     verdict          1  writer       900ms     160\n"
        "lost        skipped    upstream\n"
        "wrong_list  skipped    upstream\n"
        "none        skipped    upstream\n"
        "list        passed                      1  operator     900ms     160\n"
        "some        failed     failure             2 instances\n"
        "some[0]     passed                      1  writer       900ms     160\n"
        "some[1]     failed     error            1  writer       900ms     160\n"
        "after       passed                      1  writer       900ms     160\n"
        "\n"
        "why\n"
        "  wrong: check 1 failed: because\n"
        "  some[1]: content_filter: some[1]: content_filter\n"
        "  risky: exit_status: risky: exit_status\n"
        "\n"
        "outputs\n"
        "  after: out/outputs/after.txt (10 bytes)\n"
        "    afterwards\n"
        "\n" + footer(example, "6 calls, 960 tokens, 5.4s total call time", RETRY_LINE)
    )


def paused_run() -> ExampleRun:
    example = ExampleRun(plan_of("gate_approved"))
    example.gate("archive")
    example.pass_task("draft", "a draft")
    example.deliver("publish")
    example.gate("publish")
    example.pause()
    return example


def test_a_run_paused_at_gates_shows_how_to_decide_and_resume(result_of: ReadResult) -> None:
    example = paused_run()

    assert render_result(result_of(example, 5)) == (
        "paused at a gate (exit 5): 2 waiting, 1 passed, 1 not started in 8.7s\n"
        "\n"
        "task     state    attempts  agent    time  tokens\n"
        "archive  waiting\n"
        "draft    passed          1  writer  900ms     160\n"
        "publish  waiting\n"
        "and 1 not started\n"
        "\n"
        "outputs\n"
        "  published: not written\n"
        "\n"
        "archive is waiting for a decision until 2026-11-15 10:00:01.250Z, then approve: Keep?\n"
        "  forum gate approve out archive\n"
        "  forum gate reject out archive\n"
        "publish is waiting for a decision: Publish?\n"
        "  forum gate approve out publish\n"
        "  forum gate reject out publish\n"
        "\n" + footer(example, "1 call, 160 tokens, 900ms total call time", "resume    forum resume out")
    )


def test_the_printed_verify_command_verifies_the_run(result_of: ReadResult) -> None:
    result = result_of(EXAMPLES["two_waves"]())

    report = verify_ledger(ledger_at(Path("out")), None, TrustedReferences(result.history.head, None, None, None))

    assert f"forum verify out --expect-head {result.history.head}\n" in render_result(result)
    assert str(report.verdict) == "valid"


@pytest.mark.parametrize(
    ("reason", "exit_code", "status"),
    [("interrupted", 130, "interrupted"), ("gate", 5, "paused"), (None, 130, "interrupted"), (None, 70, "unfinished")],
)
def test_an_unfinished_run_shows_the_resume_command(
    result_of: ReadResult, reason: str | None, exit_code: int, status: str
) -> None:
    example = ExampleRun(plan_of("cancelled"))
    example.wave()
    if reason is not None:
        example.pause(reason)

    result = result_of(example, exit_code)

    assert result.status == status
    assert render_result(result).endswith("\nresume    forum resume out\n")


def test_a_run_in_the_default_directory_is_named_by_its_id() -> None:
    assert run_argument(RUN, Path(".forum/runs") / RUN) == RUN
    assert run_argument(RUN, Path("/elsewhere/.forum/runs") / RUN) == f"/elsewhere/.forum/runs/{RUN}"
    assert run_argument(RUN, Path("elsewhere") / RUN) == f"elsewhere/{RUN}"


def test_a_question_is_one_line_and_shows_its_references() -> None:
    parts = ["Publish\n", {"need": "draft"}, " of ", {"run": "id"}, " with ", {"secret": "key"}, "?\x1b"]
    gate = convert({"question": parts, "on_deadline": "reject"}, GateRule)

    question = RunContext(RUN).question_of(gate)

    assert question == f"Publish ${{{{ needs.draft }}}} of {RUN} with ${{{{ inputs.key }}}}?\ufffd"


def test_an_error_followed_by_a_successful_attempt_is_not_a_failure(result_of: ReadResult) -> None:
    example = ExampleRun(plan_of("cancelled"))
    example.wave()
    example.start("one")
    example.fail("one", "network")
    example.start("one")
    example.finish("one", "first")
    example.end("one", "stopped", "budget")
    example.start("two")
    example.fail("two", "timeout")

    assert {task: str(failure) for task, failure in result_of(example).failures.items()} == {
        "two": "timeout: two: timeout"
    }


def test_only_the_first_line_of_a_detail_is_shown_without_terminal_codes(result_of: ReadResult) -> None:
    example = ExampleRun(plan_of("cancelled"))
    example.wave()
    example.start("one")
    data = {"task": "one", "attempt": 1, "status": "error", "error": "exit_status", "exit_status": 3}
    usage = {"usage": {}, "measured": False}
    example.add("task.finished", {**data, **usage}, bodies={"detail": Body(b"\n  \x1b[31mred\nsecond")})
    example.end("one", "failed", "error")

    assert str(result_of(example).failures["one"]) == "exit_status (exit 3): \ufffd[31mred"


def test_long_ids_do_not_shift_the_columns(result_of: ReadResult) -> None:
    example = ExampleRun()
    names = ["short", f"build[{'x' * 50}=1]"]
    for name in names:
        example.add("task.ended", {"task": name, "state": "passed"})

    heading, *rows = render_result(result_of(example)).splitlines()[2:5]

    assert [row.index("passed") for row in rows] == [heading.index("state")] * 2


def test_sensitive_values_are_not_shown(result_of: ReadResult) -> None:
    example = ExampleRun(plan_of("redacted"))
    example.wave()
    example.pass_task("ask", {"name": "Ada"})
    example.wave()
    example.deliver("use")
    example.start("use")
    data = {"task": "use", "attempt": 1, "status": "error", "error": "malformed", "usage": {}, "measured": False}
    example.add("task.finished", data, bodies={"detail": example.body("Ada said", is_salted=True)})
    example.end("use", "failed", "error")
    example.answer("asked")
    result = result_of(example)

    assert "Ada" not in render_result(result)
    assert "Ada" not in json.dumps(result_document(result))
    assert str(result.failures["use"]) == "malformed"


def test_redacted_outputs_have_no_path(result_of: ReadResult) -> None:
    result = result_of(EXAMPLES["redacted"]())

    assert "  asked: redacted\n  told: out/outputs/told.txt (4 bytes)\n    told\n" in render_result(result)
    assert [output["path"] for output in json.loads(json.dumps(result_document(result)))["outputs"]] == [
        None,
        "out/outputs/told.txt",
        "out/outputs/used.txt",
    ]


@pytest.mark.parametrize(
    ("content", "displayed"),
    [
        (Body(b"one\ntwo\r\nthree\n"), ["one", "two", "three"]),
        (Body(b"1\n2\n3\n4\n"), []),
        (Body(b"x" * 201), []),
        (Body(b"\xff\xfe"), []),
        (Body(b"bytes", "application/octet-stream"), []),
        (Body("\u2028\x1b".encode(), "text/markdown"), ["\ufffd"]),
    ],
)
def test_only_short_texts_are_shown(result_of: ReadResult, content: Body, displayed: list[str]) -> None:
    example = ExampleRun(plan_of("escalated"))
    example.unit("report").output = content
    example.unit("report").ended_seq = 0
    example.answer("report")

    lines = render_result(result_of(example)).split("\n")

    assert [line[4:] for line in lines if line.startswith("    ")] == displayed


def test_long_lists_keep_all_failures_and_limit_passed_and_skipped_tasks(result_of: ReadResult) -> None:
    example = ExampleRun()
    for number in range(300):
        example.add("task.ended", {"task": f"skipped{number}", "state": "skipped", "reason": "upstream"})
    for number in range(100):
        example.add("task.ended", {"task": f"passed{number}", "state": "passed"})
    for number in range(10):
        example.add("task.ended", {"task": f"failed{number}", "state": "failed", "reason": "error"})

    lines = render_result(result_of(example)).splitlines()

    listed = [line.split()[1] for line in lines if line.startswith(("skipped", "passed", "failed"))]
    assert {state: listed.count(state) for state in ("skipped", "passed", "failed")} == {
        "skipped": 190,
        "passed": 40,
        "failed": 10,
    }
    assert "and 110 more skipped" in lines
    assert "and 60 more passed" in lines


def test_time_between_processes_does_not_count(result_of: ReadResult) -> None:
    example = ExampleRun(plan_of("gate_approved"))
    example.gate("archive")
    example.pause()
    example.wait(3_600_000)
    example.resume()
    example.gate("publish")
    example.resume()

    assert result_of(example).history.active_ms == 3_750


def test_time_between_a_kill_and_a_redaction_does_not_count(result_of: ReadResult) -> None:
    example = ExampleRun(plan_of("gate_approved"))
    example.wait(3_600_000)
    example.redact_body(0, "wave_plan", "private")
    example.resume()
    example.gate("archive")

    assert result_of(example).history.active_ms == 1_250


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_rendered_without_terminal_codes(result_of: ReadResult, name: str) -> None:
    result = result_of(EXAMPLES[name]())
    text = json.dumps(result_document(result))
    document = json.loads(text)

    assert TERMINAL_CODES.search(render_result(result)) is None
    assert TERMINAL_CODES.search(text) is None
    assert text.isascii()
    assert document["head"] == head_of(EXAMPLES[name]())
    assert (document["kind"], document["exit_code"], document["status"]) == ("RunResult", 0, document["seal"]["status"])
    assert [task["task"] for task in document["tasks"]] == list(result.history.tasks)


def test_the_json_of_a_paused_run_has_its_gates_and_commands(result_of: ReadResult) -> None:
    document = json.loads(json.dumps(result_document(result_of(paused_run(), 5))))

    assert (document["status"], document["exit_code"], document["workflow"]) == ("paused", 5, "test")
    assert document["resume"] == "forum resume out"
    assert document["counts"] == {"not started": 1, "passed": 1, "waiting": 2}
    assert document["outputs"] == [{"output": "published", "path": None}]
    assert document["gates"][1] == {
        "task": "publish",
        "question": "Publish?",
        "deadline": None,
        "on_deadline": None,
        "approve": "forum gate approve out publish",
        "reject": "forum gate reject out publish",
    }


def test_the_json_of_a_failed_task_has_its_failure(result_of: ReadResult) -> None:
    failed = json.loads(json.dumps(result_document(result_of(EXAMPLES["failed_and_tolerated"](), 1))))

    assert failed["tasks"][1]["failure"] == {"kind": "check 1 failed", "detail": "because"}
    assert failed["tasks"][5]["failure"] is None


def test_the_json_of_a_stopped_run_has_its_limits_and_budget_entries(result_of: ReadResult) -> None:
    document = json.loads(json.dumps(result_document(result_of(EXAMPLES["budget_stop"](), 4))))

    assert document["limits"] == {"calls": 6, "micro_usd": 10_000, "output_bytes": 11_000, "tokens": 3_000}
    assert document["budget"][2] == {
        "seq": 22,
        "kind": "budget.stopped",
        "scope": "run",
        "amount": "tokens",
        "limit": 3000,
        "used": 990,
        "needed": 1400,
    }
