"""Writing a ledger with the library."""

import asyncio
import itertools
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from forum_runner.errors import UsageError
from forum_runner.ledger import (
    Body,
    Durability,
    EntryError,
    GroupCommit,
    LedgerBrokenError,
    LedgerBusyError,
    LedgerWriter,
    Verdict,
    create_ledger,
    ledger_at,
    open_ledger,
    verify,
)
from forum_runner.ledger.entry import NewEntry
from forum_runner.ledger.files import is_being_written

SECOND = 1_000_000


def lines(run_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run_dir / "ledger.jsonl").read_bytes().split(b"\n")[:-1]]


def files(run_dir: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run_dir.iterdir() if path.is_file()}


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.mark.requirement("LEDGER-ENTRY-005")
def test_a_few_lines_of_code_write_a_valid_ledger(run_dir: Path) -> None:
    with create_ledger(run_dir) as ledger:
        seq = ledger.append("x-note", {"count": 3}, bodies={"text": Body.text("three")}, causes=[0], actor="person:ann")
        ledger.seal("passed")

    entry = lines(run_dir)[seq]
    members = (entry["kind"], entry["data"], entry["actor"], entry["causes"])
    assert members == ("x-note", {"count": 3}, "person:ann", [0])
    assert entry["bodies"]["text"] == {
        "bytes": 5,
        "digest": "8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f",
        "type": "text/plain",
    }
    assert verify(ledger_at(run_dir)).verdict is Verdict.VALID


def test_a_body_is_stored_once(run_dir: Path) -> None:
    with create_ledger(run_dir) as ledger:
        for _ in range(3):
            ledger.append("x-note", bodies={"a": Body.text("same"), "b": Body.text("same")})
        ledger.seal("passed")

    with tarfile.open(run_dir / "bodies.tar") as archive:
        assert len(archive.getmembers()) == 1
    assert verify(ledger_at(run_dir)).verdict is Verdict.VALID


def test_entries_staged_together_are_accepted_all_or_none(run_dir: Path) -> None:
    text = {"text": Body.text("the same for both")}
    valid = NewEntry("x-note", {}, text, [], "runner")
    too_long = NewEntry("x-note", {"t": "x" * 70_000}, text, [], "runner")
    with create_ledger(run_dir) as ledger:
        with pytest.raises(EntryError, match="65,535"):
            ledger.stage_trusted([valid, too_long])
        ledger.commit()
        assert [entry["kind"] for entry in lines(run_dir)] == ["run.opened"]

        assert ledger.stage_trusted([valid, valid]) == 2
        ledger.seal("passed")
    assert [entry["kind"] for entry in lines(run_dir)] == ["run.opened", "x-note", "x-note", "run.sealed"]
    assert verify(ledger_at(run_dir)).verdict is Verdict.VALID


@pytest.mark.requirement("LEDGER-WRITE-005")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"n": 2**53}, "53-bit"),
        ({"n": [1, {"m": -(2**60)}]}, "53-bit"),
        ({"n": 0.5}, "not an integer within"),
        ({"n": float("nan")}, "data must consist of"),
        ({"t": "\ud800"}, "surrogates"),
        ({"\udfff": 1}, "surrogates"),
        ({"t": "x" * 70_000}, "65,535"),
        ({"b": b"bytes"}, "bytes"),
        ({1: "key"}, "key"),
    ],
)
def test_data_that_cannot_be_read_back_is_rejected_and_changes_nothing(
    run_dir: Path, data: dict[Any, Any], message: str
) -> None:
    with create_ledger(run_dir) as ledger:
        before = files(run_dir)

        with pytest.raises(EntryError, match=message):
            ledger.append("x-note", data, bodies={"text": Body.text("not stored either")})

        assert files(run_dir) == before
        ledger.append("x-note", {"n": 2**53 - 1})
        ledger.seal("passed")
    assert verify(ledger_at(run_dir)).verdict is Verdict.VALID


