"""The commands `forum show`, `log`, `trace` and `diff`."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import warm
from fake_ledger.files import ledger_of
from ledgers import EXAMPLES, LEDGERS
from ledgers.example_run import ExampleRun
from ledgers.plans import plan_of

FORUM = [sys.executable, "-m", "forum_runner"]
AT = "2026-11-15T09:00:00.000000Z"
ESCAPE = "\x1b]0;owned\x07\x1b[2J"
GARBAGE = [b"", b"{", b"null", b"[1]", b"\xff\xfe\x00", b'{"seq":1}', b"[" * 3_000, b"\x1b[2Jgarbage"]


def forum(
    *arguments: str | Path, cwd: Path, stdin: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, **(env or {})}
    if not stdin:
        return warm.call("forum", *arguments, cwd=cwd, env=environment)
    command = [*FORUM, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, check=False, env=environment)


def stdout_of(*arguments: str | Path, cwd: Path, stdin: bytes = b"") -> str:
    result = forum(*arguments, cwd=cwd, stdin=stdin)
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout.decode()


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    for name, write in LEDGERS.items():
        write(folder / name)
    return folder


def write_ledger(path: Path, kind: str, data: dict[str, str], **members: Any) -> bytes:
    """Write a ledger with one entry of this kind, and return its bytes."""
    example = ExampleRun()
    example.add(kind, data, **members)
    ledger = ledger_of(example.lines())
    path.write_bytes(ledger)
    return ledger


@pytest.mark.parametrize("name", LEDGERS)
def test_every_example_can_be_shown_listed_traced_and_compared_with_itself(name: str, examples: Path) -> None:
    ledger = (examples / name / "ledger.jsonl").read_bytes()
    count = ledger.count(b"\n")

    assert stdout_of("show", name, cwd=examples).splitlines()[-1].endswith(f"forum verify {name}")
    assert len(stdout_of("log", name, cwd=examples).splitlines()) == count
    assert stdout_of("trace", name, str(count - 1), cwd=examples).startswith(f"*  {count - 1:>5}  2026-11-15 ")
    assert stdout_of("diff", name, name, cwd=examples).startswith("no difference: same plan, ")


def test_show_summarizes_the_run_from_its_ledger(examples: Path) -> None:
    assert stdout_of("show", "budget_stop", cwd=examples).splitlines()[2:] == [
        "mode      scripted, by pretend-runner 1.0.0",
        "when      2026-11-15 09:00:00.000Z to 2026-11-15 09:00:30.000Z, 30.0s",
        "record    25 entries",
        "spent     4 calls, 990 tokens (80 cached), $0.0042, 4.5s total call time",
        "ended     stopped",
        "",
        "task    state    reason  attempts  agent                        time  tokens     cost  verdicts",
        "draft   passed                  2  writer via large (frontier)  1.8s     670  $0.0042",
        "judged  passed                  1  writer via small (cheap)     2.7s     320           2 pass",
        "last    stopped  budget",
        "total                           3                               4.5s     990  $0.0042",
        "",
        "escalations",
        "  draft: cheap -> frontier",
        "",
        "budget",
        "  draft: attempt 2 used $0.0042, more than the $0.0040 reserved",
        "  stopped by the budget of the agent 'writer': 830 of 2,200 tokens used; the next call needs 1,400",
        "  stopped by the budget of the run: 990 of 3,000 tokens used; the next call needs 1,400",
        "",
        "outputs",
        "  draft: ad82133c9f0add88b60fec03cd358240c9cbd990fd34057f148b3620fbde4ae7 12 bytes text/plain",
        "",
        "Not verified. To verify this ledger: forum verify budget_stop",
    ]


def test_show_json_has_the_totals_and_the_seal(examples: Path) -> None:
    document = json.loads(stdout_of("show", "--json", "escalated", cwd=examples))

    assert (document["kind"], document["end"]["state"]) == ("RunSummary", "sealed")
    assert document["seal"]["totals"].items() <= document["totals"].items()
    assert [task["task"] for task in document["tasks"]] == ["draft", "report"]


def test_show_reports_that_a_run_is_paused_or_has_no_seal(tmp_path: Path) -> None:
    run = ExampleRun(plan_of("gate_approved"))
    run.gate("archive")
    run.write(tmp_path / "open")
    run.pause()
    run.write(tmp_path / "paused")

    assert "ended     no seal: still running, or killed\n" in stdout_of("show", "open", cwd=tmp_path)
    assert "ended     paused (gate)\n" in stdout_of("show", "paused", cwd=tmp_path)
    assert "gates\n  archive: open\n" in stdout_of("show", "paused", cwd=tmp_path)


def test_an_empty_ledger_is_shown_and_listed(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")

    assert "ended     not started: the ledger has no entries\n" in stdout_of("show", "empty", cwd=tmp_path)
    assert json.loads(stdout_of("show", "--json", "empty", cwd=tmp_path))["end"]["state"] == "empty"
    assert stdout_of("log", "empty", cwd=tmp_path) == ""
    assert forum("trace", "empty", "0", cwd=tmp_path).stderr == (b"forum: 'empty' has no entry 0: it has no entries\n")
    assert stdout_of("diff", "empty", "empty", cwd=tmp_path).startswith("no difference")


def test_a_single_damaged_line_is_reported_with_its_place(examples: Path, tmp_path: Path) -> None:
    lines = (examples / "escalated" / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "damaged").write_bytes(b"".join([*lines[:9], b"garbage\n", *lines[9:]]))

    summary = stdout_of("show", "damaged", cwd=tmp_path)
    listed = forum("log", "damaged", cwd=tmp_path)

    assert "damaged   the line where entry 9 should be is not a valid entry\n" in summary
    assert b"forum: 1 damaged line where entry 9 should be; run forum verify damaged\n" in listed.stderr


def test_a_damaged_ledger_is_read_without_a_traceback(examples: Path, tmp_path: Path) -> None:
    lines = (examples / "escalated" / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    data = b"".join([*lines[:9], *(line + b"\n" for line in GARBAGE), *lines[9:], b'{"torn'])
    (tmp_path / "damaged").write_bytes(data)

    summary = stdout_of("show", "damaged", cwd=tmp_path)
    listed = forum("log", "damaged", cwd=tmp_path)
    raw = forum("log", "--json", "damaged", cwd=tmp_path)
    different = forum("diff", "damaged", examples / "escalated", cwd=tmp_path)

    assert f"damaged   {len(GARBAGE)} lines are not valid entries, the first where entry 9 should be\n" in summary
    assert "torn      6 bytes after the last line\n" in summary
    assert summary.endswith("forum verify damaged\n")
    assert b"    9  not a valid entry (0 bytes)\n   10  not a valid entry (1 byte)\n" in listed.stdout
    assert b"forum: 8 damaged lines, the first where entry 9 should be; run forum verify damaged\n" in listed.stderr
    assert raw.stdout == data.removesuffix(b'{"torn')
    assert [result.returncode for result in (listed, raw, different)] == [0, 0, 1]
    assert b"Traceback" not in listed.stderr + raw.stderr + different.stderr
    assert forum("trace", "damaged", "39", cwd=tmp_path).returncode == 0


def test_log_prints_one_line_per_entry(examples: Path) -> None:
    listed = stdout_of("log", "escalated", "--seq", "13..15", cwd=examples)

    assert listed == (
        "   13  2026-11-15 09:00:16.250Z  escalation.raised  draft           runner          "
        "escalated from cheap to capable\n"
        "   14  2026-11-15 09:00:17.500Z  task.started       draft           runner          "
        "attempt 3 by writer via middle (capable)\n"
        "   15  2026-11-15 09:00:18.750Z  task.finished      draft           agent:writer    "
        "attempt 3: ok, 900ms, 160 tokens, $0.0006\n"
    )


def test_log_filters_entries_and_json_repeats_their_bytes(examples: Path) -> None:
    lines = (examples / "two_waves" / "ledger.jsonl").read_bytes().splitlines(keepends=True)

    result = forum("log", "two_waves", "--json", "--kind", "task.*", "--task", "draft", cwd=examples)

    assert result.stdout == b"".join(line for line in lines if b'"task":"draft"' in line and b'"kind":"task.' in line)
    assert forum("log", "two_waves", "--json", cwd=examples).stdout == b"".join(lines)


@pytest.mark.parametrize("options", [[], ["--json"], ["--follow"]])
def test_an_unknown_task_is_an_error_with_a_hint(options: list[str], examples: Path) -> None:
    misspelled = forum("log", "two_waves", "--task", "darft", *options, cwd=examples)
    no_task = forum("log", "user_kinds", "--task", "draft", *options, cwd=examples)

    assert (misspelled.returncode, misspelled.stdout, misspelled.stderr.decode()) == (
        2,
        b"",
        "forum: 'two_waves' has no entries about task 'darft'; did you mean 'draft'?\n",
    )
    assert (no_task.returncode, no_task.stderr.decode()) == (
        2,
        "forum: 'user_kinds' has no entries about task 'draft'; it has no tasks\n",
    )


def test_a_known_task_without_matching_entries_is_not_an_error(examples: Path) -> None:
    only_known = stdout_of("log", "two_waves", "--task", "draft", cwd=examples)
    both = forum("log", "two_waves", "--task", "draft", "--task", "none", cwd=examples)

    assert stdout_of("log", "two_waves", "--task", "draft", "--kind", "gate.*", cwd=examples) == ""
    assert (both.returncode, both.stdout.decode()) == (2, only_known)


def test_a_ledger_can_be_read_from_standard_input(examples: Path) -> None:
    data = (examples / "two_waves" / "ledger.jsonl").read_bytes()

    assert stdout_of("log", "-", cwd=examples, stdin=data) == stdout_of("log", "two_waves", cwd=examples)
    assert stdout_of("trace", "-", "20", cwd=examples, stdin=data) == stdout_of(
        "trace", "two_waves", "20", cwd=examples
    )
    assert stdout_of("diff", "-", "two_waves", cwd=examples, stdin=data).startswith("no difference")
    assert stdout_of("show", "-", cwd=examples, stdin=data).startswith("run       01936b2e-")
    assert forum("diff", "-", "-", cwd=examples).returncode == 2


def test_a_run_is_found_by_a_prefix_of_its_id(tmp_path: Path) -> None:
    run = EXAMPLES["two_waves"]()
    run.write(tmp_path / ".forum" / "runs" / run.run_id)

    assert stdout_of("log", run.run_id[:8], cwd=tmp_path) == stdout_of("log", f".forum/runs/{run.run_id}", cwd=tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "nowhere"],
        ["log", "."],
        ["log", "--follow", "nowhere"],
        ["trace", "nowhere", "0"],
        ["trace", "two_waves", "-1"],
        ["trace", "two_waves", "999"],
        ["diff", "two_waves", "nowhere"],
        ["log", "two_waves", "--seq", "9..3"],
        ["log", "two_waves", "--kind", "taks.*"],
    ],
)
def test_wrong_usage_exits_2_with_one_message(arguments: list[str], examples: Path) -> None:
    result = forum(*arguments, cwd=examples)

    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.splitlines()[-1].startswith(b"forum: ")


def test_control_characters_in_a_ledger_do_not_reach_the_terminal(tmp_path: Path) -> None:
    data = {"text": f"{ESCAPE}\u2028\u0085\x00\x9b31m", "task": f"t{ESCAPE}"}
    ledger = write_ledger(tmp_path / "ledger", "x-note", data, at=AT, actor=f"person:{ESCAPE}")

    for arguments in (["log", "ledger"], ["show", "ledger"], ["trace", "ledger", "1"], ["diff", "ledger", "ledger"]):
        output = run_on_terminal(*arguments, cwd=tmp_path, env={"NO_COLOR": "1"})
        assert not {b"\x1b", b"\x07", b"\x00", b"\xc2\x9b", b"\xc2\x85", b"\xe2\x80\xa8"} & characters(output)
    on_terminal = run_on_terminal("log", "--json", "ledger", cwd=tmp_path, env={})
    assert b"\xc2\x9b" not in on_terminal
    assert forum("log", "--json", "ledger", cwd=tmp_path).stdout == ledger


def characters(data: bytes) -> set[bytes]:
    return {char.encode() for char in data.decode()}


def run_on_terminal(*arguments: str, cwd: Path, env: dict[str, str]) -> bytes:
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    with subprocess.Popen([*FORUM, *arguments], cwd=cwd, stdout=theirs, env={**plain, "TERM": "xterm", **env}):
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 4096):
                parts.append(part)
        except OSError:
            pass  # On Linux, reading fails once the other side is closed.
    os.close(ours)
    return b"".join(parts)


def test_only_terminals_get_color(examples: Path) -> None:
    assert b"\x1b[" in run_on_terminal("show", "escalated", cwd=examples, env={})
    assert b"\x1b[" not in run_on_terminal("show", "escalated", cwd=examples, env={"NO_COLOR": "1"})


def test_a_line_of_a_megabyte_is_listed_and_a_longer_line_is_skipped(tmp_path: Path) -> None:
    ledger = write_ledger(tmp_path / "ledger", "x-long", {"text": "x" * 1_000_000}, at=AT)
    (tmp_path / "ledger").write_bytes(ledger + b"y" * 3_000_000 + b"\n" + ledger.splitlines(keepends=True)[0])

    listed = forum("log", "ledger", cwd=tmp_path)
    raw = forum("log", "--json", "ledger", cwd=tmp_path)

    assert b"    2  not a valid entry (3,000,000 bytes)\n" in listed.stdout
    assert len(listed.stdout.splitlines()) == 4
    assert raw.stdout == ledger + ledger.splitlines(keepends=True)[0]
    assert b"forum: skipped line 2: it has 3,000,000 bytes, too many for an entry\n" in raw.stderr


def test_diff_shows_where_two_runs_diverge(tmp_path: Path) -> None:
    for name, outcome in (("a", "ok"), ("b", "timeout")):
        run = ExampleRun(plan_of("cancelled"))
        run.wave()
        run.start("one")
        _ = run.finish("one", "done") if outcome == "ok" else run.fail("one", outcome)
        run.write(tmp_path / name)

    result = forum("diff", "a", "b", cwd=tmp_path)
    document = json.loads(forum("diff", "--json", "a", "b", cwd=tmp_path).stdout)

    assert result.returncode == 1
    assert result.stdout.decode().splitlines()[0] == "first divergence: task one, entry 2"
    assert "    data.status: ok | error" in result.stdout.decode().splitlines()
    assert (document["same"], document["divergence"]["a"]["seq"]) == (False, 3)


def wait_for(condition: Callable[[], Any]) -> None:
    """Poll with a generous timeout, so that time only decides when to give up."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "gave up waiting"
        time.sleep(0.01)


