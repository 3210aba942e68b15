"""`forum import` converts the records of other programs to a ledger that both verifiers accept."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from acceptance.samples import FOREIGN, SAMPLES, copy_sample, file_facts, import_sample, read_entries
from acceptance.workflow_folder import FORUM, Folder, bytes_in
from forum_conformance.judge import judge
from forum_runner.api import TrustedReferences
from forum_runner.app.verification import verify_ledger
from forum_runner.ledger.source import ledger_at

LEVELS = {1: "ok", 2: "ok", 3: "ok", 4: "not checked", 5: "ok"}
FILES = {
    "forum-engine": ["forum-engine/entries.jsonl", "forum-engine/payloads.jsonl"],
    "symposium": ["symposium/artifact.json"],
    "otel-today": ["otel/today.jsonl"],
    "otel-older": ["otel/older.json"],
}
RECORDS = {"forum-engine": 6, "symposium": 8, "otel-today": 3, "otel-older": 1}
CHECKS = {"forum-engine": "ok", "symposium": "ok", "otel-today": "not checked", "otel-older": "not checked"}
# The cause of each record: the record that the source links it to, or the first entry.
CAUSES = {
    "forum-engine": [0, 1, 2, 3, 4, 1],
    "symposium": [0, 1, 1, 3, 1, 1, 1, 7],
    "otel-today": [0, 1, 1],
    "otel-older": [0],
}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize("name", SAMPLES)
def test_both_verifiers_accept_an_import(name: str, folder: Folder) -> None:
    import_sample(folder, SAMPLES[name])

    report = verify_ledger(ledger_at(folder.path / "run"), None, TrustedReferences())
    judged = judge(folder.path / "run")
    assert (str(report.verdict), {level.level: level.status for level in report.levels}) == ("valid", LEVELS)
    assert (str(judged.verdict), {level.number: str(level.status) for level in judged.levels}) == ("valid", LEVELS)


@pytest.mark.requirement("LEDGER-KIND-001")
@pytest.mark.parametrize("name", SAMPLES)
def test_the_first_entry_describes_the_source(name: str, folder: Folder) -> None:
    import_sample(folder, SAMPLES[name])

    first = folder.entries()[0]
    assert first["data"]["mode"] == "imported"
    assert first["data"]["imported"] == {
        "format": name.removesuffix("-today").removesuffix("-older"),
        "files": [file_facts(FOREIGN / file) for file in FILES[name]],
        "records": RECORDS[name],
        "check": CHECKS[name],
    }
    assert b"are only as trustworthy as their source" in folder.body("run", first, "notice")


@pytest.mark.parametrize("name", ["symposium", "otel-today", "otel-older"])
def test_a_small_source_of_one_file_is_kept_unchanged(name: str, folder: Folder) -> None:
    import_sample(folder, SAMPLES[name])

    assert folder.body("run", folder.entries()[0], "source") == (FOREIGN / FILES[name][0]).read_bytes()


def test_the_lines_of_forum_engine_are_kept_unchanged(folder: Folder) -> None:
    import_sample(folder, SAMPLES["forum-engine"])

    records = folder.entries("run", "x-import-entry")
    for body, file in (("record", "entries.jsonl"), ("payload", "payloads.jsonl")):
        stored = b"".join(folder.body("run", entry, body) + b"\n" for entry in records)
        assert stored == (SAMPLES["forum-engine"] / file).read_bytes()


@pytest.mark.parametrize("name", SAMPLES)
def test_the_causes_of_records_follow_the_links_of_the_source(name: str, folder: Folder) -> None:
    import_sample(folder, SAMPLES[name])

    assert [entry["causes"] for entry in folder.entries()[1:-1]] == [[cause] for cause in CAUSES[name]]


@pytest.mark.parametrize(
    ("name", "number", "body", "text"),
    [
        ("forum-engine", 1, "text", "Which rivers flow into the Baltic Sea?"),
        ("forum-engine", 4, "output", "Oder, Weichsel, Düna, Newa"),
        ("symposium", 2, "text", "Which rivers flow into the Baltic Sea?"),
        ("symposium", 7, "text", "Among others: Oder, Vistula, Daugava, Neva."),
        ("otel-today", 2, "instructions", '[{"type": "text", "content": "Answer in one line."}]'),
        ("otel-today", 3, "result", '{"rivers":4}'),
        ("otel-older", 1, "input", '[{"role":"user","content":"And into the North Sea?"}]'),
        ("otel-older", 1, "output", '[{"role":"assistant","content":"Elbe, Weser, Rhein."}]'),
    ],
)
def test_questions_and_answers_are_bodies(name: str, number: int, body: str, text: str, folder: Folder) -> None:
    import_sample(folder, SAMPLES[name])

    assert folder.body("run", folder.entries()[number], body).decode() == text


def test_current_and_older_otel_conventions_are_read(folder: Folder) -> None:
    import_sample(folder, SAMPLES["otel-today"], "today")
    import_sample(folder, SAMPLES["otel-older"], "older")

    today, older = folder.entries("today")[2]["data"], folder.entries("older")[1]["data"]
    names = ("provider", "model", "input_tokens", "cached_input_tokens", "output_tokens", "time")
    assert [today.get(name) for name in names] == ["example", "small-1", 40, 8, 12, "2026-11-15T09:00:00.010000Z"]
    assert [older.get(name) for name in names] == ["example", "small-1", 21, None, 9, "2026-11-15T09:00:02.000000Z"]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_source_gives_the_same_entries_except_for_id_and_time(name: str, folder: Folder) -> None:
    def imported_entries(out: str) -> list[dict[str, Any]]:
        import_sample(folder, SAMPLES[name], out)
        return [
            {key: value for key, value in entry.items() if key not in ("at", "prev", "run")}
            for entry in folder.entries(out)[:-1]
        ]

    assert imported_entries("one") == imported_entries("two")


def test_a_source_can_be_read_from_standard_input(tmp_path: Path) -> None:
    source = SAMPLES["otel-today"].read_bytes()

    subprocess.run([*FORUM, "import", "-", "--out", "run"], cwd=tmp_path, input=source, check=True, capture_output=True)

    data = read_entries(tmp_path / "run")[0]["data"]["imported"]
    assert (data["files"][0]["name"], data["records"]) == ("-", 3)


def test_an_import_is_stored_with_the_runs_and_ignored_by_git(folder: Folder) -> None:
    report = folder.forum("import", SAMPLES["symposium"], "--json").document()

    assert report["directory"] == f".forum/runs/{report['run']}"
    assert folder.forum("verify", report["run"]).code == 0
    assert folder.read(".forum/.gitignore") == "runs/\ncache/\n"


def test_json_output_describes_the_import(folder: Folder) -> None:
    report = folder.forum("import", SAMPLES["forum-engine"], "--out", "run", "--json").document()

    entries = folder.entries()
    assert report == {
        "apiVersion": "forum/v1",
        "kind": "Import",
        "run": entries[0]["run"],
        "directory": "run",
        "head": folder.forum("verify", "run", "--json").document()["head"],
        "format": "forum-engine",
        "records": 6,
        "files": entries[0]["data"]["imported"]["files"],
        "check": "ok",
        "reason": "its hash chain is valid; its payloads match their hashes",
        "remarks": [],
    }


def test_a_trace_with_an_error_is_never_reported_as_passed(folder: Folder) -> None:
    span = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "status": {"code": 2}}
    trace = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    (folder.path / "trace.json").write_text(json.dumps(trace), encoding="utf-8")

    output = folder.forum("import", "trace.json", "--out", "run").out
    summary, log = folder.forum("show", "run").out, folder.forum("log", "run").out.splitlines()

    assert "note: 1 record with status error\n" in output
    assert b"Note: 1 record with status error.\n" in folder.body("run", folder.entries()[0], "notice")
    assert folder.entries()[1]["data"]["status"] == "error"
    assert "ended     imported\n" in summary
    assert (log[1].endswith(" error"), log[2].endswith(" imported")) == (True, True)
    assert "passed" not in summary + "".join(log)


def test_reading_commands_show_the_data_of_the_source(folder: Folder) -> None:
    import_sample(folder, SAMPLES["forum-engine"])

    summary = folder.forum("show", "run").out
    traced = [line.split("runner")[1].strip() for line in folder.forum("trace", "run", "4").out.splitlines()]
    assert (
        "imported  6 records of forum-engine (hashes in the source: ok); only as trustworthy as the source\n" in summary
    )
    assert traced[:4] == [
        "at 2026-11-15 09:00:00.750Z geographer result",
        "at 2026-11-15 09:00:00.500Z dispatch task",
        "at 2026-11-15 09:00:00.250Z dispatch plan",
        "at 2026-11-15 09:00:00.000Z client request",
    ]
    assert len(folder.forum("log", "run", "--task", "list").out.splitlines()) == 3


def test_an_altered_source_is_imported_and_reported_as_invalid(folder: Folder) -> None:
    source = copy_sample("forum-engine", folder.path)
    entries = source / "entries.jsonl"
    entries.write_bytes(entries.read_bytes().replace(b'"geographer"', b'"astronomer"'))

    result = folder.forum("import", source, "--out", "run")

    fault = "its hash chain is broken at entry 3"
    assert (result.code, result.err) == (0, f"forum: the source is invalid: {fault}; imported unchanged\n")
    assert folder.entries()[0]["data"]["imported"]["check"] == "fail"
    assert f"CHECK FAILED: {fault}".encode() in folder.body("run", folder.entries()[0], "notice")


def test_altered_and_missing_payloads_are_distinguished(folder: Folder) -> None:
    source = copy_sample("forum-engine", folder.path)
    payloads = source / "payloads.jsonl"
    lines = payloads.read_bytes().splitlines(keepends=True)

    payloads.write_bytes(b"".join(lines[1:]))
    missing = folder.forum("import", source, "--out", "gone", "--json").document()
    payloads.write_bytes(b"".join(lines).replace(b"Oder", b"Elbe"))
    changed = folder.forum("import", source, "--out", "changed", "--json").document()
    payloads.unlink()
    without_payloads = folder.forum("import", source, "--out", "none", "--json").document()

    one_missing = "its payloads match their hashes (1 missing)"
    assert (missing["check"], missing["reason"].partition("; ")[2]) == ("ok", one_missing)
    assert (changed["check"], changed["reason"]) == (
        "fail",
        "line 4 of payloads.jsonl does not match its hash",
    )
    assert without_payloads["reason"].partition("; ")[2] == "its payloads are missing and were not checked"
    assert folder.entries("gone")[1]["data"]["payload"] == "missing"


def test_a_unicode_line_separator_does_not_end_a_line(folder: Folder) -> None:
    source = copy_sample("forum-engine", folder.path)
    payloads = source / "payloads.jsonl"
    payloads.write_text(payloads.read_text(encoding="utf-8").replace("four of them", "four\u2028of\u0085them"))

    assert folder.forum("import", source, "--out", "run").code == 0
    assert folder.body("run", folder.entries()[5], "reason").decode() == "four\u2028of\u0085them"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("absent", "no file or directory 'absent'"),
        (
            "empty",
            "'empty' contains no entries.jsonl and no artifact.json; to import traces, pass the path of the file",
        ),
        ("run", "'run' is already a run directory"),
        ("run/ledger.jsonl", "'ledger.jsonl' is already a forum ledger"),
        ("notes.json", "unknown format of 'notes.json'"),
        ("nothing.json", "'nothing.json' is empty"),
    ],
)
def test_a_source_that_cannot_be_imported_is_reported(source: str, message: str, folder: Folder) -> None:
    import_sample(folder, SAMPLES["otel-older"])
    (folder.path / "empty").mkdir()
    (folder.path / "notes.json").write_text(json.dumps({"notes": []}))
    (folder.path / "nothing.json").write_text("\n")

    result = folder.forum("import", source, "--out", "new")

    assert (result.code, result.err.partition(" (")[0].strip()) == (2, f"forum: {message}")
    assert not (folder.path / "new").exists()


def test_an_existing_ledger_is_not_changed(folder: Folder) -> None:
    import_sample(folder, SAMPLES["otel-older"])
    before = bytes_in(folder.path / "run")

    result = folder.forum("import", SAMPLES["symposium"], "--out", "run")

    assert result.code == 2
    assert "already exists; choose an empty directory" in result.err
    assert bytes_in(folder.path / "run") == before


def test_the_requested_format_is_enforced(folder: Folder) -> None:
    result = folder.forum("import", SAMPLES["otel-older"], "--format", "symposium", "--out", "run")

    message = "not a symposium artifact: 'canonical_transcript' is missing or is not a list"
    assert (result.code, result.err) == (2, f"forum: cannot import older.json: {message}\n")