def test_data_nested_too_deeply_is_rejected(run_dir: Path) -> None:
    def nested(depth: int) -> Any:
        return [] if depth == 1 else [nested(depth - 1)]

    with create_ledger(run_dir) as ledger:
        ledger.append("x-note", {"deep": nested(62)})
        with pytest.raises(EntryError, match="64 levels deep"):
            ledger.append("x-note", {"deep": nested(63)})
        ledger.seal("passed")

    assert verify(ledger_at(run_dir)).verdict is Verdict.VALID


@pytest.mark.requirement("LEDGER-WRITE-005")
@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        ("wave.opened", {"wave": "one"}, "wave"),
        ("wave.opened", {"wave": 1.0}, "not an integer within"),
        ("wave.opened", {}, "required"),
        ("wave.opened", {"wave": 0, "more": 1}, "more"),
        ("wave.closed", {}, "unknown kind"),
        ("x-", {}, "unknown kind"),
        ("x-Note", {}, "unknown kind"),
        ("run.opened", {}, "must be the first entry"),
    ],
)
def test_an_entry_that_does_not_match_its_kind_is_rejected(
    run_dir: Path, kind: str, data: dict[str, Any], message: str
) -> None:
    with create_ledger(run_dir) as ledger, pytest.raises(EntryError, match=message):
        ledger.append(kind, data)

    assert len(lines(run_dir)) == 1


@pytest.mark.parametrize("causes", [[-1], [1], [0, 5]])
def test_a_cause_must_be_an_earlier_entry(run_dir: Path, causes: list[int]) -> None:
    with create_ledger(run_dir) as ledger, pytest.raises(EntryError, match="causes"):
        ledger.append("x-note", causes=causes)


@pytest.mark.parametrize("actor", ["", "ann", "person:", "person:a b", "person:é", "agent:" + "x" * 300])
def test_an_actor_must_be_the_runner_an_agent_or_a_person(run_dir: Path, actor: str) -> None:
    with create_ledger(run_dir) as ledger, pytest.raises(EntryError, match="invalid actor"):
        ledger.append("x-note", actor=actor)


def test_quotes_in_an_actor_are_escaped(run_dir: Path) -> None:
    with create_ledger(run_dir) as ledger:
        ledger.append("x-note", actor='person:"ann\\')
        ledger.seal("passed")

    assert lines(run_dir)[1]["actor"] == 'person:"ann\\'
    assert verify(ledger_at(run_dir)).verdict is Verdict.VALID


@pytest.mark.requirement("LEDGER-CHAIN-003")
def test_a_sealed_ledger_accepts_only_user_entries(run_dir: Path) -> None:
    with create_ledger(run_dir) as ledger:
        ledger.seal("passed")
        with pytest.raises(EntryError, match="sealed"):
            ledger.append("wave.opened", {"wave": 0})
        ledger.append("x-remark", {"late": True}, bodies={"text": Body(b"")})
        assert verify(ledger_at(run_dir)).verdict is Verdict.INCOMPLETE
        ledger.seal("passed")

    assert verify(ledger_at(run_dir)).verdict is Verdict.VALID


@pytest.mark.requirement("LEDGER-ENTRY-003")
def test_times_in_the_ledger_do_not_go_back_with_the_clock(run_dir: Path) -> None:
    times = iter([5 * SECOND, 9 * SECOND, 3 * SECOND, 10 * SECOND])
    with create_ledger(run_dir, run="01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f", clock=lambda: next(times)) as ledger:
        ledger.append("x-note")
        ledger.append("x-note")
        ledger.append("x-note")

    assert [entry["at"][17:] for entry in lines(run_dir)] == ["05.000000Z", "09.000000Z", "09.000000Z", "10.000000Z"]


@pytest.mark.requirement("LEDGER-WRITE-001")
def test_a_second_writer_gets_an_error_at_once(run_dir: Path) -> None:
    with create_ledger(run_dir), pytest.raises(LedgerBusyError):
        open_ledger(run_dir)

    open_ledger(run_dir).close()


def test_checking_for_a_writer_does_not_lock_the_ledger(run_dir: Path) -> None:
    with create_ledger(run_dir):
        assert is_being_written(run_dir)

    assert not is_being_written(run_dir)
    open_ledger(run_dir).close()


