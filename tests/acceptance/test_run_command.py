"""The command `forum run`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from acceptance.workflow_folder import FORUM, MODEL, SHELL, Folder, ask, bytes_in, check_valid, sh

CHAIN = {
    "a": sh("echo a >> effects; echo one"),
    "b": sh("echo b >> effects; echo two", needs=["a"]),
    "c": sh("echo c >> effects; echo three", needs=["b"]),
    "d": sh("echo d >> effects; echo four"),
}
OUTPUTS = {"c": "c", "d": "d"}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work")


def take_effects(folder: Folder) -> list[str]:
    """Return the tasks whose programs ran since the last call."""
    tasks = sorted(folder.lines("effects"))
    (folder.path / "effects").unlink(missing_ok=True)
    return tasks


def test_inputs_come_from_the_command_line_and_from_a_file(folder: Folder) -> None:
    inputs = {"word": {"type": "string"}, "count": {"type": "integer"}, "rest": {"type": "string", "default": "end"}}
    echo = sh("echo ${{ inputs.word }} ${{ inputs.count }} ${{ inputs.rest }}")
    folder.write({"said": echo}, inputs=inputs, outputs={"said": "said"})
    (folder.path / "inputs.yaml").write_text("word: file\ncount: 3\n", encoding="utf-8")

    result = folder.run("--inputs", "inputs.yaml", "--input", "word=1.10")

    assert (result.code, folder.read("run/outputs/said.txt")) == (0, "1.10 3 end"), result


def test_a_part_of_the_plan_runs_with_results_of_an_earlier_run(folder: Folder) -> None:
    folder.write(CHAIN, outputs=OUTPUTS)
    assert folder.forum("run", "workflow.yaml").code == 0
    first = next((folder.path / ".forum/runs").iterdir()).name
    assert take_effects(folder) == ["a", "b", "c", "d"]

    results = {}
    for options in (
        ["--only", "b"],
        ["--from", "b"],
        ["--until", "b"],
        ["--from", "b", "--until", "b"],
        ["--only", "d"],
    ):
        name = "-".join(options).replace("--", "")
        result = folder.run(*options, *(["--base", first] if "--until" not in options[0] else []), out=name)
        assert result.code == 0, result
        check_valid(folder.path / name)
        results[name] = (take_effects(folder), sorted(folder.reused_tasks(name)))

    assert results == {
        "only-b": (["b"], ["a"]),
        "from-b": (["b", "c"], ["a"]),
        "until-b": (["a", "b"], []),
        "from-b-until-b": (["b"], ["a"]),
        "only-d": (["d"], []),
    }


def test_the_default_base_is_the_last_run_of_the_workflow(folder: Folder) -> None:
    folder.write({"a": sh("echo other")}, name="another")
    folder.write(CHAIN, outputs=OUTPUTS)
    missing = folder.forum("run", "workflow.yaml", "--only", "b")
    folder.forum("run", "workflow.yaml")
    folder.forum("run", "workflow.yaml")
    last = max(path.name for path in (folder.path / ".forum/runs").iterdir())
    folder.forum("run", "another.yaml")

    result = folder.run("--only", "b")

    assert (missing.code, result.code) == (2, 0), (missing, result)
    assert "there is no earlier run of 'workflow'" in missing.err
    assert folder.entries()[0]["data"]["from"]["run"] == last
    assert "a: reused (its fingerprint is the same)" in result.err
    assert "b: run (selected with --only or --from)" in result.err


@pytest.mark.parametrize("option", ["--only", "--from", "--until"])
def test_an_unknown_task_is_refused_with_a_hint(folder: Folder, option: str) -> None:
    folder.write({"draft": sh("echo")})

    result = folder.run(option, "drfat")

    assert result.code == 2
    assert "drfat" in result.err
    assert "did you mean 'draft'?" in result.err


def test_repeat_reports_how_often_each_task_passes(folder: Folder) -> None:
    flaky = sh('n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; test "$n" != 1')
    folder.write({"steady": sh("echo"), "flaky": flaky}, policy={"on_failure": "continue"})

    result = folder.forum("run", "workflow.yaml", "--repeat", "3", "--progress", "none")
    as_json = folder.forum("run", "workflow.yaml", "--repeat", "2", "--progress", "none", "--json")

    assert (result.code, as_json.code) == (1, 0), (result, as_json)
    assert "2 of 3" in result.out
    assert "3 of 3" in result.out
    runs = sorted((folder.path / ".forum/runs").iterdir())
    assert len(runs) == 5
    check_valid(runs[1])
    assert len(as_json.document()["runs"]) == 2


def test_each_repeated_run_is_reported_with_a_command_that_verifies_it(folder: Folder) -> None:
    folder.write({"a": sh("test ! -e was-here || exit 3; touch was-here")})
    summary = {"GITHUB_STEP_SUMMARY": str(folder.path / "summary.md")}

    result = folder.forum("run", "workflow.yaml", "--repeat", "2", "--progress", "none", env=summary)
    as_json = folder.forum("run", "workflow.yaml", "--repeat", "2", "--progress", "none", "--json")

    lines = [line.removeprefix("verify    ") for line in result.out.splitlines() if line.startswith("verify ")]
    summarized = [line for line in folder.lines("summary.md") if line.startswith("forum verify ")]
    assert (result.code, len(lines)) == (1, 2)
    assert summarized == lines
    assert "| a | 1 of 2 (50%) | 1 failed | 1 |" in folder.lines("summary.md")
    for line in [*lines, *(run["verify"] for run in as_json.document()["runs"])]:
        assert folder.forum(*line.split()[1:]).code == 0, line


def test_a_dry_run_lists_the_tasks_and_leaves_no_files(folder: Folder) -> None:
    roster = {
        "adapters": {**SHELL["adapters"], **MODEL["adapters"]},
        "agents": {**SHELL["agents"], **MODEL["agents"]},
    }
    inputs = {"token": {"type": "string", "secret": True}}
    roster["adapters"]["model"] = {**MODEL["adapters"]["model"], "api_key_env": "KEY"}
    tasks = {"a": sh("touch ran ${{ inputs.token }}"), "b": ask("Write.", needs=["a"])}
    budget = {"calls": 10, "output_bytes": 20_000_000, "wall": "5m"}
    folder.write(tasks, roster=roster, inputs=inputs, policy={"budget": budget})
    before = folder.files()

    result = folder.forum("run", "workflow.yaml", "--dry-run")
    as_json = folder.forum("run", "workflow.yaml", "--dry-run", "--json")

    assert (result.code, as_json.code) == (0, 0), (result, as_json)
    assert folder.files() == before
    assert [line.split()[1:3] for line in result.out.splitlines()[3:5]] == [["a", "operator"], ["b", "writer"]]
    assert "budget    10 calls, 20,000,000 output bytes, 5m00s\n" in result.out
    assert [task["task"] for task in as_json.document()["tasks"]] == ["a", "b"]
    assert as_json.document()["workflow"] == "workflow"
    assert f"digest    {as_json.document()['plan']}\n" in result.out
    assert as_json.document()["limits"] == {"calls": 10, "output_bytes": 20_000_000, "wall_ms": 300_000}


def test_a_script_replaces_all_adapters(folder: Folder) -> None:
    folder.write({"a": sh("touch ran", output={"type": "integer"}), "b": sh("cat", needs=["a"])}, outputs={"b": "b"})
    script = {"apiVersion": "forum/v1", "kind": "Script", "metadata": {"name": "s"}}
    answers = [{"task": "a", "output": 7}, {"task": "b", "contains": "7", "output": "seven"}]
    (folder.path / "script.json").write_text(json.dumps({**script, "answers": answers}), encoding="utf-8")

    without_script = folder.run("--scripted", out="none")
    result = folder.run("--scripted", "script.json")
    retried = folder.forum("resume", "run", "--failed", "--out", "again")

    assert (without_script.code, result.code, retried.code) == (2, 0, 0), (without_script, result, retried)
    assert "pass one with --scripted FILE" in without_script.err
    assert folder.read("run/outputs/b.txt") == "seven"
    assert folder.entries()[0]["data"]["mode"] == "scripted"
    assert not (folder.path / "ran").exists()


def test_a_directory_with_a_ledger_is_not_changed(folder: Folder) -> None:
    folder.write({"a": sh("echo x >> effects")})
    folder.run()
    before = bytes_in(folder.path)

    result = folder.run()

    assert result.code == 2
    assert "'run/ledger.jsonl' already exists" in result.err
    assert bytes_in(folder.path) == before


def test_an_unusable_directory_is_refused_and_not_changed(folder: Folder) -> None:
    folder.write({"a": sh("touch ran")})
    (folder.path / "taken/outputs").mkdir(parents=True)
    (folder.path / "taken/outputs/mine.txt").write_text("mine", encoding="utf-8")
    (folder.path / "file").write_text("a file", encoding="utf-8")
    before = folder.files()

    results = [folder.run(out=out) for out in ("taken", "file", "file/below", "/proc/forum")]

    assert [result.code for result in results] == [2, 2, 2, 2], results
    assert all(result.err.startswith("forum: ") and "Traceback" not in result.err for result in results)
    assert {path for path in folder.files() - before if "ledger" not in path and "bodies" not in path} == set()
    assert not (folder.path / "ran").exists()


def test_names_that_are_not_utf_8_are_refused_and_nothing_runs(folder: Folder) -> None:
    other = Folder(folder.path / os.fsdecode(b"folder\xff"))
    for each in (folder, other):
        each.write({"a": sh("touch ran")}, answers=[{"output": "x"}])
    commands = [
        [*FORUM, "run", str(other.path / "workflow.yaml"), "--deterministic"],
        [*FORUM, "run", "workflow.yaml", "--deterministic", "--engine", os.fsdecode(b"\xff")],
    ]

    results = [subprocess.run(command, cwd=folder.path, capture_output=True, check=False) for command in commands]

    reason = b"' in invocation.json: it is not UTF-8; use a different name\n"
    assert [(result.returncode, result.stdout) for result in results] == [(2, b"")] * 2, results
    assert results[0].stderr == b"forum: cannot record '%s/folder\\udcff%s" % (os.fsencode(folder.path), reason)
    assert results[1].stderr == b"forum: cannot record '\\udcff" + reason


def test_the_progress_option_selects_the_progress_output(folder: Folder) -> None:
    folder.write({"a": sh("echo one"), "b": sh("cat", needs=["a"])}, outputs={"b": "b"})

    results = {mode: folder.forum("run", "workflow.yaml", "--progress", mode) for mode in ("plain", "json", "none")}

    assert [result.code for result in results.values()] == [0, 0, 0]
    assert "a: passed" in results["plain"].err
    assert results["none"].err == ""
    events = [json.loads(line) for line in results["json"].err.splitlines()]
    assert [event.get("kind") for event in events][-1] == "run.sealed"
    assert all(result.out.startswith("passed: 2 passed") for result in results.values())


def test_the_json_result_has_the_status_the_exit_code_and_the_head(folder: Folder) -> None:
    folder.write({"a": sh("echo one"), "b": sh("echo broken >&2; exit 9", needs=["a"])}, outputs={"a": "a"})

    result = folder.run("--json")
    document = result.document()

    assert (result.code, document["status"], document["exit_code"]) == (1, "failed", 1)
    assert document["head"] == folder.forum("verify", "run", "--json").document()["head"]


def test_a_github_step_gets_a_summary_that_names_the_head(folder: Folder) -> None:
    folder.write({"a": sh("echo one")})
    summary = folder.path / "summary.md"
    folder.path.mkdir(exist_ok=True)
    summary.write_text("earlier text\n", encoding="utf-8")

    result = folder.run("--json", env={"GITHUB_STEP_SUMMARY": str(summary)})
    unwritable = folder.run("--json", out="second", env={"GITHUB_STEP_SUMMARY": str(folder.path / "no/where.md")})

    text = summary.read_text(encoding="utf-8")
    assert text.startswith("earlier text\n")
    assert result.document()["head"] in text
    assert unwritable.code == 0
    assert "cannot write the step summary" in unwritable.err


def test_a_missing_credential_is_reported_before_anything_runs(folder: Folder) -> None:
    model = {**MODEL["adapters"]["model"], "api_key_env": "KEY"}
    roster = {"adapters": {**SHELL["adapters"], "model": model}, "agents": {**SHELL["agents"], **MODEL["agents"]}}
    folder.write({"a": sh("touch ran"), "b": ask("Write.", needs=["a"])}, roster=roster)

    unset, empty = folder.run(), folder.run(env={"KEY": ""})

    assert (unset.code, empty.code) == (8, 8), unset
    assert "KEY (for model)" in unset.err
    assert folder.files() == {"workflow.yaml"}


def test_findings_are_reported_before_anything_runs(folder: Folder) -> None:
    folder.write({"a": sh("touch ran"), "b": {"agent": "nobody", "run": ["sh"]}})
    invalid = folder.run()
    folder.write({"a": {"agent": "operator", "run": ["rm", "-rf", "x"]}})
    refused = folder.run()

    assert (invalid.code, refused.code) == (2, 6), (invalid, refused)
    assert "F012" in invalid.err
    assert "F503" in refused.err
    assert folder.files() == {"workflow.yaml"}


def test_an_unknown_adapter_type_is_reported_before_anything_runs(folder: Folder) -> None:
    roster = {
        "adapters": {**SHELL["adapters"], "mine": {"type": "x-nowhere"}},
        "agents": {**SHELL["agents"], "writer": {"adapter": "mine"}},
    }
    folder.write({"a": sh("touch ran"), "b": ask("Write.", needs=["a"])}, roster=roster)

    result = folder.run()

    assert result.code == 2, result
    assert "no adapter type 'x-nowhere' is installed" in result.err
    assert folder.files() == {"workflow.yaml"}


def test_a_reader_that_closes_the_pipe_early_does_not_affect_the_run(folder: Folder) -> None:
    folder.write({"a": sh("echo one"), "b": sh("exit 1", needs=["a"])}, outputs={"a": "a"})
    shell = 'set -o pipefail; "$0" -m forum_runner run workflow.yaml --out run 2>&1 | head -1; echo ${PIPESTATUS[0]}'

    result = subprocess.run(
        ["bash", "-c", shell, FORUM[0]], cwd=folder.path, capture_output=True, text=True, check=False
    )

    assert result.stdout.splitlines()[-1] == "1", result
    assert "Traceback" not in result.stdout + result.stderr
    check_valid(folder.path / "run")


def test_a_run_passes_with_closed_streams(folder: Folder) -> None:
    folder.write({"a": sh("echo one")})
    shell = '"$0" -m forum_runner run workflow.yaml --out run >&- 2>&-'

    result = subprocess.run(["sh", "-c", shell, FORUM[0]], cwd=folder.path, check=False)

    assert result.returncode == 0
    check_valid(folder.path / "run")


def test_programs_run_in_the_folder_of_the_workflow(folder: Folder) -> None:
    inner = Folder(folder.path / "inner")
    inner.write({"a": sh("cat beside.txt")}, outputs={"a": "a"})
    (inner.path / "beside.txt").write_text("found", encoding="utf-8")

    result = folder.forum("run", "inner/workflow.yaml", "--progress", "none")
    elsewhere = Folder(folder.path.parent).forum("run", inner.path / "workflow.yaml", "--out", folder.path / "third")

    assert (result.code, elsewhere.code) == (0, 0), (result, elsewhere)
    (run,) = (folder.path / ".forum/runs").iterdir()
    assert (run / "outputs/a.txt").read_text(encoding="utf-8") == "found"
    assert not (inner.path / ".forum").exists()
    assert folder.read("third/outputs/a.txt") == "found"


def test_a_failed_run_can_be_retried_from_any_folder(folder: Folder) -> None:
    inner = Folder(folder.path / "inner")
    inner.write({"a": sh("echo x >> effects; echo a"), "b": sh("test -e now", needs=["a"])})
    folder.forum("run", "inner/workflow.yaml", "--out", "first")
    (inner.path / "now").touch()

    result = Folder(folder.path.parent).forum("resume", folder.path / "first", "--failed", "--out", "second")

    assert result.code == 0, result
    assert inner.lines("effects") == ["x"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--repeat", "2", "--out", "x"], "--out cannot be used with --repeat"),
        (["--base", "x"], "--base requires --only or --from"),
        (["--answers-from", "x", "--scripted"], "--answers-from cannot be combined with"),
        (["--answers-from", "x", "--deterministic"], "--answers-from cannot be combined with"),
        (["--repeat", "0"], "0 is not in the range"),
        (["--progress", "loud"], "'loud' is not one of"),
        (["--only", "a", "--base", "nowhere"], "no file, directory or run 'nowhere'"),
        (["--answers-from", "nowhere"], "no file, directory or run 'nowhere'"),
        (["--input", "x=1"], "F015"),
    ],
)
def test_wrong_usage_runs_nothing(folder: Folder, options: list[str], message: str) -> None:
    folder.write({"a": sh("touch ran")}, answers=[{"output": ""}])

    result = folder.forum("run", "workflow.yaml", *options)

    assert (result.code, message in result.err) == (2, True), result
    assert folder.files() == {"workflow.yaml"}


def test_concurrent_runs_of_one_workflow_do_not_interfere(folder: Folder) -> None:
    folder.write({"a": sh("sleep 0.3; echo $$")}, outputs={"a": "a"})
    processes = [folder.start("run", "workflow.yaml", "--progress", "none") for _ in range(3)]

    codes = [process.wait(timeout=60) for process in processes]
    for process in processes:
        process.communicate()

    assert codes == [0, 0, 0]
    runs = list((folder.path / ".forum/runs").iterdir())
    assert len(runs) == 3
    for run in runs:
        check_valid(run)


def test_a_run_directory_that_cannot_be_written_is_reported(folder: Folder) -> None:
    folder.write({"a": sh("touch ran")})
    read_only = folder.path / "read-only"
    read_only.mkdir(mode=0o500)
    if os.access(read_only, os.W_OK):
        read_only = Path("/proc/self")

    result = folder.forum("run", "workflow.yaml", "--out", read_only / "run")

    assert (result.code, result.err.startswith("forum: cannot create a ledger in")) == (2, True), result
    assert not (folder.path / "ran").exists()
