"""What a run came to: text and JSON, compared whole."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import convert

from fake_ledger.files import RUN, Body, leaf
from forum_runner.api import Trusted
from forum_runner.app.verification import verify_ledger
from forum_runner.history.read_history import read_history
from forum_runner.ledger.source import ledger_at
from forum_runner.report.run_commands import question_of, run_argument
from forum_runner.report.run_result import RunResult, read_result
from forum_runner.report.run_result_json import result_document
from forum_runner.report.run_result_text import render_result
from forum_runner.wave_plan.planned_task import GateRule
from ledgers import EXAMPLES
from ledgers.example_run import ExampleRun
from ledgers.plans import plan_of

STEERING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
Write = Callable[..., RunResult]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a example to the folder `out`, and reads it as `forum run` would."""
    monkeypatch.chdir(tmp_path)

    def write(example: ExampleRun, exit_code: int = 0) -> RunResult:
        directory = example.write(Path("out"))
        return read_result(directory, read_history(ledger_at(Path("out"))), exit_code)

    return write


def head_of(example: ExampleRun) -> str:
    return leaf(example.lines()[-1]).hex()


AGAIN = "again     forum resume out --failed  (a new run that reuses what passed)"


def ending(example: ExampleRun, spent: str, *more: str) -> str:
    head = head_of(example)
    lines = [f"spent     {spent}", "run       out", f"head      {head}"]
    lines += [f"verify    forum verify out --expect-head {head}", *more]
    return "".join(f"{line}\n" for line in lines)


def test_a_run_that_passed(written: Write) -> None:
    example = EXAMPLES["climbing"]()

    assert render_result(written(example)) == (
        "passed: 2 passed, in 48.7s\n"
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
        "\n" + ending(example, "11 calls, 2,080 tokens, $0.0065, 11.7s of work")
    )


def test_a_run_that_a_budget_stopped(written: Write) -> None:
    example = EXAMPLES["budget_stop"]()

    assert render_result(written(example, 4)) == (
        "stopped (exit 4): 1 stopped, 2 passed, in 30.0s\n"
        "\n"
        "task    state    reason  attempts  agent   time  tokens     cost\n"
        "draft   passed                  2  writer  1.8s     670  $0.0042\n"
        "judged  passed                  1  writer  2.7s     320\n"
        "last    stopped  budget\n"
        "\n"
        "draft: attempt 2 used $0.0042, but reserved $0.0040\n"
        "stopped by the budget of the agent 'writer': 830 of 2,200 tokens used, 1,400 tokens more needed\n"
        "stopped by the budget of the run: 990 of 3,000 tokens used, 1,400 tokens more needed\n"
        "\n"
        "outputs\n"
        "  draft: out/outputs/draft.txt (12 bytes)\n"
        "    a long draft\n"
        "\n"
        + ending(
            example,
            "4 of 6 calls, 990 of 3,000 tokens, $0.0042 of $0.0100, 300 of 11,000 output bytes, 4.5s of work",
            AGAIN,
        )
    )


def test_a_run_that_failed_says_why(written: Write) -> None:
    example = EXAMPLES["failed_and_tolerated"]()

    assert render_result(written(example, 1)) == (
        "failed (exit 1): 2 failed, 1 tolerated, 3 skipped, 2 passed, in 35.0s\n"
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
        "\n" + ending(example, "6 calls, 960 tokens, 5.4s of work", AGAIN)
    )


def paused() -> ExampleRun:
    example = ExampleRun(plan_of("gate_approved"))
    example.gate("archive")
    example.do("draft", "a draft")
    example.deliver("publish")
    example.gate("publish")
    example.pause()
    return example


def test_a_run_that_waits_at_gates_says_how_to_decide_and_go_on(written: Write) -> None:
    example = paused()

    assert render_result(written(example, 5)) == (
        "paused at a gate (exit 5): 2 waiting, 1 passed, 1 not started, in 8.7s\n"
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
        "\n" + ending(example, "1 call, 160 tokens, 900ms of work", "resume    forum resume out")
    )


def test_the_line_that_it_gives_verifies_the_run(written: Write) -> None:
    result = written(EXAMPLES["two_waves"]())

    report = verify_ledger(ledger_at(Path("out")), None, Trusted(result.head, None, None, None))

    assert f"forum verify out --expect-head {result.head}\n" in render_result(result)
    assert str(report.verdict) == "valid"