@pytest.mark.requirement("LEDGER-WRITE-002", "LEDGER-WRITE-003")
@pytest.mark.parametrize("durability", list(Durability))
def test_coroutines_share_commits_and_each_waits_for_its_entry(run_dir: Path, durability: Durability) -> None:
    async def write(ledger: LedgerWriter, group: GroupCommit, worker: int) -> None:
        for number in range(20):
            seq = await group.append("x-note", {"worker": worker}, bodies={"b": Body.text(f"{worker} {number}")})
            assert ledger.committed > seq

    async def write_all(ledger: LedgerWriter) -> None:
        group = GroupCommit(ledger)
        await asyncio.gather(*(write(ledger, group, worker) for worker in range(20)))

    with create_ledger(run_dir, durability=durability) as ledger:
        asyncio.run(write_all(ledger))
        ledger.seal("passed")

    assert verify(ledger_at(run_dir)).entries == 402
    assert verify(ledger_at(run_dir)).verdict is Verdict.VALID


def test_cancelling_a_waiting_task_does_not_affect_others(run_dir: Path) -> None:
    async def write(ledger: LedgerWriter) -> int:
        group = GroupCommit(ledger)
        impatient = asyncio.create_task(group.append("x-note", {"n": 1}))
        patient = asyncio.create_task(group.append("x-note", {"n": 2}))
        await asyncio.sleep(0)
        impatient.cancel()
        return await patient

    with create_ledger(run_dir) as ledger:
        assert asyncio.run(write(ledger)) == 2

    assert [entry["data"].get("n") for entry in lines(run_dir)] == [None, 1, 2]


def test_the_plan_and_the_outputs_are_written_next_to_the_ledger(run_dir: Path) -> None:
    plan = b'{"bundle":[],"digest":"' + b"0" * 64 + b'"}'

    with create_ledger(run_dir, wave_plan=plan) as ledger:
        ledger.answer("notes", Body.text("done"))
        ledger.answer("facts", Body.json({"n": 1}))

    assert (run_dir / "wave-plan.json").read_bytes() == plan
    assert (run_dir / "outputs" / "notes.txt").read_bytes() == b"done"
    assert (run_dir / "outputs" / "facts.json").read_bytes() == b'{"n":1}'


@pytest.mark.requirement("LEDGER-BODY-002")
def test_a_short_sensitive_body_cannot_be_guessed_from_its_digest(run_dir: Path) -> None:
    import hashlib

    with create_ledger(run_dir) as ledger:
        for _ in range(2):
            ledger.append("x-note", bodies={"pin": Body.text("4711", is_sensitive=True)})
        ledger.seal("passed")

    committed = [entry["bodies"]["pin"]["digest"] for entry in lines(run_dir)[1:3]]
    guesses = [str(number).encode() for number in range(10_000)]
    tagged = (tag + guess for tag, guess in itertools.product((b"", b"forum:salted:v1\n"), guesses))
    assert committed[0] != committed[1]
    assert not {hashlib.sha256(guess).hexdigest() for guess in tagged} & set(committed)
    with tarfile.open(run_dir / "bodies.tar") as archive:
        contents = [archive.extractfile(member).read() for member in archive]  # type: ignore[union-attr]
    assert [hashlib.sha256(b"forum:salted:v1\n" + content).hexdigest() for content in contents] == committed
    assert [content[32:] for content in contents] == [b"4711", b"4711"]


def test_an_existing_ledger_is_not_overwritten(run_dir: Path) -> None:
    create_ledger(run_dir).close()
    before = files(run_dir)

    with pytest.raises(Exception, match="already exists"):
        create_ledger(run_dir)

    assert files(run_dir) == before


@pytest.mark.requirement("LEDGER-SEAL-002")
def test_a_second_seal_must_have_the_same_status(run_dir: Path) -> None:
    with create_ledger(run_dir) as ledger:
        ledger.seal("passed")
        with pytest.raises(EntryError, match="a different status"):
            ledger.seal("failed")
        ledger.append("x-remark")
        ledger.seal("passed")

    assert verify(ledger_at(run_dir)).verdict is Verdict.VALID


