"""`forum replay` and `--answers-from` repeat a run from its ledger without calls of programs or models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import MODEL, Folder, ask, check_valid, sh, truncate_after
from forum_runner.canonical import canonical

Edit = Callable[[list[dict[str, Any]]], None]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def write_busy_workflow(folder: Folder) -> None:
    """Write a workflow of real, parallel programs whose ledger is hard to replay."""
    fast_retry = {"attempts": 3, "backoff": "5ms", "max_backoff": "5ms"}
    numbers = {"type": "array", "items": {"type": "integer"}}
    tasks = {
        "list": sh("echo '[1, 2, 3]'", output=numbers),
        "each": sh("sleep 0.0$$; echo $$", foreach={"task": "list", "as": "item", "max": 4}),
        "flaky": sh("echo x >> tries; test $(wc -l < tries) -ge 3", retry=fast_retry),
        "fenced": sh("printf '```json\\n{\"a\": 1.50}\\n```\\n'", output={"type": "object"}),
        "secret": sh("cat; echo s >&2", needs=["list"], sensitive=True),
        "checked": sh("echo ok", accept=[{"schema": {"minLength": 1}}, {"command": ["sh", "-c", "cat; cat >&2"]}]),
        "bytes": sh("printf '\\377\\376'", allow_failure=True),
        "killed": sh("kill -9 $$", allow_failure=True),
        "join": sh("cat", needs=["each", "flaky", "fenced", "secret", "checked"]),
    }
    folder.write(tasks, outputs={"join": "join"}, policy={"dispatch": "eager", "max_parallel": 3})


def test_a_run_of_real_programs_can_be_replayed(folder: Folder) -> None:
    write_busy_workflow(folder)
    result = folder.run()

    replayed = folder.forum("replay", "run")
    as_json = folder.forum("replay", "run", "--json").document()

    assert result.code == 0, result
    assert (replayed.code, replayed.out.startswith("identical: all ")) == (0, True), replayed
    assert (as_json["same"], as_json["divergence"], as_json["entries"]) == (True, None, len(folder.entries()))
    assert len(folder.lines("tries")) == 3
    check_valid(folder.path / "run")


def test_an_unfinished_run_is_replayed_to_its_last_entry(folder: Folder) -> None:
    write_busy_workflow(folder)
    folder.run()
    size = len(folder.entries())
    truncate_after(folder.path / "run", size - 4)

    replayed = folder.forum("replay", "run")

    assert (replayed.code, " entries of an unfinished run, " in replayed.out) == (7, True), replayed


def edit_and_rechain(directory: Path, edit: Edit) -> None:
    """Edit the ledger and recompute all hashes and the seal, so that only replay can find the edit."""
    ledger = directory / "ledger.jsonl"
    entries = [json.loads(line) for line in ledger.read_bytes().splitlines()]
    edit(entries)
    positions = {entry["seq"]: seq for seq, entry in enumerate(entries)}
    lines: list[bytes] = []
    leaves: list[bytes] = []
    previous = "0" * 64
    for seq, entry in enumerate(entries):
        if entry["kind"] == "run.sealed":
            entry["data"]["root"] = _root(leaves).hex()
        causes = sorted(positions[cause] for cause in entry["causes"] if cause in positions)
        line = canonical({**entry, "seq": seq, "prev": previous, "causes": causes})
        lines.append(line)
        leaves.append(hashlib.sha256(b"\0" + line).digest())
        previous = leaves[-1].hex()
    ledger.write_bytes(b"".join(line + b"\n" for line in lines))
    (directory / "checkpoint").unlink()


def _root(leaves: list[bytes]) -> bytes:
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << ((len(leaves) - 1).bit_length() - 1)
    return hashlib.sha256(b"\1" + _root(leaves[:split]) + _root(leaves[split:])).digest()


def _first_entry(entries: list[dict[str, Any]], kind: str, **data: Any) -> dict[str, Any]:
    return next(e for e in entries if e["kind"] == kind and data.items() <= e["data"].items())


def _reserve_less(entries: list[dict[str, Any]]) -> None:
    _first_entry(entries, "task.started")["data"]["reserved"]["output_tokens"] -= 1


def _change_fingerprint(entries: list[dict[str, Any]]) -> None:
    _first_entry(entries, "task.started", task="b")["data"]["fingerprint"] = "0" * 64


def _skip_a_runnable_task(entries: list[dict[str, Any]]) -> None:
    """Record a task that ran as skipped by its condition."""
    started = _first_entry(entries, "task.started", task="maybe")
    finished = _first_entry(entries, "task.finished", task="maybe")
    end = _first_entry(entries, "task.ended", task="maybe")
    end["data"] |= {"state": "skipped", "reason": "condition"}
    end["causes"] = []
    for entry in (started, finished):
        entries.remove(entry)
    usage = finished["data"]["usage"]
    seal = entries[-1]["data"]
    seal["counts"] |= {"passed": seal["counts"]["passed"] - 1, "skipped": seal["counts"]["skipped"] + 1}
    seal["totals"]["calls"] -= 1
    for name in seal["totals"]:
        seal["totals"][name] -= usage.get(name, 0)


def _truncate_more(entries: list[dict[str, Any]]) -> None:
    _first_entry(entries, "context.cut")["data"]["kept_bytes"] -= 1


@pytest.mark.parametrize(
    ("edit", "task"),
    [(_reserve_less, "a"), (_change_fingerprint, "b"), (_skip_a_runnable_task, "maybe"), (_truncate_more, "b")],
)
def test_an_entry_that_violates_the_rules_is_located(folder: Folder, edit: Edit, task: str) -> None:
    tasks = {
        "a": ask("One."),
        "b": ask("Two.", needs=[{"task": "a", "max_bytes": 3}]),
        "maybe": ask("Perhaps.", when={"task": "a", "output": {"const": "done"}}),
    }
    tasks["maybe"]["needs"] = [{"task": "a", "edge": "order"}]
    answers = [{"output": "done", "usage": {"input_tokens": 5, "output_tokens": 3}}]
    folder.write(tasks, roster=MODEL, answers=answers)
    folder.run("--deterministic")
    edit_and_rechain(folder.path / "run", edit)

    verified = folder.forum("verify", "run", "--json").document()
    replayed = folder.forum("replay", "run")
    divergence = folder.forum("replay", "run", "--json").document()["divergence"]

    # The edit may leave a body that no entry references.
    assert [finding["code"] for finding in verified["findings"]] in ([], ["L310"])
    assert replayed.code == 3, replayed
    assert replayed.out.startswith(f"replay diverges at entry {divergence['seq']}\n")
    assert divergence["recorded"] == {
        name: folder.entries()[divergence["seq"]][name] for name in divergence["recorded"]
    }
    assert task in (divergence["recorded"]["data"]["task"], divergence["replayed"]["data"]["task"])


def test_a_damaged_ledger_is_not_replayed(folder: Folder) -> None:
    folder.write({"a": ask("One.")}, roster=MODEL, answers=[{"output": "done"}])
    folder.run("--deterministic")
    ledger = folder.path / "run/ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"attempt":1', b'"attempt":2', 1))

    replayed = folder.forum("replay", "run")
    answers = folder.run("--answers-from", "run", out="second")

    assert (replayed.code, answers.code) == (3, 3), (replayed, answers)
    assert not (folder.path / "second").exists()


def test_a_redacted_run_cannot_be_replayed(folder: Folder) -> None:
    folder.write({"a": ask("One.")}, roster=MODEL, answers=[{"output": "done"}])
    folder.run("--deterministic")
    seq = folder.entries("run", "task.finished")[0]["seq"]
    folder.forum("redact", "run", "--seq", str(seq), "--body", "output", "--reason", "private", "--by", "ann")

    replayed = folder.forum("replay", "run")

    assert replayed.code == 2
    assert "bodies of the run were redacted" in replayed.err


def test_answers_from_a_run_give_the_same_results_without_calls(folder: Folder) -> None:
    tasks = {
        "a": sh("echo x >> effects; echo ${{ run.id }} ${{ inputs.token }} >&2; cat"),
        "flaky": sh("echo y >> effects; test $(grep -c y effects) -ge 2", retry={"attempts": 2, "backoff": "5ms"}),
        "b": sh("echo z >> effects; cat", needs=["a"]),
    }
    inputs = {"token": {"type": "string", "secret": True}}
    folder.write(tasks, inputs=inputs, outputs={"b": "b"})
    token = ("--input", "token=0123456789abcdef")
    first = folder.run(*token, out="first")
    before = folder.lines("effects")

    second = folder.run(*token, "--answers-from", "first", out="second")
    without_token = folder.run("--answers-from", "first", out="third")

    assert (first.code, second.code, without_token.code) == (0, 0, 0), (first, second, without_token)
    assert folder.lines("effects") == before
    assert folder.read("second/outputs/b.txt") == folder.read("first/outputs/b.txt")
    assert folder.entries("second")[0]["data"]["mode"] == "scripted"
    for name in ("first", "second", "third"):
        check_valid(folder.path / name)


def test_a_changed_instruction_has_no_recorded_answer_and_the_difference_is_shown(folder: Folder) -> None:
    roster, answers = MODEL, [{"output": "done"}]
    folder.write({"a": ask("Write it."), "b": ask("Read it.", needs=["a"])}, roster=roster, answers=answers)
    folder.run("--deterministic", out="first")
    folder.write({"a": ask("Write it."), "b": ask("Read all of it.", needs=["a"])}, roster=roster, answers=answers)

    result = folder.run("--answers-from", "first")

    assert (result.code, folder.task_states()) == (1, {"a": "passed", "b": "failed: error"}), result
    finished = folder.entries("run", "task.finished")[-1]
    detail = json.loads(folder.body("run", finished, "detail"))["message"]
    assert finished["data"]["error"] == "invalid_request"
    assert "-Read it." in detail
    assert "+Read all of it." in detail
    assert 'first differs at line 1, column 6: recorded "Read it.\\n' in result.out
    assert 'requested "Read all of it.\\n' in result.out
