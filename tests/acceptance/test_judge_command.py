"""`forum-conformance judge`: many ledgers at once, and records that are not ours."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from acceptance.running import Folder
from acceptance.samples import FOREIGN, SAMPLES, copy_of
from ledgers import LEDGERS

SCHEMAS = Path(__file__).parents[2] / "schemas" / "v1"
JUDGE = [sys.executable, "-m", "forum_conformance", "judge"]
RUN = "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f"


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    return loaded


REGISTRY: Registry[Any] = Registry().with_resource(
    "verify-report.schema.json", DRAFT202012.create_resource(schema("verify-report.schema.json"))
)
ONE = jsonschema.Draft202012Validator(schema("verify-report.schema.json"))
SEVERAL = jsonschema.Draft202012Validator(schema("verify-reports.schema.json"), registry=REGISTRY)


def judge(*arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None) -> tuple[int, str, str]:
    ended = subprocess.run([*JUDGE, *map(str, arguments)], input=stdin, capture_output=True, cwd=cwd, check=False)
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


def report_on(*arguments: str | Path, stdin: bytes = b"") -> dict[str, Any]:
    report: dict[str, Any] = json.loads(judge("--json", *arguments, stdin=stdin)[1])
    ONE.validate(report)
    return report


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with a ledger that holds, one that was touched, one without its seal, and something else."""
    for name in ("a", "deep/b", "deep/c"):
        LEDGERS["two_waves"](tmp_path / "runs" / name)
    touched = tmp_path / "runs" / "deep" / "b" / "ledger.jsonl"
    touched.write_bytes(touched.read_bytes().replace(b'"mode":"', b'"mode": "', 1))
    unsealed = tmp_path / "runs" / "deep" / "c" / "ledger.jsonl"
    unsealed.write_bytes(b"".join(unsealed.read_bytes().splitlines(keepends=True)[:-1]))
    (tmp_path / "runs" / "deep" / "c" / "checkpoint").unlink()
    (tmp_path / "runs" / "notes").mkdir()
    return tmp_path / "runs"


def test_a_folder_of_run_directories_is_judged_in_the_order_of_their_names(runs: Path) -> None:
    code, out, err = judge("runs", cwd=runs.parent)

    heads = [line for line in out.splitlines() if not line.startswith(" ")]
    entries = len((runs / "a" / "ledger.jsonl").read_bytes().splitlines())
    assert (code, err) == (3, "")
    assert heads == [
        f"valid: runs/a: {entries} entries, run {RUN}, passed",
        f"invalid: runs/deep/b: {entries} entries, run {RUN}, passed",
        f"incomplete: runs/deep/c: {entries - 1} entries, run {RUN}, not sealed",
        "3 in all: 1 valid, 1 invalid, 1 incomplete",
    ]
    assert "  L104 at seq 0: the line is not the RFC 8785 form of what it holds" in out.splitlines()


def test_several_are_told_as_lines_of_json(runs: Path) -> None:
    code, out, _ = judge("--json", runs / "a", runs / "deep", runs / "gone", SAMPLES["forum-engine"])

    lines = [json.loads(line) for line in out.splitlines()]
    for line in lines:
        SEVERAL.validate(line)
    assert code == 3
    assert [line["report"] and line["report"]["verdict"] for line in lines] == [
        "valid",
        "invalid",
        "incomplete",
        None,
        "invalid",
    ]
    assert lines[3]["error"] == f"there is no ledger '{runs / 'gone'}'"
    assert lines[4]["report"]["foreign"]["format"] == "forum-engine"


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["a", "a"], 0),
        (["a", "gone"], 2),
        (["deep/c", "gone", "a"], 7),
        (["a", "deep/c"], 7),
        (["gone", "deep/c", "deep/b"], 3),
    ],
)
def test_the_exit_code_is_the_worst(names: list[str], code: int, runs: Path) -> None:
    assert judge(*(runs / name for name in names))[0] == code


@pytest.mark.parametrize("option", ["--expect-head", "--checkpoint", "--pin"])
def test_what_speaks_of_one_ledger_is_refused_for_several(option: str, runs: Path) -> None:
    value = "0" * 64 if option == "--expect-head" else str(runs / "a" / "checkpoint")

    code, out, err = judge(runs / "a", runs / "deep", option, value)

    assert (code, out) == (2, "")
    assert err == f"forum-conformance: {option} speaks of one ledger, and this judges several\n"


def test_one_key_may_have_signed_the_checkpoints_of_several(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.forum("keygen", "example.org/ci", "-o", "ci.key")
    for name in ("signed", "unsigned"):
        LEDGERS["two_waves"](tmp_path / name)
    folder.forum("checkpoint", "signed", "--key", "ci.key", "-o", "signed/checkpoint")
    (tmp_path / "unsigned" / "checkpoint").unlink()

    code, out, _ = judge("signed", "unsigned", "--key", "ci.key.pub", cwd=tmp_path)

    assert code == 2
    assert [line.partition(":")[0] for line in out.splitlines()] == ["valid", "not judged", "2 in all"]


def test_a_folder_without_any_ledger_is_an_error(tmp_path: Path) -> None:
    assert judge(tmp_path) == (2, "", f"forum-conformance: there is no ledger '{tmp_path}/ledger.jsonl'\n")


ONLY_THAT = "it covers nothing else of the artifact; this is not one of the five levels"
BROKEN = "its own chain of hashes does not hold"
FORMATS = {"forum-engine": "forum-engine", "symposium": "symposium", "otel-today": "otel", "otel-older": "otel"}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_record_of_another_program_is_called_by_its_name(name: str) -> None:
    report = report_on(SAMPLES[name])

    reasons = [(level["status"], level["reason"]) for level in report["levels"]]
    assert (report["verdict"], report["foreign"]["format"]) == ("invalid", FORMATS[name])
    assert reasons == [("fail", None), *[("not checked", "it is not a ledger of this format")] * 4]
    assert report["foreign"]["notes"][-1] == f"to make a ledger of this format from it: forum import {SAMPLES[name]}"
    assert judge(SAMPLES[name])[0] == 3


def test_the_hashes_of_others_are_computed_anew_where_they_can_be() -> None:
    told = {name: report_on(SAMPLES[name])["foreign"]["notes"][:2] for name in SAMPLES}

    assert told == {
        "forum-engine": [
            "its own chain of hashes holds, 6 entries, computed anew; this is not one of the five levels",
            "its bodies have their hashes: 6 in payloads.jsonl",
        ],
        "symposium": [
            f"its transcript_digest is that of its transcript (6 messages); {ONLY_THAT}",
            f"to make a ledger of this format from it: forum import {SAMPLES['symposium']}",
        ],
        "otel-today": [
            "traces have no digests of their own, so nothing of it was checked",
            f"to make a ledger of this format from it: forum import {SAMPLES['otel-today']}",
        ],
        "otel-older": [
            "traces have no digests of their own, so nothing of it was checked",
            f"to make a ledger of this format from it: forum import {SAMPLES['otel-older']}",
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
    source = copy_of(name, tmp_path)
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

    assert (report["verdict"], report["foreign"]["format"]) == ("invalid", format_)
    assert report["foreign"]["signs"] == [sign]
    assert judge("-", stdin=content)[0] == 3


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
