"""`forum-conformance judge` describes files of other programs, parts of run directories, and packed ledgers."""

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

ONLY_THE_TRANSCRIPT = "it covers nothing else; this check is not part of the five levels"
INVALID_CHAIN = "its own chain of hashes is invalid"
FORMATS = {"forum-engine": "forum-engine", "symposium": "symposium", "otel-today": "otel", "otel-older": "otel"}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_format_of_a_foreign_record_is_named(name: str) -> None:
    report = report_on(SAMPLES[name])

    reasons = [(level["status"], level["reason"]) for level in report["levels"]]
    assert (report["verdict"], report["foreign"]["format"]) == ("invalid", FORMATS[name])
    assert reasons == [("fail", None), *[("not checked", "it is not a ledger of this format")] * 4]
    assert report["foreign"]["notes"][-1] == f"to convert it to a ledger: forum import {SAMPLES[name]}"
    assert judge(SAMPLES[name])[0] == 3
    assert judge(SAMPLES[name])[1].startswith("invalid: not a forum ledger: it looks like ")


def test_the_hashes_of_a_foreign_record_are_recomputed_if_possible() -> None:
    notes = {name: report_on(SAMPLES[name])["foreign"]["notes"][:2] for name in SAMPLES}

    assert notes == {
        "forum-engine": [
            "its own chain of hashes is valid, 6 entries, recomputed; this check is not part of the five levels",
            "its bodies match their hashes: 6 in payloads.jsonl",
        ],
        "symposium": [
            f"its transcript_digest matches its transcript (6 messages); {ONLY_THE_TRANSCRIPT}",
            f"to convert it to a ledger: forum import {SAMPLES['symposium']}",
        ],
        "otel-today": [
            "traces have no digests, so nothing was checked",
            f"to convert it to a ledger: forum import {SAMPLES['otel-today']}",
        ],
        "otel-older": [
            "traces have no digests, so nothing was checked",
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
            f"{INVALID_CHAIN}: entry 3 does not follow from the previous one, or was changed",
        ),
        (
            "forum-engine",
            "entries.jsonl",
            b'"seq": 4, ',
            b"",
            f"{INVALID_CHAIN}: line 5 does not have the members of an entry",
        ),
        ("forum-engine", "payloads.jsonl", b"Oder", b"Elbe", "its bodies are invalid: line 4 of payloads.jsonl"),
        ("symposium", "artifact.json", b"Vistula", b"Elbe", "its transcript_digest does not match its transcript"),
    ],
)
def test_damage_to_a_foreign_record_is_found(
    name: str, file: str, old: bytes, new: bytes, note: str, tmp_path: Path
) -> None:
    source = copy_sample(name, tmp_path)
    path = source / file
    path.write_bytes(path.read_bytes().replace(old, new))

    assert any(line.startswith(note) for line in report_on(source)["foreign"]["notes"])


@pytest.mark.parametrize(
    ("content", "format_", "sign"),
    [
        (b"hello\n", "not-json", "the first line is not JSON: Expecting value at column 1"),
        (b"\xff\xfe\x00", "not-json", "byte 0 is not UTF-8"),
        (b" \n\n", "not-json", "only white space"),
        (b'{"a": 1}\nhello\n', "not-json", "a later line is not JSON"),
        (b'{"a": 1, "b": 2}\n', "json", "one JSON document: an object with the members a and b"),
        (b"[\n  1,\n  2\n]", "json", "one JSON document: a list of 2 items"),
        (b'{"a": 1}\n{"a": 2}\n', "json-lines", "lines of JSON; the first is an object with the members a"),
        (b"[" * 5_000, "not-json", "the first line cannot be parsed as JSON: nested too deeply"),
    ],
)
def test_an_unknown_file_is_described_by_its_format(content: bytes, format_: str, sign: str) -> None:
    report = report_on("-", stdin=content)

    code, out, _ = judge("-", stdin=content)
    assert (report["verdict"], report["foreign"]["format"]) == ("invalid", format_)
    assert report["foreign"]["signs"] == [sign]
    assert (code, out.startswith("invalid: not a forum ledger: it is ")) == (3, True)


