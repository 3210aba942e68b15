"""The manifest commands `init`, `check`, `compile`, `graph`, `explain` and `schema`."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import warm

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "schemas" / "v1"
WORKFLOW = """\
apiVersion: forum/v1
kind: Workflow
metadata: {name: demo}
roster:
  adapters: {shell: {type: command}}
  agents: {operator: {adapter: shell}}
policy: {allow: {commands: [git]}}
plan:
  inputs: {since: {type: string}, count: {type: integer, default: 3}}
  tasks:
    log: {agent: operator, run: [git, log, "${{ inputs.since }}", "-${{ inputs.count }}"]}
    tell: {agent: operator, run: [git, version], needs: [log]}
"""


def forum(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    if env is None:
        completed = warm.call("forum", *arguments, cwd=cwd)
        return subprocess.CompletedProcess(
            arguments, completed.returncode, warm.as_text(completed.stdout), warm.as_text(completed.stderr)
        )
    command = [sys.executable, "-m", "forum_runner", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **env})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    return tmp_path


def write_broken_workflow(folder: Path) -> str:
    (folder / "broken.yaml").write_text(WORKFLOW.replace("agent: operator, run: [git, version]", "agent: opertor"))
    return "broken.yaml"


def test_check_reports_ok_and_exits_0(folder: Path) -> None:
    result = forum("check", "workflow.yaml", cwd=folder)

    assert (result.returncode, result.stdout, result.stderr) == (0, "ok: 1 file checked, no findings\n", "")


def test_check_shows_the_location_the_line_and_a_caret(folder: Path) -> None:
    result = forum("check", write_broken_workflow(folder), cwd=folder)

    assert result.returncode == 2
    assert result.stdout == (
        "broken.yaml:12:19: F012 no agent named 'opertor' in the roster\n"
        "   12 |     tell: {agent: opertor, needs: [log]}\n"
        "      |                   ^^^^^^^ did you mean 'operator'?\n"
        "1 error, 0 warnings\n"
    )


def test_check_is_colored_on_a_terminal_and_plain_elsewhere(folder: Path) -> None:
    def output_on_terminal(env: dict[str, str]) -> bytes:
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "forum_runner", "check", write_broken_workflow(folder)]
        plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
        with subprocess.Popen(command, cwd=folder, stdout=theirs, env={**plain, "TERM": "xterm", **env}):
            os.close(theirs)
            parts = []
            try:
                while part := os.read(ours, 4096):
                    parts.append(part)
            except OSError:
                pass  # On Linux, reading fails once the other side is closed.
        os.close(ours)
        return b"".join(parts)

    assert b"\x1b[31mF012\x1b[0m" in output_on_terminal({})
    assert b"\x1b" not in output_on_terminal({"NO_COLOR": "1"})
    assert "\x1b" not in forum("check", write_broken_workflow(folder), cwd=folder).stdout


def test_a_check_report_matches_its_schema(folder: Path) -> None:
    report = json.loads(forum("check", "--json", write_broken_workflow(folder), cwd=folder).stdout)

    jsonschema.Draft202012Validator(json.loads((SCHEMAS / "check-report.schema.json").read_text())).validate(report)
    assert [finding["code"] for finding in report["findings"]] == ["F012"]
    assert report == json.loads(forum("check", "--format", "json", "broken.yaml", cwd=folder).stdout)


def test_check_writes_github_annotations(folder: Path) -> None:
    result = forum("check", "--format", "github", write_broken_workflow(folder), cwd=folder)

    assert result.stdout == (
        "::error file=broken.yaml,line=12,endLine=12,col=19,endColumn=26,title=forum F012"
        "::no agent named 'opertor' in the roster (did you mean 'operator'?)\n"
    )


def test_check_writes_sarif(folder: Path) -> None:
    document = json.loads(forum("check", "--format", "sarif", write_broken_workflow(folder), cwd=folder).stdout)

    run = document["runs"][0]
    assert document["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["F012"]
    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "broken.yaml"}
    assert location["region"] == {"startLine": 12, "startColumn": 19, "endLine": 12, "endColumn": 26}


def test_a_refusal_by_the_policy_exits_6(folder: Path) -> None:
    (folder / "refused.yaml").write_text(WORKFLOW.replace("commands: [git]", "commands: []"))

    assert forum("check", "refused.yaml", cwd=folder).returncode == 6


def test_compile_needs_its_inputs_and_check_does_not(folder: Path) -> None:
    result = forum("compile", "workflow.yaml", cwd=folder)

    assert result.returncode == 2
    assert result.stdout == ""
    assert "F016 input 'since' has no value" in result.stderr


def compile_workflow(folder: Path, *arguments: str) -> Any:
    result = forum("compile", "--json", "workflow.yaml", *arguments, cwd=folder)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_inputs_are_converted_to_the_type_in_the_plan(folder: Path) -> None:
    plan = compile_workflow(folder, "--input", "since=1.10", "--input", "count=5")

    assert {name: item["value"] for name, item in plan["inputs"].items()} == {"since": "1.10", "count": 5}
    assert plan["tasks"]["log"]["run"] == [["git"], ["log"], ["1.10"], ["-5"]]


def test_inputs_on_the_command_line_override_those_from_a_file(folder: Path) -> None:
    (folder / "inputs.json").write_text('{"since": "a", "count": 7}')

    plan = compile_workflow(folder, "--inputs", "inputs.json", "--input", "since=b")

    assert {name: item["value"] for name, item in plan["inputs"].items()} == {"since": "b", "count": 7}


def test_compile_writes_only_the_file_and_prints_its_digest(folder: Path) -> None:
    result = forum("compile", "workflow.yaml", "--input", "since=x", "-o", "plan.json", cwd=folder)

    data = (folder / "plan.json").read_bytes()
    assert result.stdout == f"plan.json: {len(data):,} bytes, digest {json.loads(data)['digest']}\n"
    assert sorted(path.name for path in folder.iterdir()) == ["plan.json", "workflow.yaml"]


@pytest.mark.parametrize("target", ["missing/plan.json", "."])
def test_compile_reports_a_path_that_cannot_be_written(folder: Path, target: str) -> None:
    result = forum("compile", "workflow.yaml", "--input", "since=x", "-o", target, cwd=folder)

    assert result.returncode == 2
    assert result.stderr.startswith("forum: ")
    assert sorted(path.name for path in folder.iterdir()) == ["workflow.yaml"]


def test_a_full_disk_is_reported_with_exit_2(folder: Path) -> None:
    command = f"{sys.executable} -m forum_runner compile --json workflow.yaml --input since=x > /dev/full"
    result = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)

    assert (result.returncode, result.stderr) == (2, "forum: cannot read or write: No space left on device\n")


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "| true", "2>/dev/full"])
def test_closed_or_full_streams_do_not_change_the_exit_code(folder: Path, redirection: str) -> None:
    write_broken_workflow(folder)
    command = f"{sys.executable} -m forum_runner compile broken.yaml {redirection}; echo ${{PIPESTATUS[0]}} >&3"
    read, write = os.pipe()
    with subprocess.Popen(
        ["bash", "-c", f"exec 3>&{write}; {command}"], cwd=folder, pass_fds=[write], stderr=subprocess.DEVNULL
    ):
        os.close(write)
        with os.fdopen(read) as stream:
            assert stream.read() == "2\n"


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_findings_are_printed_in_any_terminal_encoding(folder: Path, encoding: str) -> None:
    (folder / "unicode.yaml").write_text(WORKFLOW.replace("git, version", '"日本"'), encoding="utf-8")

    result = subprocess.run(
        [sys.executable, "-m", "forum_runner", "check", "unicode.yaml"],
        cwd=folder,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )

    assert result.returncode == 6
    assert b"F503 the policy does not allow the command" in result.stdout


def test_a_missing_file_does_not_hide_other_findings(folder: Path) -> None:
    result = forum("check", "nowhere/x.yaml", write_broken_workflow(folder), "workflow.yaml/x", cwd=folder)

    assert result.returncode == 2
    assert [line.split()[1] for line in result.stdout.splitlines() if ": F" in line] == ["F012", "F101", "F101"]


def test_invalid_inputs_are_located_in_their_file(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "in.yaml").write_text("since: x\ncount: many\n")
    (folder / "two.yaml").write_text("since: x\n---\ncount: 1\n")

    wrong_type = forum("compile", "workflow.yaml", "--inputs", "more/in.yaml", cwd=folder)
    two_documents = forum("compile", "workflow.yaml", "--inputs", "two.yaml", cwd=folder)

    assert wrong_type.stderr.startswith("more/in.yaml:2:8: F017 input 'count' does not match its schema")
    assert "    2 | count: many\n" in wrong_type.stderr
    assert two_documents.stderr.startswith("two.yaml:3:1: F124 ")
    assert (wrong_type.returncode, two_documents.returncode) == (2, 2)


def test_an_input_that_is_not_yaml_is_reported_with_the_reason(folder: Path) -> None:
    result = forum("compile", "workflow.yaml", "--input", "since=x", "--input", "count=[1", cwd=folder)

    assert "F017 invalid value for input 'count': invalid YAML" in result.stderr


def test_a_secret_is_never_printed(folder: Path) -> None:
    secret = WORKFLOW.replace("since: {type: string}", 'since: {type: string, secret: true, pattern: "^x"}')
    (folder / "secret.yaml").write_text(secret)
    (folder / "in.yaml").write_text("since: hunter2\n")

    for arguments in (["--input", "since=hunter2"], ["--inputs", "in.yaml"]):
        for command in (["compile"], ["check"], ["check", "--json"], ["check", "--format", "sarif"]):
            result = forum(*command, "secret.yaml", *arguments, cwd=folder)
            assert result.returncode == 2
            assert "F017" in result.stdout + result.stderr
            assert "hunter2" not in result.stdout + result.stderr


def test_a_warning_about_the_inputs_does_not_stop_a_compilation(folder: Path) -> None:
    (folder / "bom.yaml").write_bytes(b"\xef\xbb\xbfsince: x\n")

    result = forum("compile", "workflow.yaml", "--inputs", "bom.yaml", "-o", "plan.json", cwd=folder)

    assert result.returncode == 0
    assert "warning F106" in result.stderr
    assert (folder / "plan.json").exists()


def test_an_unused_plan_in_a_file_is_checked(folder: Path) -> None:
    other = "---\napiVersion: forum/v1\nkind: Plan\nmetadata: {name: other}\ntasks: {a: {agent: x, needs: [b]}}\n"
    (folder / "two.yaml").write_text(WORKFLOW + other)

    assert "F013 no task named 'b'" in forum("check", "two.yaml", cwd=folder).stdout


def test_init_can_be_repeated_after_a_failure(folder: Path) -> None:
    (folder / ".forum").write_text("a file")

    failed = forum("init", ".", cwd=folder)
    (folder / "workflow.yaml").unlink()
    failed_again = forum("init", ".", cwd=folder)
    (folder / ".forum").unlink()

    assert "not overwriting existing files: 'workflow.yaml'" in failed.stderr
    assert failed_again.stderr == "forum: '.forum' is a file, not a folder\n"
    assert forum("init", ".", cwd=folder).returncode == 0
    assert forum("check", "workflow.yaml", cwd=folder).returncode == 0


def test_a_reader_that_closes_the_pipe_early_causes_no_error(folder: Path) -> None:
    command = f"{sys.executable} -m forum_runner schema wave-plan | head -1"
    result = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)

    assert (result.stdout, result.stderr) == ("{\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chekc"], "unknown command 'chekc'; did you mean 'check'?"),
        (["check"], "Missing argument 'FILE...'"),
        (["compile", "workflow.yaml", "--input", "x"], "'x' does not have the form NAME=VALUE"),
        (["explain", "F999"], "unknown code 'F999'"),
        (["schema", "plam"], "unknown schema 'plam'; did you mean 'plan'?"),
        (["check", "--root", "nowhere", "workflow.yaml"], "the folder 'nowhere' does not exist"),
        (["compile", "--json", "-o", "x.json", "workflow.yaml"], "use one of them"),
        (["graph", "workflow.yaml", "-o", "x.png"], "cannot infer a format from the suffix '.png'"),
        (["schema", "plan", "--write", "sub"], "omit NAME"),
        (["check", "./forum:x.yaml"], "which is reserved for forum's own files"),
        (["compile", "workflow.yaml", "--input", "since=x", "-o", "workflow.yaml"], "it is one of the input files"),
        (["check", "--root", "sub", "workflow.yaml"], "'workflow.yaml' is not inside the root 'sub'"),
    ],
)
def test_wrong_usage_exits_2_with_the_reason(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "sub").mkdir()

    result = forum(*arguments, cwd=folder)

    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_an_internal_error_exits_70_and_names_the_report_file(folder: Path) -> None:
    program = (
        "import sys; from forum_runner import cli; from forum_runner.app import workflows\n"
        "def fail(*_): raise RuntimeError('oops')\n"
        "workflows.check = fail; sys.argv = ['forum', 'check', 'workflow.yaml', '--input', 'key=hunter2']; cli.main()"
    )
    env = {**os.environ, "TMPDIR": str(folder)}
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False, env=env
    )

    report = next(folder.glob("forum-defect-*.txt"))
    assert result.returncode == 70
    assert "internal error: RuntimeError: oops" in result.stderr
    assert str(report) in result.stderr
    assert "Traceback" not in result.stderr
    assert "RuntimeError: oops" in report.read_text()
    assert "hunter2" not in report.read_text()


@pytest.mark.requirement("COMPILE-PURE-003")
def test_hash_seed_locale_and_folder_do_not_change_the_compiled_bytes(folder: Path) -> None:
    other = folder / "elsewhere"
    other.mkdir()
    arguments = ["compile", "--json", str(folder / "workflow.yaml"), "--input", "since=x"]

    outputs = {
        forum(*arguments, cwd=cwd, env={"PYTHONHASHSEED": seed, "LC_ALL": locale, "PYTHONUTF8": utf8}).stdout
        for cwd, seed, locale, utf8 in [
            (folder, "1", "C", "0"),
            (other, "2", "C.UTF-8", "1"),
            (ROOT, "77", "POSIX", "0"),
        ]
    }

    assert len(outputs) == 1


def test_the_list_of_commands_shows_the_short_help_of_each() -> None:
    from forum_runner.cli import COMMANDS, cli

    listed = {name: text for section in COMMANDS.values() for name, text in section.items()}
    context = cli.make_context("forum", ["explain"], resilient_parsing=True)

    assert {name: cli.get_command(context, name).short_help for name in listed} == listed  # type: ignore[union-attr]


def test_every_manifest_command_has_help(folder: Path) -> None:
    for command in ("init", "check", "compile", "graph", "explain", "schema"):
        result = forum(command, "--help", cwd=folder)
        assert result.returncode == 0
        assert result.stdout.startswith(f"Usage: forum {command}")