def test_follow_prints_entries_as_they_are_written_and_ends_with_the_seal(examples: Path, tmp_path: Path) -> None:
    lines = (examples / "two_waves" / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    path, output = tmp_path / "ledger.jsonl", tmp_path / "output"
    path.write_bytes(lines[0] + lines[1][:20])

    with output.open("wb") as stream:
        process = subprocess.Popen([*FORUM, "log", "--follow", "--json", str(path)], stdout=stream)
    wait_for(lambda: output.read_bytes() == lines[0])
    with path.open("ab") as ledger:
        ledger.write(lines[1][20:] + lines[2])
        ledger.flush()
        wait_for(lambda: output.read_bytes() == b"".join(lines[:3]))
        assert process.poll() is None
        ledger.write(b"".join(lines[3:]))

    assert process.wait(timeout=60) == 0
    assert output.read_bytes() == b"".join(lines)


def test_an_interrupt_ends_follow_with_130(examples: Path, tmp_path: Path) -> None:
    first = (examples / "two_waves" / "ledger.jsonl").read_bytes().splitlines(keepends=True)[0]
    (tmp_path / "ledger.jsonl").write_bytes(first)
    output = tmp_path / "output"

    with output.open("wb") as stream:
        command = [*FORUM, "log", "-f", str(tmp_path)]
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.PIPE, preexec_fn=restore_interrupts)
    wait_for(output.read_bytes)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)

    assert (process.returncode, stderr.strip()) == (130, b"forum: interrupted")


def restore_interrupts() -> None:
    """Undo the ignored SIGINT that a shell sets for background processes, such as these tests."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("options", [[], ["--json"], ["--follow"]])
def test_a_reader_may_close_the_pipe_early(options: list[str], examples: Path, tmp_path: Path) -> None:
    data = (examples / "two_waves" / "ledger.jsonl").read_bytes().splitlines(keepends=True)[1] * 20_000
    (tmp_path / "ledger.jsonl").write_bytes(data)

    command = [*FORUM, "log", *options, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == b""
