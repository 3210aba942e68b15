"""Commands that need a ledger report that a file is not a ledger, and make no false statement about it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from acceptance.judge_command import judge as judge_by_command
from acceptance.samples import SAMPLES
from acceptance.workflow_folder import Folder, Result
from forum_conformance.judge import judge
from forum_runner.api import TrustedReferences
from forum_runner.app.verification import verify_ledger
from forum_runner.ledger.source import ledger_at
from ledgers import LEDGERS

FORUM = [sys.executable, "-m", "forum_runner"]
SCHEMA = json.loads((Path(__file__).parents[2] / "schemas/v1/verify-report.schema.json").read_text(encoding="utf-8"))
WORKFLOW = """apiVersion: forum/v1
kind: Workflow
metadata: {name: one}
plan: {tasks: {task: {agent: operator, run: [git, --version]}}}
"""
FILES = [
    "workflow.yaml",
    "noise",
    "document.json",
    "lines.jsonl",
    "trace.json",
    "bodies.tar",
    "wave-plan.json",
    "checkpoint",
]
# How the messages describe the files of a known format.
DESCRIPTIONS = {"workflow.yaml": "a manifest (Workflow)", "wave-plan.json": "a wave plan"}
COMMANDS = ["show", "show --json", "log", "log --json", "resume", "replay", "gate list"]


def forum(*arguments: str | Path, cwd: Path) -> Result:
    return Folder(cwd).forum(*arguments)


def forum_with_input(*arguments: str, cwd: Path, data: bytes) -> Result:
    result = subprocess.run([*FORUM, *arguments], cwd=cwd, input=data, capture_output=True, check=False, timeout=120)
    return Result(result.returncode, result.stdout.decode(), result.stderr.decode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory that also contains other files."""
    directory = LEDGERS["two_waves"](tmp_path_factory.mktemp("given") / "run")
    (directory / "workflow.yaml").write_text(WORKFLOW, encoding="utf-8")
    (directory / "noise").write_bytes(random.Random(7).randbytes(5_000))  # noqa: S311 - no secret
    (directory / "document.json").write_text(json.dumps({"a": 1}), encoding="utf-8")
    (directory / "lines.jsonl").write_text('{"a":1}\n{"a":2}\n', encoding="utf-8")
    (directory / "trace.json").write_bytes(SAMPLES["otel-older"].read_bytes())
    return directory


