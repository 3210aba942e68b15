"""All JSON output of `forum` matches its schema, in every state of a run."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from acceptance.judge_command import JUDGE, SCHEMAS
from acceptance.samples import SAMPLES, copy_sample
from acceptance.schema_checks import Document, check_matches_schema, validator
from acceptance.workflow_folder import (
    FORUM,
    MODEL,
    PATIENCE_S,
    SHELL,
    Folder,
    Result,
    ask,
    sh,
    truncate_after,
    wait_for,
)
from fake_ledger.files import ledger_of
from forum_runner.cli import cli
from ledgers import EXAMPLES, LEDGERS
from ledgers.example_run import ExampleRun

RUN = "--out new --progress none --json"
EVENTS = "--out new --progress json"
BY_ANN = "--by ann --reason private"

# For each schema, the commands that print such a document, and their exit codes.
COMMANDS_BY_SCHEMA: dict[str, dict[str, int]] = {
    "run-report": {
        f"run rich.yaml --deterministic {RUN}": 0,
        f"run rich.yaml --deterministic --only last --base passed {RUN}": 0,
        f"run failing.yaml {RUN}": 1,
        f"run stopping.yaml --deterministic {RUN}": 4,
        f"run asking.yaml --scripted {RUN}": 5,
        "resume paused --progress none --json": 5,
        "resume rejected --progress none --json": 6,
        f"resume failed --failed {RUN}": 1,
        "resume cut --progress none --json": 1,
    },
    "progress-event": {
        f"run rich.yaml --deterministic {EVENTS}": 0,
        f"run failing.yaml {EVENTS}": 1,
        f"run stopping.yaml --deterministic {EVENTS}": 4,
        f"run asking.yaml --scripted {EVENTS}": 5,
        "resume rejected --progress json": 6,
        "resume cut --progress json": 1,
        f"run rich.yaml --deterministic --only last --base passed {EVENTS}": 0,
        f"resume failed --failed {EVENTS}": 1,
        "run failing.yaml --repeat 2 --progress json": 1,
        "run asking.yaml --scripted --repeat 2 --progress json": 5,
    },
    "forecast": {
        **{f"run {name}.yaml --dry-run --json": 0 for name in ("rich", "failing", "stopping", "asking")},
        "run rich.yaml --deterministic --dry-run --only last --base passed --json": 0,
    },
    "pass-rates": {
        "run rich.yaml --deterministic --repeat 2 --progress none --json": 0,
        "run failing.yaml --repeat 2 --progress none --json": 1,
        "run asking.yaml --scripted --repeat 2 --progress none --json": 5,
    },
    "run-summary": {
        **{f"show {name} --json": 0 for name in ("passed", "failed", "stopped", "paused", "rejected", "imported")},
        **{f"show {name} --json": 0 for name in ("cut", "torn", "unreadable", "empty", "redacted")},
        **{f"show examples/{name} --json": 0 for name in EXAMPLES},
    },
    "diff-report": {
        "diff passed passed --json": 0,
        "diff passed failed --json": 1,
        "diff failed cut --json": 1,
        "diff cut passed --json": 1,
        "diff passed empty --json": 1,
        "diff unreadable passed --json": 1,
        "diff examples/escalated examples/budget_stop --json": 1,
    },
    "replay-report": {
        "replay passed --json": 0,
        "replay cut --json": 7,
        "replay examples/two_waves --json": 3,
        "replay examples/budget_stop --json": 3,
    },
    "entry": {"log passed --json": 0, "log examples/user_kinds --json": 0, "trace passed 5 --json": 0},
    "gates": {f"gate list {name} --json": 0 for name in ("paused", "redacted-gate", "passed")},
    "gate-decision": {
        "gate approve paused publish --by ann --json": 0,
        f"gate reject paused deploy {BY_ANN} --json": 0,
        "gate edit paused publish --by ann --instruction Wait. --json": 0,
    },
    "doctor-report": {
        "doctor --json": 0,
        "doctor failing.yaml --json": 0,
        "doctor missing.yaml --json": 1,
        "doctor keyed.yaml --json": 8,
    },
    "check-report": {
        "check rich.yaml --json": 0,
        "check rich.yaml failing.yaml --format json": 0,
        "check broken.yaml --json": 2,
    },
    "wave-plan": {"compile rich.yaml --json": 0, "compile failing.yaml -o -": 0},
    "verify-report": {
        "verify passed --json": 0,
        "verify passed --level 2 --json": 0,
        "verify passed --checkpoint signed --key key.pub --json": 0,
        "verify unreadable --json": 3,
        "verify cut --json": 7,
        "verify redacted --json": 0,
    },
    "proof-report": {
        "verify --proof inclusion.json --json": 0,
        "verify --proof consistency.json --checkpoint passed/checkpoint --json": 0,
        "verify --proof consistency.json --checkpoint failed/checkpoint --json": 3,
        "verify --proof rich.yaml --json": 3,
    },
    "proof": {"prove inclusion passed --seq 2": 0, "prove consistency passed --from 2 --key key": 0},
    "checkpoint-report": {
        "checkpoint passed --json": 0,
        "checkpoint passed --size 2 --key key --json": 0,
        "checkpoint cut --json": 0,
    },
    "keygen-report": {"keygen example.org/me -o new --json": 0},
    "redact-report": {
        f"redact passed --seq 2 --body prompt {BY_ANN} --json": 0,
        f"redact paused --seq 2 --body prompt {BY_ANN} --json": 0,
    },
    "import-report": {
        **{f"import {shlex.quote(str(path))} --out new --json": 0 for path in SAMPLES.values()},
        "import forum-engine --json": 0,
    },
    "explanation": {"explain F012 --json": 0, "explain l201 --json": 0},
    "explanations": {"explain --json": 0},
}
# Schemas of documents that `forum check` or the suite reads.
MANIFESTS = {"manifest", "workflow", "roster", "policy", "plan", "script", "types"}
SUITE = {"conformance-request", "conformance-case", "conformance-result"}
# Schemas with a separate test, which needs standard input or the judge.
TESTED_SEPARATELY = {"conformance-answer", "verify-reports"}
# Schemas whose documents are printed as lines, and the stream of these lines.
STREAM_OF_LINES = {"entry": "out", "progress-event": "err"}
CALLS = [(name, command, code) for name, commands in COMMANDS_BY_SCHEMA.items() for command, code in commands.items()]


def documents(name: str, result: Result) -> Iterator[Document]:
    if name in STREAM_OF_LINES:
        yield from map(json.loads, getattr(result, STREAM_OF_LINES[name]).split("\n")[:-1])
    else:
        yield result.document()


RICH: dict[str, Any] = {
    "list": ask("List.", output={"type": "array"}, retry={"attempts": 2, "backoff": "1s"}),
    "each": ask("Tell.", foreach={"task": "list", "as": "item", "max": 4}),
    "judged": ask("Write.", accept=[{"agent": "critic"}], done_when=["it is good"], escalate=["frontier"]),
    "last": ask("End.", needs=["each", {"task": "judged", "max_bytes": 2}], sensitive=True),
}
ROSTER: dict[str, Any] = {
    **MODEL,
    "agents": {"writer": {"adapters": {"cheap": "model", "frontier": "model"}}, "critic": {"adapter": "model"}},
}
ANSWERS: list[dict[str, Any]] = [
    {"task": "list", "attempt": 1, "error": {"kind": "network", "message": "gone"}},
    {"task": "list", "output": [1, 2]},
    {"task": "judged", "agent": "critic", "attempt": 1, "output": {"verdict": "fail", "reason": "too short"}},
    {"task": "judged", "agent": "critic", "output": {"verdict": "pass", "reason": "good"}},
    {"output": "done", "usage": {"input_tokens": 200, "output_tokens": 300}},
]
FAILING = {
    "good": sh("echo good"),
    "fails": sh("echo bad >&2; exit 3"),
    "tolerated": sh("exit 4", allow_failure=True),
    "after": sh("cat", needs=["fails"]),
}
GATED = {
    "draft": ask("Write."),
    "publish": ask("Publish.", needs=["draft"], gate={"question": "Publish ${{ needs.draft }}?", "deadline": "1h"}),
    "deploy": sh("echo", needs=["draft"], gate={"question": "Deploy?"}),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with workflows and with runs in every state."""
    folder = Folder(tmp_path_factory.mktemp("prepared") / "work")
    write_workflows(folder)
    calls = {
        f"run rich.yaml --deterministic {RUN} --out passed": 0,
        f"run failing.yaml {RUN} --out failed": 1,
        f"run stopping.yaml --deterministic {RUN} --out stopped": 4,
        f"run asking.yaml --scripted {RUN} --out paused": 5,
        f"run asking.yaml --scripted {RUN} --out rejected": 5,
        f"gate reject rejected publish {BY_ANN}": 0,
        f"gate reject rejected deploy {BY_ANN}": 0,
        f"import {shlex.quote(str(SAMPLES['forum-engine']))} --out imported": 0,
        "keygen example.org/me -o key": 0,
        "checkpoint passed --key key -o signed": 0,
        "prove inclusion passed --seq 2 -o inclusion.json": 0,
        "prove consistency passed --from 2 -o consistency.json": 0,
    }
    for command, code in calls.items():
        result = folder.forum(*shlex.split(command))
        assert result.code == code, (command, result)
    add_damaged_runs(folder)
    for name, write in LEDGERS.items():
        write(folder.path / "examples" / name)
    return folder.path