@pytest.mark.parametrize(
    ("reason", "exit_code", "status"),
    [("interrupted", 130, "interrupted"), ("gate", 5, "paused"), (None, 130, "interrupted"), (None, 70, "unfinished")],
)
def test_a_run_that_did_not_end_can_go_on(written: Write, reason: str | None, exit_code: int, status: str) -> None:
    example = ExampleRun(plan_of("cancelled"))
    example.wave()
    if reason is not None:
        example.pause(reason)

    result = written(example, exit_code)

    assert result.status == status
    assert render_result(result).endswith("\nresume    forum resume out\n")


def test_a_run_in_the_default_place_is_named_by_its_id() -> None:
    assert run_argument(RUN, Path(".forum/runs") / RUN) == RUN
    assert run_argument(RUN, Path("/elsewhere/.forum/runs") / RUN) == f"/elsewhere/.forum/runs/{RUN}"
    assert run_argument(RUN, Path("elsewhere") / RUN) == f"elsewhere/{RUN}"


def test_a_question_is_one_line_and_shows_what_it_refers_to() -> None:
    asked = ["Publish\n", {"need": "draft"}, " of ", {"run": "id"}, " with ", {"secret": "key"}, "?\x1b"]
    gate = convert({"question": asked, "on_deadline": "reject"}, GateRule)

    question = question_of(gate, RUN)

    assert question == f"Publish ${{{{ needs.draft }}}} of {RUN} with ${{{{ inputs.key }}}}?\ufffd"


def test_what_failed_and_was_mended_is_no_reason(written: Write) -> None:
    example = ExampleRun(plan_of("cancelled"))
    example.wave()
    example.start("one")
    example.fail("one", "network")
    example.start("one")
    example.finish("one", "first")
    example.end("one", "stopped", "budget")
    example.start("two")
    example.fail("two", "timeout")

    assert {task: str(failure) for task, failure in written(example).failures.items()} == {
        "two": "timeout: two: timeout"
    }


def test_only_the_first_line_of_a_detail_is_told_and_it_cannot_steer_a_terminal(written: Write) -> None:
    example = ExampleRun(plan_of("cancelled"))
    example.wave()
    example.start("one")
    data = {"task": "one", "attempt": 1, "status": "error", "error": "exit_status", "exit_status": 3}
    usage = {"usage": {}, "measured": False}
    example.add("task.finished", {**data, **usage}, bodies={"detail": Body(b"\n  \x1b[31mred\nsecond")})
    example.end("one", "failed", "error")

    assert str(written(example).failures["one"]) == "exit_status (exit 3): \ufffd[31mred"


def test_long_ids_leave_the_columns_where_they_are(written: Write) -> None:
    example = ExampleRun()
    names = ["short", f"build[{'x' * 50}=1]"]
    for name in names:
        example.add("task.ended", {"task": name, "state": "passed"})

    heading, *rows = render_result(written(example)).splitlines()[2:5]

    assert [row.index("passed") for row in rows] == [heading.index("state")] * 2


def test_what_is_sensitive_is_not_told(written: Write) -> None:
    example = ExampleRun(plan_of("redacted"))
    example.wave()
    example.do("ask", {"name": "Ada"})
    example.wave()
    example.deliver("use")
    example.start("use")
    data = {"task": "use", "attempt": 1, "status": "error", "error": "malformed", "usage": {}, "measured": False}
    example.add("task.finished", data, bodies={"detail": example.body("Ada said", salted=True)})
    example.end("use", "failed", "error")
    example.answer("asked")
    result = written(example)

    assert "Ada" not in render_result(result)
    assert "Ada" not in json.dumps(result_document(result))
    assert str(result.failures["use"]) == "malformed"


