"""`forum-conformance judge` of what is not a ledger of ours, or only a part of one, or one in another wrapping."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from acceptance.judge_command import judge, report_on
from acceptance.samples import FOREIGN, SAMPLES, copy_sample
from acceptance.workflow_folder import Folder
from ledgers import LEDGERS

ONLY_THAT = "it covers nothing else of the artifact; this is not one of the five levels"
BROKEN = "its own chain of hashes is invalid"
FORMATS = {"forum-engine": "forum-engine", "symposium": "symposium", "otel-today": "otel", "otel-older": "otel"}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_record_of_another_program_is_called_by_its_name(name: str) -> None:
    report = report_on(SAMPLES[name])

    reasons = [(level["status"], level["reason"]) for level in report["levels"]]
    assert (report["verdict"], report["foreign"]["format"]) == ("invalid", FORMATS[name])
    assert reasons == [("fail", None), *[("not checked", "it is not a ledger of this format")] * 4]
    assert report["foreign"]["notes"][-1] == f"to convert it to a ledger: forum import {SAMPLES[name]}"
    assert judge(SAMPLES[name])[0] == 3
    assert judge(SAMPLES[name])[1].startswith("invalid: not a forum ledger: it seems to be ")


def test_the_hashes_of_others_are_computed_anew_where_they_can_be() -> None:
    told = {name: report_on(SAMPLES[name])["foreign"]["notes"][:2] for name in SAMPLES}

    assert told == {
        "forum-engine": [
            "its own chain of hashes holds, 6 entries, recomputed; this is not one of the five levels",
            "its bodies have their hashes: 6 in payloads.jsonl",
        ],
        "symposium": [
            f"its transcript_digest is that of its transcript (6 messages); {ONLY_THAT}",
            f"to convert it to a ledger: forum import {SAMPLES['symposium']}",
        ],
        "otel-today": [
            "traces have no digests of their own, so nothing of it was checked",
            f"to convert it to a ledger: forum import {SAMPLES['otel-today']}",
        ],
        "otel-older": [
            "traces have no digests of their own, so nothing of it was checked",
            f"to convert it to a ledger: forum import {SAMPLES['otel-older']}",
        ],
    }


@pytest.mark.parametrize(
    ("name", "file", "old", "new", "note"),
    [
        (
            "forum-engine",
            "entries.jsonl",
            b'"geographer"',
            b'"astronomer"',
            f"{BROKEN}: entry 3 does not follow from the one before, or was changed",
        ),
        (
            "forum-engine",
            "entries.jsonl",
            b'"seq": 4, ',
            b"",
            f"{BROKEN}: line 5 does not have the members of an entry",
        ),
        ("forum-engine", "payloads.jsonl", b"Oder", b"Elbe", "its bodies do not hold: line 4 of payloads.jsonl"),
        ("symposium", "artifact.json", b"Vistula", b"Elbe", "its transcript_digest is not that of its transcript"),
    ],
)
def test_damage_to_records_of_others_is_seen(
    name: str, file: str, old: bytes, new: bytes, note: str, tmp_path: Path
) -> None:
    source = copy_sample(name, tmp_path)
    path = source / file
    path.write_bytes(path.read_bytes().replace(old, new))

    assert any(told.startswith(note) for told in report_on(source)["foreign"]["notes"])


@pytest.mark.parametrize(
    ("content", "format_", "sign"),
    [
        (b"hello\n", "not-json", "the first line is not JSON: Expecting value at column 1"),
        (b"\xff\xfe\x00", "not-json", "byte 0 is not UTF-8"),
        (b" \n\n", "not-json", "nothing but white space"),
        (b'{"a": 1}\nhello\n', "not-json", "a later line is not JSON"),
        (b'{"a": 1, "b": 2}\n', "json", "one JSON document: an object with the members a and b"),
        (b"[\n  1,\n  2\n]", "json", "one JSON document: a list of 2"),
        (b'{"a": 1}\n{"a": 2}\n', "json-lines", "lines of JSON; the first is an object with the members a"),
        (b"[" * 5_000, "not-json", "the first line is not JSON: it is nested too deep"),
    ],
)
def test_what_is_nobodys_ledger_is_told_by_its_form(content: bytes, format_: str, sign: str) -> None:
    report = report_on("-", stdin=content)

    code, out, _ = judge("-", stdin=content)
    assert (report["verdict"], report["foreign"]["format"]) == ("invalid", format_)
    assert report["foreign"]["signs"] == [sign]
    assert (code, out.startswith("invalid: not a forum ledger: it is ")) == (3, True)


BODIES = "a tar of bodies, as bodies.tar is"
PARTS = {
    "bodies.tar": BODIES,
    "checkpoint": "an origin, a size and a root, as a checkpoint has them",
    "wave-plan.json": "a document of the kind WavePlan, as wave-plan.json is",
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_run_directory_is_sent_to_the_directory(name: str, tmp_path: Path) -> None:
    directory = LEDGERS["two_waves"](tmp_path / "run")

    report = report_on(directory / name)

    assert report["foreign"] == {
        "format": "run-part",
        "signs": [PARTS[name]],
        "notes": [
            "it is part of a run directory, and proves nothing alone: the directory is what can be judged",
            f"it is in a run directory; to judge that: forum-conformance judge {directory}",
        ],
    }
    assert judge(directory / name)[1].startswith("invalid: not a forum ledger: it is a part of a run directory\n")


def in_a_tar(directory: Path) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.add(directory / "ledger.jsonl", "run/ledger.jsonl")
        archive.add(directory / "checkpoint", "run/checkpoint")
    return made.getvalue()


def in_a_zip(directory: Path) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.write(directory / "ledger.jsonl", "ledger.jsonl")
    return made.getvalue()


def ledger_bytes(directory: Path) -> bytes:
    return (directory / "ledger.jsonl").read_bytes()


OURS = "every character has two bytes; in UTF-8 it would have the members of a ledger of ours"
WRAPPED: dict[str, tuple[Callable[[Path], bytes], str, str]] = {
    "tar": (in_a_tar, "packed", "a tar with the members run/ledger.jsonl and run/checkpoint"),
    "zip": (in_a_zip, "packed", "the first bytes are those of zip"),
    "gzip": (lambda run: gzip.compress(ledger_bytes(run)), "packed", "the first bytes are those of gzip"),
    "UTF-16": (lambda run: ledger_bytes(run).decode().encode("utf-16"), "utf-16", OURS),
    "UTF-16 without a mark": (lambda run: ledger_bytes(run).decode().encode("utf-16-be"), "utf-16", OURS),
}


@pytest.mark.parametrize("name", ["ledger.jsonl", "given"])
@pytest.mark.parametrize("case", WRAPPED)
def test_a_ledger_in_another_wrapping_is_called_by_that(case: str, name: str, tmp_path: Path) -> None:
    wrap, format_, sign = WRAPPED[case]
    (tmp_path / name).write_bytes(wrap(LEDGERS["two_waves"](tmp_path / "run")))

    report = report_on(tmp_path / name)

    assert (report["foreign"]["format"], report["foreign"]["signs"]) == (format_, [sign])
    assert (report["codes"], report["first_bad_seq"], len(report["findings"])) == (["L102"], 0, 1)


def test_a_ledger_with_cr_at_its_line_ends_is_told_so_in_one_sentence(tmp_path: Path) -> None:
    content = ledger_bytes(LEDGERS["two_waves"](tmp_path / "run"))
    (tmp_path / "copy").write_bytes(content.replace(b"\n", b"\r\n"))

    told = [line for line in judge(tmp_path / "copy")[1].splitlines() if "CR" in line]

    assert len(told) == 1
    assert told[0].startswith("note: its lines end with CR LF, a ledger's with LF alone: ")
    assert report_on(tmp_path / "copy")["codes"] == ["L104"]
    assert "CR LF" not in judge(tmp_path / "run")[1]


def test_an_import_is_called_so_and_not_passed(tmp_path: Path) -> None:
    Folder(tmp_path).forum("import", SAMPLES["otel-older"], "--out", "run")

    assert judge("run", cwd=tmp_path)[1].splitlines()[0].endswith(", imported")
    assert report_on(tmp_path / "run")["status"] == "passed"


@pytest.mark.requirement("LEDGER-SEAL-001")
def test_nothing_at_all_is_incomplete_and_called_empty() -> None:
    report = report_on("-")

    assert (report["verdict"], report["codes"], report["foreign"]["format"]) == ("incomplete", ["L502"], "empty")
    assert judge("-")[0] == 7


def damaged(lines: list[bytes]) -> dict[str, bytes]:
    """A ledger of ours, damaged in ways that leave little of its first line."""
    rest = b"".join(lines[1:])
    return {
        "the first line is torn": lines[0][:40] + b"\n" + rest,
        "the first line is noise": b"\x00\xff\x00\n" + rest,
        "the first line is gone": rest,
        "one line is left": lines[1],
        "one line without its end is left": lines[1][:-1],
        "it is written as people write JSON": b"".join(
            json.dumps(json.loads(line), indent=1).encode() + b"\n" for line in lines
        ),
        "every line has another member": b"".join(line.replace(b'"seq":', b'"sequence":') for line in lines),
    }


@pytest.mark.parametrize("case", damaged([b"{}\n", b"{}\n"]))
def test_a_damaged_ledger_of_ours_is_judged_as_ours(case: str, tmp_path: Path) -> None:
    lines = (LEDGERS["two_waves"](tmp_path / "run") / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    content = damaged(lines)[case]
    (tmp_path / "copy").write_bytes(content)

    report = report_on(tmp_path / "copy")

    assert "foreign" not in report
    assert report == report_on("-", stdin=content)
    assert report["verdict"] == ("incomplete" if case == "one line without its end is left" else "invalid")


def test_a_run_directory_whose_ledger_is_noise_is_still_one(tmp_path: Path) -> None:
    directory = LEDGERS["two_waves"](tmp_path / "run")
    (directory / "ledger.jsonl").write_bytes(b"noise\n")

    report = report_on(directory)

    assert ("foreign" in report, report["codes"]) == (False, ["L102"])


def test_a_run_directory_with_the_entries_of_another_program_is_theirs(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    (directory / "ledger.jsonl").write_bytes((FOREIGN / "forum-engine" / "entries.jsonl").read_bytes())

    assert report_on(directory)["foreign"]["format"] == "forum-engine"
