"""With `--progress json`, every line of standard error after the first event is an event."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from acceptance.schema_checks import check_matches_schema
from acceptance.workflow_folder import FORUM, PATIENCE_S, Folder, sh, truncate_after, wait_for

JSON = ("--progress", "json")
GATE = {"question": "Continue?"}
ALLOWED = {"commands": ["sh"], "env": ["PATH"]}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def events(stderr: str) -> list[dict[str, Any]]:
    """The progress events, without ledger entries. Every line must be an event that matches the schema."""
    all_events = [json.loads(line) for line in stderr.splitlines()]
    for event in all_events:
        check_matches_schema("progress-event", event)
    return [event for event in all_events if event["kind"].startswith("progress.")]


def events_of_kind(stderr: str, kind: str) -> list[dict[str, Any]]:
    return [event for event in events(stderr) if event.pop("kind") == f"progress.{kind}"]


def test_reuse_is_reported_with_its_reason(folder: Folder) -> None:
    folder.write({"a": sh("echo one"), "b": sh("cat; exit 1", needs=["a"])})
    assert folder.run(out="first").code == 1

    resumed = folder.forum("resume", "first", "--failed", "--out", "second", *JSON)
    partial = folder.forum("run", "workflow.yaml", "--only", "b", "--base", "first", "--out", "third", *JSON)

    reused = {"task": "a", "fate": "reuse", "reason": "its fingerprint is the same"}
    assert (resumed.code, partial.code) == (1, 1)
    assert events_of_kind(resumed.err, "reuse") == [
        reused,
        {"task": "b", "fate": "run", "reason": "its state in that run is failed"},
    ]
    assert events_of_kind(partial.err, "reuse") == [
        reused,
        {"task": "b", "fate": "run", "reason": "selected with --only or --from"},
    ]


def test_warnings_are_reported_before_the_run(folder: Folder) -> None:
    folder.write({"a": sh("echo one")}, policy={"allow": {**ALLOWED, "agents": ["operator", "nobody"]}})
    plain = folder.forum("run", "workflow.yaml", "--out", "first", "--progress", "plain")

    results = [
        folder.forum("run", "workflow.yaml", "--out", "second", *JSON),
        folder.forum("resume", "first", "--failed", "--out", "third", *JSON),
    ]

    assert "F506" in plain.err
    for result in results:
        first, second, *_ = events(result.err)
        assert (first["finding"]["code"], first["finding"]["severity"]) == ("F506", "warning")
        assert second["kind"] == "progress.opened"


def test_an_error_is_an_event_after_a_warning_and_plain_text_otherwise(folder: Folder) -> None:
    (folder.path / "run").mkdir(parents=True)
    (folder.path / "run" / "mine").touch()
    folder.write({"a": sh("echo one")})
    plain = folder.forum("run", "workflow.yaml", "--out", "run", *JSON)
    folder.write({"a": sh("echo one")}, policy={"allow": {**ALLOWED, "agents": ["operator", "nobody"]}})

    event = folder.forum("run", "workflow.yaml", "--out", "run", *JSON)

    assert plain.code == event.code == 2
    assert events_of_kind(event.err, "error") == [{"text": plain.err.removeprefix("forum: ").strip(), "exit_code": 2}]


def test_resuming_reports_the_state_of_each_task(folder: Folder) -> None:
    folder.write({"a": sh("echo one"), "b": sh("cat", needs=["a"], gate=GATE)})
    assert folder.run().code == 5
    assert folder.forum("gate", "approve", "run", "b", "--by", "ann").code == 0
    folder.write({"a": sh("echo two"), "b": sh("cat", needs=["a"], gate=GATE)})

    result = folder.forum("resume", "run", *JSON)

    hint = "the run keeps its plan; to use the changes, start a new run with 'forum resume --failed'"
    assert result.code == 0, result
    assert [event["text"] for event in events_of_kind(result.err, "notice")] == [
        f"'workflow.yaml' changed since the run started; {hint}",
        "kept (already passed): a",
        "b: approved, not started",
    ]


def test_a_missing_base_is_reported(folder: Folder) -> None:
    folder.write({"a": sh("echo one"), "b": sh("cat", needs=["a"])})
    assert folder.run(out="first").code == 0
    assert folder.run("--only", "b", "--base", "first").code == 0
    truncate_after(folder.path / "run", 3)
    (folder.path / "first").rename(folder.path / "away")

    notices = events_of_kind(folder.forum("resume", "run", *JSON).err, "notice")

    assert notices[0]["text"].endswith("first' does not exist; its remaining results cannot be reused")


def test_repetitions_are_numbered(folder: Folder) -> None:
    folder.write({"a": sh("echo one", gate=GATE)})

    result = folder.forum("run", "workflow.yaml", "--repeat", "3", *JSON)

    opened, repeated, notice = events(result.err)
    assert (result.code, opened["kind"]) == (5, "progress.opened")
    assert repeated == {
        "kind": "progress.repeated",
        "number": 1,
        "of": 3,
        "status": "paused",
        "run": opened["run"],
        "directory": opened["directory"],
    }
    assert notice["text"] == "stopped after run 1 of 3, which was paused or interrupted"


def test_a_wait_is_reported_with_its_end(folder: Folder) -> None:
    folder.write({"a": sh("test -e was-here || { touch was-here; exit 3; }", retry={"attempts": 2, "backoff": "4s"})})

    result = folder.forum("run", "workflow.yaml", "--out", "run", *JSON)

    (waiting,) = events_of_kind(result.err, "waiting")
    second_start = folder.entries("run", "task.started")[1]["at"]
    assert (result.code, waiting["why"]) == (0, "retry of a")
    assert waiting["wait_ms"] <= 4_000
    assert waiting["until"] <= second_start


@pytest.mark.parametrize("times", [1, 2])
def test_the_first_and_the_second_interrupt_are_reported(folder: Folder, times: int) -> None:
    stubborn = "trap 'touch asked-to-end; test $0 -eq 1 && exit' TERM; touch at-work; while :; do sleep 0.1; done"
    folder.write({"a": {"agent": "operator", "run": ["sh", "-c", stubborn, str(times)]}})

    process = folder.start("run", "workflow.yaml", "--out", "run", *JSON)
    wait_for(folder.path / "at-work", process)
    process.send_signal(signal.SIGINT)
    wait_for(folder.path / "asked-to-end", process)
    if times == 2:
        process.send_signal(signal.SIGINT)
    stderr = process.communicate(timeout=PATIENCE_S)[1].decode()

    hint = "interrupted; the run is in 'run'; resume it with: forum resume run"
    assert process.returncode == 130, stderr
    assert events_of_kind(stderr, "stopping") == [{}]
    assert events_of_kind(stderr, "error") == ([{"text": hint, "exit_code": 130}] if times == 2 else [])


def test_output_that_cannot_be_written_is_reported(folder: Folder) -> None:
    folder.write({"a": sh("echo one")})
    nowhere = {"GITHUB_STEP_SUMMARY": str(folder.path / "no/where.md")}
    command = [*FORUM, "run", "workflow.yaml", "--out", "second", *JSON]

    first = folder.forum("run", "workflow.yaml", "--out", "first", *JSON, env=nowhere)
    with Path("/dev/full").open("wb") as full:
        second = subprocess.run(command, cwd=folder.path, stdout=full, stderr=subprocess.PIPE, check=False)

    (unwritten,), (unprinted,) = events_of_kind(first.err, "notice"), events_of_kind(second.stderr.decode(), "notice")
    assert unwritten["text"].startswith("cannot write the step summary: ")
    assert unprinted["text"] == "cannot print the result: No space left on device; the run is in 'second'"