@pytest.mark.parametrize(("kind", "method"), [("run.sealed", "seal"), ("body.redacted", "redact")])
def test_seals_and_redactions_cannot_be_appended_directly(run_dir: Path, kind: str, method: str) -> None:
    with create_ledger(run_dir) as ledger, pytest.raises(EntryError, match=f"use `{method}"):
        ledger.append(kind, {})


@pytest.mark.parametrize("value", [object(), "\ud800", {1: 2}, 1.5])
def test_an_invalid_value_in_a_known_kind_is_an_entry_error(run_dir: Path, value: object) -> None:
    with create_ledger(run_dir) as ledger, pytest.raises(EntryError):
        ledger.append("run.paused", {"reason": value})


def test_a_ledger_is_not_created_next_to_existing_outputs(run_dir: Path) -> None:
    (run_dir / "outputs").mkdir(parents=True)
    (run_dir / "outputs" / "notes.txt").write_text("old")

    with pytest.raises(UsageError, match="outputs' already exists"):
        create_ledger(run_dir)

    assert [path.name for path in run_dir.iterdir()] == ["outputs"]


def test_a_file_named_outputs_prevents_creating_a_ledger(run_dir: Path) -> None:
    run_dir.mkdir()
    (run_dir / "outputs").write_text("mine")

    with pytest.raises(UsageError, match="outputs' already exists"):
        create_ledger(run_dir)


def test_a_failed_creation_removes_only_the_files_it_wrote(run_dir: Path) -> None:
    run_dir.mkdir()
    (run_dir / "wave-plan.json").write_text("mine")

    with pytest.raises(UsageError, match="not a wave plan"):
        create_ledger(run_dir, wave_plan=b"{}", extra_files={"note": b"ours"})

    assert {path.name: path.read_text() for path in run_dir.iterdir()} == {"wave-plan.json": "mine"}


def test_bytes_that_are_not_a_wave_plan_are_rejected(run_dir: Path) -> None:
    with pytest.raises(UsageError, match="not a wave plan"):
        create_ledger(run_dir, wave_plan=b"{}")

    assert not (run_dir / "ledger.jsonl").exists()


@pytest.mark.requirement("LEDGER-WRITE-001")
def test_a_forked_child_cannot_write_the_ledger_of_its_parent(run_dir: Path) -> None:
    with create_ledger(run_dir) as ledger:
        child = os.fork()
        if child == 0:
            try:
                ledger.append("x-note", {"by": "child"})
            except LedgerBrokenError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        ledger.append("x-note", {"by": "parent"})
        ledger.seal("passed")

    assert verify(ledger_at(run_dir)).verdict is Verdict.VALID


def test_appending_to_a_closed_ledger_is_an_error(run_dir: Path) -> None:
    ledger = create_ledger(run_dir)
    ledger.close()

    with pytest.raises(LedgerBrokenError, match="it is closed"):
        ledger.append("x-note")


@pytest.mark.requirement("LEDGER-CHECKPOINT-003")
def test_verification_checks_the_checkpoint_next_to_the_ledger(run_dir: Path, tmp_path: Path) -> None:
    for directory in (run_dir, tmp_path / "other"):
        with create_ledger(directory) as ledger:
            ledger.seal("passed")
    (run_dir / "checkpoint").write_bytes((tmp_path / "other" / "checkpoint").read_bytes())

    assert verify(ledger_at(run_dir)).codes == ("L507",)


@pytest.mark.parametrize("causes", [0, "0", {0}])
def test_causes_must_be_a_list(run_dir: Path, causes: Any) -> None:
    with create_ledger(run_dir) as ledger, pytest.raises(EntryError, match="list"):
        ledger.append("x-note", causes=causes)


def test_a_body_must_not_be_a_plain_string(run_dir: Path) -> None:
    with create_ledger(run_dir) as ledger, pytest.raises(UsageError, match="made by Body"):
        ledger.append("x-note", bodies={"text": "three"})  # type: ignore[dict-item]