BODIES = "a tar archive of bodies, like bodies.tar"
PARTS = {
    "bodies.tar": BODIES,
    "checkpoint": "an origin, a size and a root, like a checkpoint",
    "wave-plan.json": "a document of the kind WavePlan, like wave-plan.json",
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_run_directory_is_reported_with_the_directory_to_judge(name: str, tmp_path: Path) -> None:
    directory = LEDGERS["two_waves"](tmp_path / "run")

    report = report_on(directory / name)

    assert report["foreign"] == {
        "format": "run-part",
        "signs": [PARTS[name]],
        "notes": [
            "it is part of a run directory and proves nothing alone: judge the directory",
            f"it belongs to a run directory; to judge the run: forum-conformance judge {directory}",
        ],
    }
    assert judge(directory / name)[1].startswith("invalid: not a forum ledger: it is a part of a run directory\n")


def as_tar(directory: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(directory / "ledger.jsonl", "run/ledger.jsonl")
        archive.add(directory / "checkpoint", "run/checkpoint")
    return buffer.getvalue()


def as_zip(directory: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.write(directory / "ledger.jsonl", "ledger.jsonl")
    return buffer.getvalue()


def ledger_bytes(directory: Path) -> bytes:
    return (directory / "ledger.jsonl").read_bytes()


UTF_16_LEDGER = "every character has two bytes; in UTF-8 it would have the members of a forum ledger"
WRAPPED: dict[str, tuple[Callable[[Path], bytes], str, str]] = {
    "tar": (as_tar, "packed", "a tar with the members run/ledger.jsonl and run/checkpoint"),
    "zip": (as_zip, "packed", "it begins like a zip file"),
    "gzip": (lambda run: gzip.compress(ledger_bytes(run)), "packed", "it begins like a gzip file"),
    "UTF-16": (lambda run: ledger_bytes(run).decode().encode("utf-16"), "utf-16", UTF_16_LEDGER),
    "UTF-16 without a mark": (lambda run: ledger_bytes(run).decode().encode("utf-16-be"), "utf-16", UTF_16_LEDGER),
}


@pytest.mark.parametrize("name", ["ledger.jsonl", "copy"])
@pytest.mark.parametrize("case", WRAPPED)
def test_a_packed_or_re_encoded_ledger_is_reported_as_such(case: str, name: str, tmp_path: Path) -> None:
    wrap, format_, sign = WRAPPED[case]
    (tmp_path / name).write_bytes(wrap(LEDGERS["two_waves"](tmp_path / "run")))

    report = report_on(tmp_path / name)

    assert (report["foreign"]["format"], report["foreign"]["signs"]) == (format_, [sign])
    assert (report["codes"], report["first_bad_seq"], len(report["findings"])) == (["L102"], 0, 1)


def test_cr_lf_line_endings_are_reported_in_one_note(tmp_path: Path) -> None:
    content = ledger_bytes(LEDGERS["two_waves"](tmp_path / "run"))
    (tmp_path / "copy").write_bytes(content.replace(b"\n", b"\r\n"))

    notes = [line for line in judge(tmp_path / "copy")[1].splitlines() if "CR" in line]

    assert len(notes) == 1
    assert notes[0].startswith("note: its lines end with CR LF, but a ledger's lines end with LF: ")
    assert report_on(tmp_path / "copy")["codes"] == ["L104"]
    assert "CR LF" not in judge(tmp_path / "run")[1]


def test_an_import_is_reported_as_imported_not_passed(tmp_path: Path) -> None:
    Folder(tmp_path).forum("import", SAMPLES["otel-older"], "--out", "run")

    assert judge("run", cwd=tmp_path)[1].splitlines()[0].endswith(", imported")
    assert report_on(tmp_path / "run")["status"] == "passed"


@pytest.mark.requirement("LEDGER-SEAL-001")
def test_empty_input_is_incomplete_and_reported_as_empty() -> None:
    report = report_on("-")

    assert (report["verdict"], report["codes"], report["foreign"]["format"]) == ("incomplete", ["L502"], "empty")
    assert judge("-")[0] == 7


def damaged_ledgers(lines: list[bytes]) -> dict[str, bytes]:
    """Versions of a ledger that are damaged so much that they are hard to recognize as a ledger."""
    rest = b"".join(lines[1:])
    return {
        "the first line is torn": lines[0][:40] + b"\n" + rest,
        "the first line is noise": b"\x00\xff\x00\n" + rest,
        "the first line is missing": rest,
        "only one line remains": lines[1],
        "only an unterminated line remains": lines[1][:-1],
        "it is indented JSON": b"".join(json.dumps(json.loads(line), indent=1).encode() + b"\n" for line in lines),
        "every line has a renamed member": b"".join(line.replace(b'"seq":', b'"sequence":') for line in lines),
    }


@pytest.mark.parametrize("case", damaged_ledgers([b"{}\n", b"{}\n"]))
def test_a_damaged_ledger_is_not_reported_as_foreign(case: str, tmp_path: Path) -> None:
    lines = (LEDGERS["two_waves"](tmp_path / "run") / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    content = damaged_ledgers(lines)[case]
    (tmp_path / "copy").write_bytes(content)

    report = report_on(tmp_path / "copy")

    assert "foreign" not in report
    assert report == report_on("-", stdin=content)
    assert report["verdict"] == ("incomplete" if case == "only an unterminated line remains" else "invalid")


def test_a_run_directory_with_a_corrupt_ledger_is_still_a_run_directory(tmp_path: Path) -> None:
    directory = LEDGERS["two_waves"](tmp_path / "run")
    (directory / "ledger.jsonl").write_bytes(b"noise\n")

    report = report_on(directory)

    assert ("foreign" in report, report["codes"]) == (False, ["L102"])


def test_a_run_directory_with_foreign_entries_is_reported_as_foreign(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    (directory / "ledger.jsonl").write_bytes((FOREIGN / "forum-engine" / "entries.jsonl").read_bytes())

    assert report_on(directory)["foreign"]["format"] == "forum-engine"
