"""Records of other programs are recognized and checked."""

import hashlib
import json
import tracemalloc
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from fake_ledger.files import Body
from fake_ledger.ledger_builder import LedgerBuilder
from fake_ledger.run_builder import OPENED
from forum_conformance.foreign.forum_engine import check_chain
from forum_conformance.foreign.members import first_members
from forum_conformance.foreign.recognition import HEAD_BYTES, recognize
from forum_conformance.foreign.symposium import check_transcript
from forum_conformance.judge import ALL_LEVELS, OutsideEvidence, judge
from forum_conformance.targets import judge_target, target_at
from forum_runner.api import TrustedReferences
from forum_runner.app.verification import verify_ledger
from forum_runner.ledger.source import ledger_at
from unit.conformance.judged_run import SEALED

MEBIBYTE = 1 << 20
BIG = json.dumps({"canonical_transcript": ["x" * 100] * 40_000, "schema_version": "1.0.0"}).encode()
NOTICE = Body(b"imported")
FILE = {"name": "entries.jsonl", "bytes": 1, "digest": "0" * 64}
IMPORTED = {"format": "otel", "files": [FILE], "records": 1, "check": "not checked"}


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ('{"a": 1, "b": {"c": 2}, "d": [{"e": 3}]}', {"a", "b", "d"}),
        ('{"a": "b\\": {", "c": 1', {"a", "c"}),
        ('{"\\u0061": 1}', {"a"}),
        ('{"a": {"b', {"a"}),
        ('  {"a":1} {"b":2}', {"a"}),
        ('["a", {"b": 1}]', set()),
        ("", set()),
    ],
)
def test_the_members_of_a_truncated_object_are_found(text: str, members: set[str]) -> None:
    assert first_members(text) == members


def test_a_document_longer_than_the_inspected_head_is_recognized() -> None:
    recognized = recognize(BIG[:HEAD_BYTES], is_named_like_a_ledger=False)

    assert recognized is not None
    assert recognized.format == "symposium"


@pytest.mark.parametrize("before", ["", "x"])
def test_a_head_may_end_inside_a_character(before: str) -> None:
    head = f'{{"text": "{before}{"é" * HEAD_BYTES}'.encode()[:HEAD_BYTES]

    recognized = recognize(head, is_named_like_a_ledger=False)

    assert recognized is not None
    assert recognized.format == "json"


def test_members_of_a_ledger_inside_a_foreign_text_do_not_count() -> None:
    line = json.dumps({"run": 1, "prev": 2, "causes": [], "bodies": {}})
    head = json.dumps({"resourceSpans": [{"log": line}]}).encode()

    recognized = recognize(head, is_named_like_a_ledger=False)

    assert recognized is not None
    assert recognized.format == "otel"


def engine_lines(count: int) -> Iterator[bytes]:
    """Yield a chain in the format of forum-engine, with long actor names."""
    actor, payload, prev = "x" * 60_000, "1" * 64, "0" * 64
    for seq in range(count):
        hashed = "\x1f".join((str(seq), "1.500000", actor, "note", "", payload, prev)).encode()
        entry = {"seq": seq, "ts": 1.5, "actor": actor, "kind": "note", "causal_parent": None}
        entry |= {"payload_hash": payload, "prev_hash": prev, "entry_hash": hashlib.sha256(hashed).hexdigest()}
        prev = str(entry["entry_hash"])
        yield json.dumps(entry).encode() + b"\n"


@pytest.mark.requirement("LEDGER-VERIFY-004")
def test_a_long_foreign_ledger_is_not_kept_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "entries.jsonl"
    with path.open("wb") as stream:
        stream.writelines(engine_lines(300))

    tracemalloc.start()
    try:
        with path.open("rb") as stream:
            chain = check_chain(stream)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (chain.entries, chain.fault) == (300, None)
    assert peak < 4 * MEBIBYTE


def test_a_stream_is_read_once(tmp_path: Path) -> None:
    ledger = LedgerBuilder()
    ledger.add("run.opened", OPENED)
    ledger.add("run.sealed", SEALED)
    directory = ledger.write(tmp_path / "run")

    report = judge_target(
        target_at("-"),
        BytesIO((directory / "ledger.jsonl").read_bytes()),
        levels=ALL_LEVELS,
        evidence=OutsideEvidence(),
    )

    assert (report.verdict, report.foreign) == ("valid", None)


@pytest.mark.requirement("LEDGER-KIND-001")
@pytest.mark.parametrize(
    ("data", "bodies", "codes"),
    [
        ({"mode": "imported", "imported": IMPORTED}, {"notice": NOTICE}, []),
        ({"mode": "imported", "imported": IMPORTED}, {"notice": NOTICE, "source": Body(b"{}")}, []),
        ({"mode": "imported", "imported": IMPORTED}, {}, ["L105"]),
        ({"mode": "live", "imported": IMPORTED}, {"notice": NOTICE}, ["L105"]),
        ({"mode": "imported"}, {}, ["L105"]),
        ({"mode": "live"}, {"notice": NOTICE}, ["L105"]),
        ({"mode": "imported", "imported": {**IMPORTED, "files": []}}, {"notice": NOTICE}, ["L105"]),
        ({"mode": "imported", "imported": {**IMPORTED, "format": "mine"}}, {"notice": NOTICE}, ["L105"]),
    ],
)
def test_both_verifiers_check_an_import_against_its_schema(
    data: dict[str, object], bodies: dict[str, Body], codes: list[str], tmp_path: Path
) -> None:
    ledger = LedgerBuilder()
    ledger.add("run.opened", {**OPENED, **data}, bodies=bodies)
    ledger.add("run.sealed", SEALED)
    directory = ledger.write(tmp_path / "run")

    assert judge(directory).findings.codes() == codes
    assert list(verify_ledger(ledger_at(directory), None, TrustedReferences()).codes) == codes


@pytest.mark.parametrize("transcript", [5, None, True])
def test_an_invalid_transcript_is_reported(transcript: object) -> None:
    artifact = json.dumps({"canonical_transcript": transcript, "transcript_digest": "x"}).encode()

    result = check_transcript(BytesIO(artifact))

    assert result == "its own digest was not checked: the file is not a readable artifact"


def test_a_huge_timestamp_is_reported() -> None:
    entry = {"seq": 0, "actor": "a", "kind": "k", "payload_hash": "p", "prev_hash": "0" * 64, "entry_hash": "e"}
    line = json.dumps(entry)[:-1].encode() + b', "ts": 1' + b"0" * 400 + b"}\n"

    chain = check_chain(BytesIO(line))

    assert (chain.entries, chain.fault) == (0, "line 1 does not have the members of an entry")
