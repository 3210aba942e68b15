"""`forum import` reports the location of damage in a source and a target that it cannot write, and leaves no files."""

import hashlib
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from acceptance.samples import SAMPLES, copy_sample, read_entries
from acceptance.workflow_folder import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


PLAN_FIELDS = b'"dispatch", "kind": "plan"'
OUT_OF_RANGE = "is outside the range ±(2^53 - 1), where JSON parsers agree on the value"
SPAN = "/resourceSpans/0/scopeSpans/0/spans/0"
# Sample, text to replace, replacement (None truncates there), and message with file and location.
DAMAGE: dict[str, tuple[str, bytes, bytes | None, str]] = {
    "a truncated line": (
        "forum-engine",
        b'047944"}',
        None,
        "entries.jsonl, line 6, column 274: truncated: a string is not closed",
    ),
    "a line that is not JSON": (
        "forum-engine",
        b'{"seq": 2,',
        b'{"seq" 2,',
        "entries.jsonl, line 3, column 8: invalid JSON: expecting ':' delimiter",
    ),
    "a duplicate key": (
        "forum-engine",
        b'"seq": 1,',
        b'"seq": 1, "seq": 1,',
        "entries.jsonl, line 2, column 12: duplicate key 'seq'",
    ),
    "an integer out of range": (
        "forum-engine",
        b'"seq": 1,',
        b'"seq": 9007199254740993,',
        f"entries.jsonl, line 2, column 9: 9007199254740993 {OUT_OF_RANGE}",
    ),
    "a number with many digits": (
        "forum-engine",
        b'"seq": 1,',
        b'"seq": %b,' % (b"9" * 9_999),
        f"entries.jsonl, line 2, column 9: {'9' * 40}... {OUT_OF_RANGE}",
    ),
    "a float that is not finite": (
        "forum-engine",
        b"1794733200.25",
        b"1e999",
        "entries.jsonl, line 2, column 18: 1e999 is not a finite number",
    ),
    "NaN": ("forum-engine", b"1794733200.25", b"NaN", "entries.jsonl, line 2, column 18: NaN is not JSON"),
    "a lone surrogate": (
        "forum-engine",
        PLAN_FIELDS,
        b'"\\ud800", "kind": "plan"',
        "entries.jsonl, line 2, column 42: a string contains a lone surrogate",
    ),
    "bytes that are not UTF-8": (
        "forum-engine",
        PLAN_FIELDS,
        b'"\xff", "kind": "plan"',
        "entries.jsonl, line 2: the byte at offset 42 is not UTF-8",
    ),
    "a member of the wrong type": (
        "forum-engine",
        PLAN_FIELDS,
        b'7, "kind": "plan"',
        "entries.jsonl, line 2: 'actor' is not a string",
    ),
    "a truncated document": (
        "symposium",
        b'"transcript_digest"',
        None,
        "artifact.json, line 232, column 3: truncated: the JSON text ends too early",
    ),
    "a duplicate key in a document": (
        "symposium",
        b'"session_id": "rivers",\n  "started_at"',
        b'"session_id": "rivers", "session_id": "x",\n  "started_at"',
        "artifact.json, line 230, column 27: duplicate key 'session_id'",
    ),
    "a message without an id": (
        "symposium",
        b'"id": "',
        b'"no": "',
        "artifact.json, /canonical_transcript/0: not a message: it must be an object with a string 'id'",
    ),
    "a span without an id": (
        "otel-today",
        b'"spanId":"0010030000001003",',
        b"",
        f"today.jsonl, line 2, {SPAN}: the span has no traceId or spanId",
    ),
    "an invalid time": (
        "otel-today",
        b'"1794733200910000000"',
        b'"yesterday"',
        f"today.jsonl, line 2, {SPAN}: 'yesterday' is not an integer",
    ),
    "a value of unknown type": (
        "otel-today",
        b'{"stringValue":"atlas"}',
        b'{"string":"atlas"}',
        f"today.jsonl, line 2, {SPAN}: unknown value type 'string'",
    ),
    "a line in a different format": (
        "otel-today",
        b"\n",
        b'\n{"a":1}\n',
        "today.jsonl, line 2: not OTLP JSON: expected one of resourceSpans, resourceLogs, resourceMetrics",
    ),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_source_is_refused_with_its_location_and_leaves_no_files(case: str, folder: Folder) -> None:
    name, old, new, message = DAMAGE[case]
    source = copy_sample(name, folder.path)
    file = {"forum-engine": source / "entries.jsonl", "symposium": source / "artifact.json"}.get(name, source)
    data = file.read_bytes()
    assert old in data
    file.write_bytes(data[: data.index(old)] if new is None else data.replace(old, new, 1))
    before = folder.files()

    result = folder.forum("import", source, "--out", "run")

    assert (result.code, result.out, result.err) == (2, "", f"forum: cannot import {message}\n")
    assert folder.files() == before
    assert not (folder.path / "run").exists()


def test_a_ledger_that_exceeds_the_file_size_limit_leaves_no_files(tmp_path: Path) -> None:
    line = SAMPLES["otel-today"].read_bytes().splitlines(keepends=True)[0]
    spans = [line.replace(b"0010020000001002", b"%016x" % number) for number in range(300)]
    (tmp_path / "trace.jsonl").write_bytes(b"".join(spans))

    def limit_file_size() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    result = subprocess.run(
        [sys.executable, "-m", "forum_runner", "import", "trace.jsonl", "--out", "run"],
        cwd=tmp_path,
        preexec_fn=limit_file_size,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "forum: cannot write 'run': File too large; the partial ledger was removed\n"
    assert [path.name for path in tmp_path.iterdir()] == ["trace.jsonl"]


@pytest.mark.parametrize("source", ["/dev/zero", "/dev/urandom"])
def test_an_endless_source_of_unknown_format_is_refused(source: str, folder: Folder) -> None:
    result = folder.forum("import", source, "--out", "run")

    assert (result.code, "unknown format" in result.err) == (2, True)
    assert not (folder.path / "run").exists()


def test_a_long_source_is_imported_completely_from_standard_input(tmp_path: Path) -> None:
    line = SAMPLES["otel-today"].read_bytes().splitlines(keepends=True)[0]
    spans = b"".join(line.replace(b"0010020000001002", b"%016x" % number) for number in range(1, 1_500))
    assert len(spans) > 1 << 20

    result = subprocess.run(
        [sys.executable, "-m", "forum_runner", "import", "-", "--out", "run"],
        cwd=tmp_path,
        input=spans,
        capture_output=True,
        check=False,
    )

    (source,) = read_entries(tmp_path / "run")[0]["data"]["imported"]["files"]
    assert (result.returncode, source["bytes"]) == (0, len(spans))
    assert source["digest"] == hashlib.sha256(spans).hexdigest()


def test_a_directory_that_cannot_be_created_is_named(folder: Folder) -> None:
    (folder.path / "file").write_text("x")

    result = folder.forum("import", SAMPLES["otel-older"], "--out", "file/run")

    assert (result.code, result.err) == (2, "forum: cannot create a ledger in 'file/run': Not a directory\n")