def test_outputs_that_were_redacted_have_no_place(written: Write) -> None:
    result = written(EXAMPLES["redacted"]())

    assert "  asked: redacted\n  told: out/outputs/told.txt (4 bytes)\n    told\n" in render_result(result)
    assert [form["path"] for form in json.loads(json.dumps(result_document(result)))["outputs"]] == [
        None,
        "out/outputs/told.txt",
        "out/outputs/used.txt",
    ]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (Body(b"one\ntwo\r\nthree\n"), ["one", "two", "three"]),
        (Body(b"1\n2\n3\n4\n"), []),
        (Body(b"x" * 201), []),
        (Body(b"\xff\xfe"), []),
        (Body(b"bytes", "application/octet-stream"), []),
        (Body("\u2028\x1b".encode(), "text/markdown"), ["\ufffd"]),
    ],
)
def test_only_small_texts_are_shown(written: Write, content: Body, shown: list[str]) -> None:
    example = ExampleRun(plan_of("climbing"))
    example.unit("report").output = content
    example.unit("report").ended = 0
    example.answer("report")

    told = render_result(written(example)).split("\n")

    assert [line[4:] for line in told if line.startswith("    ")] == shown


def test_of_many_tasks_some_that_passed_and_all_others_are_listed(written: Write) -> None:
    example = ExampleRun()
    for number in range(300):
        example.add("task.ended", {"task": f"skipped{number}", "state": "skipped", "reason": "upstream"})
    for number in range(100):
        example.add("task.ended", {"task": f"passed{number}", "state": "passed"})
    for number in range(10):
        example.add("task.ended", {"task": f"failed{number}", "state": "failed", "reason": "error"})

    told = render_result(written(example)).splitlines()

    listed = [line.split()[1] for line in told if line.startswith(("skipped", "passed", "failed"))]
    assert {state: listed.count(state) for state in ("skipped", "passed", "failed")} == {
        "skipped": 190,
        "passed": 40,
        "failed": 10,
    }
    assert "and 110 more skipped" in told
    assert "and 60 more passed" in told


def test_time_in_which_no_process_was_at_it_does_not_count(written: Write) -> None:
    example = ExampleRun(plan_of("gate_approved"))
    example.gate("archive")
    example.pause()
    example.wait(3_600_000)
    example.resume()
    example.gate("publish")
    example.resume()

    assert written(example).active_ms == 3_750


def test_time_until_the_record_of_a_killed_process_was_redacted_does_not_count(written: Write) -> None:
    example = ExampleRun(plan_of("gate_approved"))
    example.wait(3_600_000)
    example.redact_body(0, "wave_plan", "private")
    example.resume()
    example.gate("archive")

    assert written(example).active_ms == 1_250


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_told_and_nothing_in_it_steers_a_terminal(written: Write, name: str) -> None:
    result = written(EXAMPLES[name]())
    document = json.dumps(result_document(result))
    form = json.loads(document)

    assert STEERING.search(render_result(result)) is None
    assert STEERING.search(document) is None
    assert document.isascii()
    assert form["head"] == head_of(EXAMPLES[name]())
    assert (form["kind"], form["exit_code"], form["status"]) == ("RunResult", 0, form["seal"]["status"])
    assert [task["task"] for task in form["tasks"]] == list(result.history.tasks)


def test_as_json_a_paused_run_has_its_gates_and_what_to_type(written: Write) -> None:
    form = json.loads(json.dumps(result_document(written(paused(), 5))))

    assert (form["status"], form["exit_code"], form["workflow"]) == ("paused", 5, "test")
    assert form["resume"] == "forum resume out"
    assert form["counts"] == {"not started": 1, "passed": 1, "waiting": 2}
    assert form["outputs"] == [{"output": "published", "path": None}]
    assert form["gates"][1] == {
        "task": "publish",
        "question": "Publish?",
        "deadline": None,
        "on_deadline": None,
        "approve": "forum gate approve out publish",
        "reject": "forum gate reject out publish",
    }


def test_as_json_a_task_has_its_failure_and_the_run_its_limits(written: Write) -> None:
    failed = json.loads(json.dumps(result_document(written(EXAMPLES["failed_and_tolerated"](), 1))))

    assert failed["tasks"][1]["failure"] == {"kind": "check 1 failed", "detail": "because"}
    assert failed["tasks"][5]["failure"] is None


def test_as_json_a_stopped_run_has_what_stopped_it(written: Write) -> None:
    form = json.loads(json.dumps(result_document(written(EXAMPLES["budget_stop"](), 4))))

    assert form["limits"] == {"calls": 6, "micro_usd": 10_000, "output_bytes": 11_000, "tokens": 3_000}
    assert form["budget"][2] == {
        "seq": 22,
        "kind": "budget.stopped",
        "scope": "run",
        "amount": "tokens",
        "limit": 3000,
        "used": 990,
        "needed": 1400,
    }