@pytest.mark.parametrize("name", FILES)
def test_verify_reports_first_that_a_file_is_not_a_ledger_and_exits_3(folder: Path, name: str) -> None:
    result = forum("verify", name, cwd=folder)
    report = forum("verify", name, "--json", cwd=folder).document()

    lines = result.out.splitlines()
    assert (result.code, lines[0]) == (3, "invalid: not a ledger: it contains no entry")
    assert lines[1:3] == [
        "  1 bytes      fail         no line is an entry",
        "  2 chain      ok           no entries to check",
    ]
    assert lines[-1] == "the file is part of a run directory; verify the directory with: forum verify ."
    jsonschema.validate(report, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert (report["verdict"], report["first_bad_seq"], report["run"]) == ("invalid", 0, None)
    assert {finding["level"] for finding in report["findings"]} == {1}


@pytest.mark.parametrize("name", ["workflow.yaml", "wave-plan.json"])
def test_verify_reports_the_same_for_standard_input_and_the_judge_agrees(folder: Path, name: str) -> None:
    piped = forum_with_input("verify", "-", cwd=folder, data=(folder / name).read_bytes())

    assert (piped.code, piped.out.splitlines()) == (3, forum("verify", name, cwd=folder).out.splitlines()[:-1])
    assert judge_by_command(folder / name)[0] == 3


@pytest.mark.parametrize("name", FILES)
def test_both_verifiers_report_the_same_codes_for_files_that_are_not_ledgers(folder: Path, name: str) -> None:
    report, judged = verify_ledger(ledger_at(folder / name), None, TrustedReferences()), judge(folder / name)

    assert report.codes == tuple(judged.findings.codes())
    assert [level.status for level in report.levels] == [level.status for level in judged.levels]


@pytest.mark.parametrize("name", FILES)
def test_commands_that_read_a_ledger_refuse_other_files(folder: Path, name: str) -> None:
    calls = [[*command.split(), name] for command in COMMANDS] + [["trace", name, "0"], ["diff", ".", name]]
    calls += [["diff", name, "."], ["gate", "approve", name, "task"], ["resume", name, "--failed"]]
    calls += [["run", "workflow.yaml", "--only", "task", "--base", name]]
    calls += [["run", "workflow.yaml", "--answers-from", name]]
    calls += [["redact", name, "--seq", "2", "--body", "prompt", "--reason", "why", "--by", "ann"]]

    results = [(arguments, forum(*arguments, cwd=folder)) for arguments in calls]

    description = f"is {DESCRIPTIONS[name]}, not a ledger" if name in DESCRIPTIONS else "is not a ledger"
    refused = Result(2, "", f"forum: '{name}' {description}; pass a run directory or a run id\n")
    assert [arguments for arguments, result in results if result != refused] == []


@pytest.mark.parametrize(
    ("content", "description"),
    [
        ("---\n# yaml-language-server: $schema=x\n\nkind: Roster\napiVersion: forum/v1\n", "a manifest (Roster), "),
        ('{"apiVersion": "forum/v1",\n "kind": "Policy"}\n', "a manifest (Policy), "),
        ("{kind: 'Script', apiVersion: 'forum/v1'}\n", "a manifest (Script), "),
        ("apiVersion: apps/v1\nkind: Workflow\n", ""),
        ("apiVersion: forum/v1\nkind: Deployment\n", ""),
        ("# How to\n\nWrite a file.\n\napiVersion: forum/v1\nkind: Plan\n", ""),
    ],
)
def test_a_manifest_is_recognized_by_its_header_in_any_yaml_style(
    tmp_path: Path, content: str, description: str
) -> None:
    (tmp_path / "given").write_text(content, encoding="utf-8")

    result = forum("show", "given", cwd=tmp_path)

    assert result.err == f"forum: 'given' is {description}not a ledger; pass a run directory or a run id\n"


def test_replay_refuses_standard_input(folder: Path) -> None:
    result = forum_with_input("replay", "-", cwd=folder, data=(folder / "ledger.jsonl").read_bytes())

    message = "'standard input' is not a run directory: replaying needs the run directory"
    assert result == Result(2, "", f"forum: {message}\n")


@pytest.mark.parametrize("name", ["workflow.yaml", "wave-plan.json"])
def test_log_follow_refuses_a_file_that_is_not_a_ledger(folder: Path, name: str) -> None:
    assert forum_with_input("log", "--follow", name, cwd=folder, data=b"").code == 2


@pytest.mark.parametrize("name", ["workflow.yaml", "wave-plan.json"])
@pytest.mark.parametrize("arguments", [["show", "-"], ["log", "-"], ["trace", "-", "0"], ["diff", ".", "-"]])
def test_standard_input_that_is_not_a_ledger_is_refused(folder: Path, name: str, arguments: list[str]) -> None:
    result = forum_with_input(*arguments, cwd=folder, data=(folder / name).read_bytes())

    assert result == Result(2, "", f"forum: 'standard input' is {DESCRIPTIONS[name]}, not a ledger\n")


def damaged_ledgers(lines: list[bytes]) -> dict[str, bytes]:
    """Damaged versions of a ledger in which the first line, or every line, is not an entry."""
    indented = [json.dumps(json.loads(line), indent=1).encode() + b"\n" for line in lines]
    return {
        "its lines end with CR LF": b"".join(line[:-1] + b"\r\n" for line in lines),
        "it is indented JSON": b"".join(indented),
        "every line has a renamed member": b"".join(line.replace(b'"seq":', b'"sequence":') for line in lines),
        "it starts with noise": b"\x00\xff\n" * 500 + b"".join(lines),
        "only an unterminated line remains": lines[1][:-1],
    }


@pytest.mark.parametrize("case", damaged_ledgers([b"{}\n", b"{}\n"]))
def test_a_damaged_ledger_is_not_reported_as_a_different_kind_of_file(case: str, folder: Path, tmp_path: Path) -> None:
    content = damaged_ledgers((folder / "ledger.jsonl").read_bytes().splitlines(keepends=True))[case]
    (tmp_path / "given").write_bytes(content)

    verified = forum("verify", "given", cwd=tmp_path)
    summary, listed = forum("show", "given", cwd=tmp_path), forum_with_input("log", "-", cwd=tmp_path, data=content)

    assert verified.code == (7 if case == "only an unterminated line remains" else 3)
    assert "not a ledger" not in verified.out
    assert (summary.code, listed.code) == (0, 0)


@pytest.mark.parametrize("content", [b"noise\n" * 3, b"\xff" * 100])
def test_a_run_directory_with_a_corrupt_ledger_is_still_a_run_directory(content: bytes, tmp_path: Path) -> None:
    directory = LEDGERS["two_waves"](tmp_path / "run")
    (directory / "ledger.jsonl").write_bytes(content)
    (directory / "checkpoint").unlink()

    for path in (directory, directory / "ledger.jsonl"):
        result = forum("verify", path, cwd=tmp_path)
        first, bytes_level, chain_level = result.out.splitlines()[:3]
        assert "not a ledger" not in first
        assert chain_level.endswith("no entries to check")
        if b"\n" in content:
            assert (result.code, first) == (3, "invalid: 3 lines, none of them an entry")
            assert bytes_level.endswith("no line is an entry")


def test_an_empty_file_is_an_incomplete_ledger(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")

    verified = forum("verify", "empty", cwd=tmp_path)

    assert verified.code == 7
    assert verified.out.splitlines()[:2] == [
        "incomplete: 0 entries",
        "  1 bytes      ok           no entries to check",
    ]