def write_workflows(folder: Folder) -> None:
    outputs = {"last": "last", "judged": "judged"}
    folder.write(RICH, roster=ROSTER, answers=ANSWERS, outputs=outputs, name="rich")
    budget = {"budget": {"calls": 5, "usd": "1"}, "max_parallel": 1}
    priced = {**MODEL["adapters"]["model"], "prices": {"input": "1", "output": "1"}}
    roster = {**ROSTER, "adapters": {"model": priced}}
    folder.write(RICH, roster=roster, answers=ANSWERS, outputs=outputs, policy=budget, name="stopping")
    both = {name: {**SHELL[name], **MODEL[name]} for name in ("adapters", "agents")}
    folder.write(FAILING, name="failing", outputs={"after": "after"}, policy={"on_failure": "skip-dependents"})
    folder.write(GATED, roster=both, answers=ANSWERS[-1:], name="asking")
    policy = {"allow": {"commands": ["not-there"], "env": ["PATH"]}}
    folder.write({"a": {"agent": "operator", "run": ["not-there"]}}, policy=policy, name="missing")
    keyed = {"adapters": {"model": {**MODEL["adapters"]["model"], "api_key_env": "KEY"}}, "agents": MODEL["agents"]}
    folder.write({"a": ask("Write.")}, roster=keyed, name="keyed")
    folder.write({"a": {"agent": "nobody", "instruction": "Write."}}, name="broken")


