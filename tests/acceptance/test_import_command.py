"""`forum import`: records of other programs become a ledger that both verifiers accept."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from acceptance.samples import FOREIGN, SAMPLES, copy_sample, file_facts, import_sample, read_entries
from acceptance.workflow_folder import FORUM, Folder, bytes_in
from forum_conformance.judge import judge
from forum_runner.api import Trusted
from forum_runner.app.verification import verify_ledger
from forum_runner.ledger.source import ledger_at

HELD = {1: "ok", 2: "ok", 3: "ok", 4: "not checked", 5: "ok"}
FILES = {
    "forum-engine": ["forum-engine/entries.jsonl", "forum-engine/payloads.jsonl"],
    "symposium": ["symposium/artifact.json"],
    "otel-today": ["otel/today.jsonl"],
    "otel-older": ["otel/older.json"],
}
RECORDS = {"forum-engine": 6, "symposium": 8, "otel-today": 3, "otel-older": 1}
CHECKS = {"forum-engine": "ok", "symposium": "ok", "otel-today": "not checked", "otel-older": "not checked"}
# The cause of each record: what the source links it to, or the entry that says what was imported.
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
def test_an_import_holds_for_both_verifiers(name: str, folder: Folder) -> None:
    import_sample(folder, SAMPLES[name])

    report = verify_ledger(ledger_at(folder.path / "run"), None, Trusted())
    judged = judge(folder.path / "run")
    assert (str(report.verdict), {level.level: level.status for level in report.levels}) == ("valid", HELD)
    assert (str(judged.verdict), {level.number: str(level.status) for level in judged.levels}) == ("valid", HELD)


@pytest.mark.requirement("LEDGER-KIND-001")
@pytest.mark.parametrize("name", SAMPLES)
def test_the_first_entry_says_what_was_imported(name: str, folder: Folder) -> None:
    import_sample(folder, SAMPLES[name])

    first = folder.entries()[0]
    assert first["data"]["mode"] == "imported"
    assert first["data"]["imported"] == {
        "format": name.removesuffix("-today").removesuffix("-older"),
        "files": [file_facts(FOREIGN / file) for file in FILES[name]],
        "records": RECORDS[name],
        "check": CHECKS[name],
    }
    assert b"is only as trustworthy as their source" in folder.body("run", first, "notice")


@pytest.mark.parametrize("name", ["symposium", "otel-today", "otel-older"])
def test_a_small_source_of_one_file_is_kept_as_it_was(name: str, folder: Folder) -> None:
    import_sample(folder, SAMPLES[name])

    assert folder.body("run", folder.entries()[0], "source") == (FOREIGN / FILES[name][0]).read_bytes()


def test_the_lines_of_forum_engine_are_kept_as_they_were(folder: Folder) -> None:
    import_sample(folder, SAMPLES["forum-engine"])

    records = folder.entries("run", "x-import-entry")
    for body, file in (("record", "entries.jsonl"), ("payload", "payloads.jsonl")):
        kept = b"".join(folder.body("run", entry, body) + b"\n" for entry in records)
        assert kept == (SAMPLES["forum-engine"] / file).read_bytes()


@pytest.mark.parametrize("name", SAMPLES)
def test_records_follow_from_what_the_source_links_them_to(name: str, folder: Folder) -> None:
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
def test_what_was_asked_and_answered_is_a_body(name: str, number: int, body: str, text: str, folder: Folder) -> None:
    import_sample(folder, SAMPLES[name])

    assert folder.body("run", folder.entries()[number], body).decode() == text


def test_facts_are_told_by_the_conventions_of_today_and_by_older_ones(folder: Folder) -> None:
    import_sample(folder, SAMPLES["otel-today"], "today")
    import_sample(folder, SAMPLES["otel-older"], "older")

    today, older = folder.entries("today")[2]["data"], folder.entries("older")[1]["data"]
    wanted = ("provider", "model", "input_tokens", "cached_input_tokens", "output_tokens", "time")
    assert [today.get(name) for name in wanted] == ["example", "small-1", 40, 8, 12, "2026-11-15T09:00:00.010000Z"]
    assert [older.get(name) for name in wanted] == ["example", "small-1", 21, None, 9, "2026-11-15T09:00:02.000000Z"]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_source_gives_the_same_entries_but_for_id_and_time(name: str, folder: Folder) -> None:
    def told(out: str) -> list[dict[str, Any]]:
        import_sample(folder, SAMPLES[name], out)
        return [
            {key: value for key, value in entry.items() if key not in ("at", "prev", "run")}
            for entry in folder.entries(out)[:-1]
        ]

    assert told("one") == told("two")


def test_a_source_may_come_from_standard_input(tmp_path: Path) -> None:
    source = SAMPLES["otel-today"].read_bytes()

    subprocess.run([*FORUM, "import", "-", "--out", "run"], cwd=tmp_path, input=source, check=True, capture_output=True)

    data = read_entries(tmp_path / "run")[0]["data"]["imported"]
    assert (data["files"][0]["name"], data["records"]) == ("-", 3)


def test_a_run_is_kept_where_runs_are_and_out_of_git(folder: Folder) -> None:
    made = folder.forum("import", SAMPLES["symposium"], "--json").document()

    assert made["directory"] == f".forum/runs/{made['run']}"
    assert folder.forum("verify", made["run"]).code == 0
    assert folder.read(".forum/.gitignore") == "runs/\ncache/\n"


def test_json_tells_what_was_made(folder: Folder) -> None:
    made = folder.forum("import", SAMPLES["forum-engine"], "--out", "run", "--json").document()

    entries = folder.entries()
    assert made == {
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


def test_a_trace_with_an_error_is_nowhere_called_passed(folder: Folder) -> None:
    span = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "status": {"code": 2}}
    trace = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    (folder.path / "trace.json").write_text(json.dumps(trace), encoding="utf-8")

    said = folder.forum("import", "trace.json", "--out", "run").out
    shown, log = folder.forum("show", "run").out, folder.forum("log", "run").out.splitlines()

    assert "noted: 1 with status error\n" in said
    assert b"Note: 1 with status error.\n" in folder.body("run", folder.entries()[0], "notice")
    assert folder.entries()[1]["data"]["status"] == "error"
    assert "ended     imported\n" in shown
    assert (log[1].endswith(" error"), log[2].endswith(" imported")) == (True, True)
    assert "passed" not in shown + "".join(log)


def test_reading_commands_tell_what_the_source_told(folder: Folder) -> None:
    import_sample(folder, SAMPLES["forum-engine"])

    shown = folder.forum("show", "run").out
    traced = [line.split("runner")[1].strip() for line in folder.forum("trace", "run", "4").out.splitlines()]
    assert "imported  6 records of forum-engine, its own hashes: ok; only as good as its source\n" in shown
    assert traced[:4] == [
        "at 2026-11-15 09:00:00.750Z geographer result",
        "at 2026-11-15 09:00:00.500Z dispatch task",
        "at 2026-11-15 09:00:00.250Z dispatch plan",
        "at 2026-11-15 09:00:00.000Z client request",
    ]
    assert len(folder.forum("log", "run", "--task", "list").out.splitlines()) == 3


def test_a_source_that_was_changed_is_imported_and_called_so(folder: Folder) -> None:
    source = copy_sample("forum-engine", folder.path)
    entries = source / "entries.jsonl"
    entries.write_bytes(entries.read_bytes().replace(b'"geographer"', b'"astronomer"'))

    result = folder.forum("import", source, "--out", "run")

    fault = "its hash chain is broken at entry 3"
    assert (result.code, result.err) == (0, f"forum: the source is invalid: {fault}; imported unchanged\n")
    assert folder.entries()[0]["data"]["imported"]["check"] == "fail"
    assert f"CHECK FAILED: {fault}".encode() in folder.body("run", folder.entries()[0], "notice")


def test_a_payload_that_was_changed_and_one_that_is_gone_are_told_apart(folder: Folder) -> None:
    source = copy_sample("forum-engine", folder.path)
    payloads = source / "payloads.jsonl"
    lines = payloads.read_bytes().splitlines(keepends=True)

    payloads.write_bytes(b"".join(lines[1:]))
    gone = folder.forum("import", source, "--out", "gone", "--json").document()
    payloads.write_bytes(b"".join(lines).replace(b"Oder", b"Elbe"))
    changed = folder.forum("import", source, "--out", "changed", "--json").document()
    payloads.unlink()
    none = folder.forum("import", source, "--out", "none", "--json").document()

    but_for = "its payloads match their hashes (1 missing)"
    assert (gone["check"], gone["reason"].partition("; ")[2]) == ("ok", but_for)
    assert (changed["check"], changed["reason"]) == (
        "fail",
        "line 4 of payloads.jsonl does not match its hash",
    )
    assert none["reason"].partition("; ")[2] == "its payloads are missing and were not checked"
    assert folder.entries("gone")[1]["data"]["payload"] == "missing"


def test_a_line_separator_in_a_text_ends_no_line(folder: Folder) -> None:
    source = copy_sample("forum-engine", folder.path)
    payloads = source / "payloads.jsonl"
    payloads.write_text(payloads.read_text(encoding="utf-8").replace("four of them", "four\u2028of\u0085them"))

    assert folder.forum("import", source, "--out", "run").code == 0
    assert folder.body("run", folder.entries()[5], "reason").decode() == "four\u2028of\u0085them"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("absent", "there is no file or folder 'absent'"),
        ("empty", "'empty' contains no entries.jsonl and no artifact.json; pass traces as a file"),
        ("run", "'run' is already a run directory of forum"),
        ("run/ledger.jsonl", "'ledger.jsonl' is already a ledger of forum"),
        ("notes.json", "unknown format of 'notes.json'"),
        ("nothing.json", "'nothing.json' is empty"),
    ],
)
def test_what_cannot_be_imported_is_said(source: str, told: str, folder: Folder) -> None:
    import_sample(folder, SAMPLES["otel-older"])
    (folder.path / "empty").mkdir()
    (folder.path / "notes.json").write_text(json.dumps({"notes": []}))
    (folder.path / "nothing.json").write_text("\n")

    result = folder.forum("import", source, "--out", "new")

    assert (result.code, result.err.partition(" (")[0].strip()) == (2, f"forum: {told}")
    assert not (folder.path / "new").exists()


def test_a_ledger_that_is_there_is_left_alone(folder: Folder) -> None:
    import_sample(folder, SAMPLES["otel-older"])
    before = bytes_in(folder.path / "run")

    result = folder.forum("import", SAMPLES["symposium"], "--out", "run")

    assert result.code == 2
    assert "already exists; choose an empty directory" in result.err
    assert bytes_in(folder.path / "run") == before


def test_a_format_that_is_asked_for_is_held_to(folder: Folder) -> None:
    result = folder.forum("import", SAMPLES["otel-older"], "--format", "symposium", "--out", "run")

    told = "not an artifact of symposium: it has no 'canonical_transcript'"
    assert (result.code, result.err) == (2, f"forum: cannot import older.json: {told}\n")
