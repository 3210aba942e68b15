"""`forum replay` and `--answers-from`: a run is told again from its record, and nothing is called."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import MODEL, Folder, ask, check_valid, cut_after, sh
from forum_runner.canonical import canonical

Edit = Callable[[list[dict[str, Any]]], None]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def busy(folder: Folder) -> None:
    """Real programs side by side, with what makes a record hard to tell again."""
    quick = {"attempts": 3, "backoff": "5ms", "max_backoff": "5ms"}
    numbers = {"type": "array", "items": {"type": "integer"}}
    tasks = {
        "list": sh("echo '[1, 2, 3]'", output=numbers),
        "each": sh("sleep 0.0$$; echo $$", foreach={"task": "list", "as": "item", "max": 4}),
        "flaky": sh("echo x >> tries; test $(wc -l < tries) -ge 3", retry=quick),
        "fenced": sh("printf '```json\\n{\"a\": 1.50}\\n```\\n'", output={"type": "object"}),
        "secret": sh("cat; echo s >&2", needs=["list"], sensitive=True),
        "checked": sh("echo ok", accept=[{"schema": {"minLength": 1}}, {"command": ["sh", "-c", "cat; cat >&2"]}]),
        "bytes": sh("printf '\\377\\376'", allow_failure=True),
        "killed": sh("kill -9 $$", allow_failure=True),
        "join": sh("cat", needs=["each", "flaky", "fenced", "secret", "checked"]),
    }
    folder.write(tasks, outputs={"join": "join"}, policy={"dispatch": "eager", "max_parallel": 3})


def test_a_run_of_real_programs_is_told_again(folder: Folder) -> None:
    busy(folder)
    result = folder.run()

    told = folder.forum("replay", "run")
    as_json = folder.forum("replay", "run", "--json").document()

    assert result.code == 0, result
    assert (told.code, told.out.startswith("identical: all ")) == (0, True), told
    assert (as_json["same"], as_json["divergence"], as_json["entries"]) == (True, None, len(folder.entries()))
    assert len(folder.lines("tries")) == 3
    check_valid(folder.path / "run")


def test_a_run_that_is_not_finished_is_told_as_far_as_it_goes(folder: Folder) -> None:
    busy(folder)
    folder.run()
    size = len(folder.entries())
    cut_after(folder.path / "run", size - 4)

    told = folder.forum("replay", "run")

    assert (told.code, told.out.startswith("identical: an unfinished run: ")) == (7, True), told


def rechained(directory: Path, edit: Edit) -> None:
    """Writes the ledger anew with an edit, every hash right and the seal too: nothing but the story can tell."""
    ledger = directory / "ledger.jsonl"
    entries = [json.loads(line) for line in ledger.read_bytes().splitlines()]
    edit(entries)
    places = {entry["seq"]: seq for seq, entry in enumerate(entries)}
    lines: list[bytes] = []
    leaves: list[bytes] = []
    before = "0" * 64
    for seq, entry in enumerate(entries):
        if entry["kind"] == "run.sealed":
            entry["data"]["root"] = _root(leaves).hex()
        causes = sorted(places[cause] for cause in entry["causes"] if cause in places)
        line = canonical({**entry, "seq": seq, "prev": before, "causes": causes})
        lines.append(line)
        leaves.append(hashlib.sha256(b"\0" + line).digest())
        before = leaves[-1].hex()
    ledger.write_bytes(b"".join(line + b"\n" for line in lines))
    (directory / "checkpoint").unlink()


def _root(leaves: list[bytes]) -> bytes:
    if len(leaves) == 1:
        return leaves[0]
    half = 1 << ((len(leaves) - 1).bit_length() - 1)
    return hashlib.sha256(b"\1" + _root(leaves[:half]) + _root(leaves[half:])).digest()


def _first(entries: list[dict[str, Any]], kind: str, **data: Any) -> dict[str, Any]:
    return next(e for e in entries if e["kind"] == kind and data.items() <= e["data"].items())


def _reserve_less(entries: list[dict[str, Any]]) -> None:
    _first(entries, "task.started")["data"]["reserved"]["output_tokens"] -= 1


def _another_fingerprint(entries: list[dict[str, Any]]) -> None:
    _first(entries, "task.started", task="b")["data"]["fingerprint"] = "0" * 64


def _skip_what_could_run(entries: list[dict[str, Any]]) -> None:
    """Says that the condition did not hold, of a task that ran."""
    started = _first(entries, "task.started", task="maybe")
    finished = _first(entries, "task.finished", task="maybe")
    result = _first(entries, "task.ended", task="maybe")
    result["data"] |= {"state": "skipped", "reason": "condition"}
    result["causes"] = []
    for entry in (started, finished):
        entries.remove(entry)
    usage = finished["data"]["usage"]
    seal = entries[-1]["data"]
    seal["counts"] |= {"passed": seal["counts"]["passed"] - 1, "skipped": seal["counts"]["skipped"] + 1}
    seal["totals"]["calls"] -= 1
    for name in seal["totals"]:
        seal["totals"][name] -= usage.get(name, 0)


def _cut_more(entries: list[dict[str, Any]]) -> None:
    _first(entries, "context.cut")["data"]["kept_bytes"] -= 1


@pytest.mark.parametrize(
    ("edit", "task"),
    [(_reserve_less, "a"), (_another_fingerprint, "b"), (_skip_what_could_run, "maybe"), (_cut_more, "b")],
)
def test_a_decision_that_the_rules_do_not_make_is_found_where_it_is(folder: Folder, edit: Edit, task: str) -> None:
    tasks = {
        "a": ask("One."),
        "b": ask("Two.", needs=[{"task": "a", "max_bytes": 3}]),
        "maybe": ask("Perhaps.", when={"task": "a", "output": {"const": "done"}}),
    }
    tasks["maybe"]["needs"] = [{"task": "a", "edge": "order"}]
    answers = [{"output": "done", "usage": {"input_tokens": 5, "output_tokens": 3}}]
    folder.write(tasks, roster=MODEL, answers=answers)
    folder.run("--deterministic")
    rechained(folder.path / "run", edit)

    verified = folder.forum("verify", "run", "--json").document()
    told = folder.forum("replay", "run")
    parted = folder.forum("replay", "run", "--json").document()["divergence"]

    # A body that no entry names any more is only left over.
    assert [finding["code"] for finding in verified["findings"]] in ([], ["L310"])
    assert told.code == 3, told
    assert told.out.startswith(f"replay diverges at entry {parted['seq']}\n")
    assert parted["recorded"] == {name: folder.entries()[parted["seq"]][name] for name in parted["recorded"]}
    assert task in (parted["recorded"]["data"]["task"], parted["replayed"]["data"]["task"])


def test_a_damaged_ledger_is_not_told(folder: Folder) -> None:
    folder.write({"a": ask("One.")}, roster=MODEL, answers=[{"output": "done"}])
    folder.run("--deterministic")
    ledger = folder.path / "run/ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"attempt":1', b'"attempt":2', 1))

    told = folder.forum("replay", "run")
    answers = folder.run("--answers-from", "run", out="second")

    assert (told.code, answers.code) == (3, 3), (told, answers)
    assert not (folder.path / "second").exists()


def test_what_was_redacted_cannot_be_told_again(folder: Folder) -> None:
    folder.write({"a": ask("One.")}, roster=MODEL, answers=[{"output": "done"}])
    folder.run("--deterministic")
    seq = folder.entries("run", "task.finished")[0]["seq"]
    folder.forum("redact", "run", "--seq", str(seq), "--body", "output", "--reason", "private", "--by", "ann")

    told = folder.forum("replay", "run")

    assert told.code == 2
    assert "bodies of the run were redacted" in told.err


def test_answers_of_an_earlier_run_give_the_same_results_and_call_nobody(folder: Folder) -> None:
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
    without = folder.run("--answers-from", "first", out="third")

    assert (first.code, second.code, without.code) == (0, 0, 0), (first, second, without)
    assert folder.lines("effects") == before
    assert folder.read("second/outputs/b.txt") == folder.read("first/outputs/b.txt")
    assert folder.entries("second")[0]["data"]["mode"] == "scripted"
    for name in ("first", "second", "third"):
        check_valid(folder.path / name)


def test_a_changed_instruction_has_no_recorded_answer_and_is_told_how_it_differs(folder: Folder) -> None:
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
    assert 'differs from line 1, column 6 on: recorded "Read it.\\n' in result.out
    assert 'asked "Read all of it.\\n' in result.out