def add_damaged_runs(folder: Folder) -> None:
    """Add runs that are incomplete or damaged, runs with redacted bodies, and a damaged source to import."""
    path = folder.path
    for name in ("cut", "torn", "unreadable", "redacted"):
        shutil.copytree(path / "passed", path / name)
    shutil.copytree(path / "paused", path / "redacted-gate")
    truncate_after(path / "cut", 6)
    with (path / "torn" / "ledger.jsonl").open("ab") as ledger:
        ledger.write(b'{"actor":')
    lines = (path / "unreadable" / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (path / "unreadable" / "ledger.jsonl").write_bytes(b"".join([*lines[:3], b"{\n", *lines[4:]]))
    (path / "empty").write_bytes(b"")
    for run, kind, body in (("redacted", "answer.given", "value"), ("redacted-gate", "gate.opened", "displayed")):
        seq = folder.entries(run, kind)[0]["seq"]
        assert folder.forum("redact", run, "--seq", str(seq), "--body", body, *shlex.split(BY_ANN)).code == 0
    payloads = copy_sample("forum-engine", path) / "payloads.jsonl"
    payloads.write_bytes(payloads.read_bytes().replace(b"Oder", b"Elbe"))


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Folder:
    """A copy of the prepared folder, so that commands may change it."""
    return Folder(Path(shutil.copytree(prepared, tmp_path / "work")))


@pytest.mark.parametrize(("name", "command", "code"), CALLS, ids=[command for _, command, _ in CALLS])
def test_the_output_of_a_command_matches_its_schema(folder: Folder, name: str, command: str, code: int) -> None:
    result = folder.forum(*shlex.split(command))

    assert result.code == code, result
    printed = list(documents(name, result))
    assert printed
    for document in printed:
        check_matches_schema(name, document)


def test_every_schema_describes_a_tested_document(folder: Folder) -> None:
    names = folder.forum("schema").out.split()

    assert sorted(names) == sorted([*COMMANDS_BY_SCHEMA, *TESTED_SEPARATELY, *MANIFESTS, *SUITE])


def test_the_guide_lists_every_schema_of_a_command() -> None:
    guide = (SCHEMAS.parents[1] / "docs" / "guide" / "ci.md").read_text(encoding="utf-8")
    table = guide.partition("| command | schema |")[2].partition("\n\n")[0]

    assert [name for name in COMMANDS_BY_SCHEMA if f"`{name}`" not in table] == []


def commands_with_json(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[str]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            yield from commands_with_json(subcommand, (*words, name))
    elif any("--json" in option.opts for option in command.params):
        yield " ".join(words)


def test_every_command_with_a_json_option_is_tested_with_a_schema() -> None:
    commands = [command for _, command, _ in CALLS if "--json" in command]

    missing = [words for words in commands_with_json(cli) if not any(call.startswith(f"{words} ") for call in commands)]

    assert missing == []


def test_an_interrupted_run_is_reported_with_the_command_to_resume_it(folder: Folder) -> None:
    folder.write({"naps": sh("touch at-work; sleep 100"), "after": sh("cat", needs=["naps"])})
    process = folder.start(*f"run workflow.yaml {RUN}".split())
    wait_for(folder.path / "at-work", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    report = json.loads(out)

    assert process.returncode == 130, err
    check_matches_schema("run-report", report)
    assert (report["status"], report["exit_code"], report["resume"]) == ("interrupted", 130, "forum resume new")


def test_an_answer_to_the_suite_matches_its_schema(folder: Folder) -> None:
    request = {"protocol": 1, "id": "ledger/passed", "role": "verify", "input": str(folder.path / "passed")}
    command = [*FORUM, "conform", "verify"]

    result = subprocess.run(command, input=json.dumps(request).encode(), capture_output=True, check=True)

    validator("conformance-answer").validate(json.loads(result.stdout))
    assert json.loads(result.stdout)["verdict"] == "valid"


def test_the_reports_of_the_judge_on_several_ledgers_match_their_schema(folder: Folder) -> None:
    runs = ("passed", "cut", "imported", "not-there")

    result = subprocess.run([*JUDGE, *runs, "--jsonl"], cwd=folder.path, capture_output=True, check=False)
    lines = [json.loads(line) for line in result.stdout.splitlines()]

    assert [line["path"] for line in lines] == list(runs)
    for line in lines:
        check_matches_schema("verify-reports", line)


def test_a_redaction_is_reported_with_its_entry_and_the_new_head(folder: Folder) -> None:
    report = folder.forum(*f"redact passed --seq 2 --body prompt {BY_ANN} --json".split()).document()
    entry = folder.entries("passed")[report["recorded_seq"]]

    assert (entry["kind"], entry["causes"], entry["actor"]) == ("body.redacted", [2], "person:ann")
    assert report == {
        "apiVersion": "forum/v1",
        "kind": "Redaction",
        "run": entry["run"],
        "directory": "passed",
        "head": folder.forum("verify", "passed", "--json").document()["head"],
        "seq": 2,
        "body": "prompt",
        "by": "ann",
        "recorded_seq": report["recorded_seq"],
    }


def test_a_refused_redaction_prints_no_report(folder: Folder) -> None:
    result = folder.forum(*f"redact passed --seq 2 --body promt {BY_ANN} --json".split())

    assert (result.code, result.out) == (2, "")


def test_a_missing_program_is_named_in_the_json_of_doctor(folder: Folder) -> None:
    health = folder.forum("doctor", "missing.yaml", "--json").document()

    assert (health["ok"], health["programs"]) == (False, {"not-there": None})


def test_a_finding_of_a_proof_has_the_same_members_as_other_findings(folder: Folder) -> None:
    command = "verify --proof consistency.json --checkpoint failed/checkpoint --json"
    (finding,) = folder.forum(*command.split()).document()["findings"]

    assert (finding["code"], finding["level"], finding["seq"]) == ("L507", 5, None)


def test_differing_values_of_two_entries_are_formatted_as_json(folder: Folder) -> None:
    for name, data in (
        ("a", {"flag": True, "list": ["x"], "text": "x"}),
        ("b", {"flag": False, "list": [], "text": "y"}),
    ):
        example = ExampleRun()
        example.add("x-note", data)
        (folder.path / name).write_bytes(ledger_of(example.lines()))

    changed = folder.forum("diff", "a", "b", "--json").document()["divergence"]["changed"]

    assert [tuple(change.values()) for change in changed] == [
        ("data.flag", "true", "false"),
        ("data.list", '["x"]', "[]"),
        ("data.text", "x", "y"),
    ]
