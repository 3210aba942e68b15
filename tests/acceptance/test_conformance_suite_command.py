"""The command line of the suite: options, reports and exit codes."""

import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from forum_conformance import __version__
from forum_conformance.schemas import schema
from suites.command import VALID_ANSWER, Suite
from suites.processes import wait_for_number, wait_until_ended
from suites.table_program import write_entrypoint
from suites.tiny_set import verify_case, write_set

WRONG = {"answer": {"verdict": "invalid"}, "stderr": "looked at \x1b[31mnothing\n"}


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--entrypoint CMD is required"),
        (("--entrypoint", "''"), "the entrypoint is empty"),
        (("--entrypoint", ""), "the entrypoint is empty"),
        (("--entrypoint", "it's"), "cannot split the entrypoint 'it's' into words: No closing quotation"),
        (("--entrypoint", "/nowhere/it"), "cannot start '/nowhere/it': No such file or directory"),
        (("--entrypoint", "/nowhere/it", "--serve"), "cannot start '/nowhere/it': No such file or directory"),
        (("--entrypoint", "true", "--filter", "cat"), "the filter 'cat' matches no vector"),
        (("--entrypoint", "true", "--role", "prove"), "no vector has the role prove"),
        (("--entrypoint", "true", "--xfail", "known.txt"), "known.txt:2: no such vector: 'ledger/z'"),
        (("--entrypoint", "true", "--xfail", "nowhere"), "cannot read or write 'nowhere': No such file or directory"),
        (("--entrypoint", "true", "--badges", "b", "--filter", "ledger"), "a badge covers every vector of a role"),
        (
            ("--entrypoint", "true", "--badges", "b", "--requirement", "LEDGER-LINE-005"),
            "a badge covers every vector of a role: use --badges without --requirement",
        ),
    ],
)
def test_wrong_usage_exits_2_with_the_reason(suite: Suite, options: tuple[str, ...], message: str) -> None:
    (suite.folder / "known.txt").write_text("ledger/a: why\nledger/z: why\n")

    completed = suite.run("test", "--vectors", "vectors", *options)

    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr.startswith(f"forum-conformance: {message}")


@pytest.mark.parametrize("option", [("--jobs", "0"), ("--timeout", "0"), ("--level", "6"), ("--role", "sing")])
def test_an_invalid_value_exits_2(suite: Suite, option: tuple[str, str]) -> None:
    completed = suite.run("test", "--vectors", "vectors", "--entrypoint", "true", *option)

    assert (completed.returncode, completed.stdout) == (2, "")


def test_broken_vectors_exit_2_and_name_the_file(suite: Suite) -> None:
    (suite.vectors / "ledger/b/run/ledger.jsonl").write_bytes(b"spoiled")

    completed = suite.test({"*": VALID_ANSWER}, "--role", "verify")

    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr.endswith("/ledger/b/run/ledger.jsonl' does not match its digest in MANIFEST.json\n")


def test_a_failure_is_reported_immediately_and_in_full_at_the_end(suite: Suite) -> None:
    completed = suite.test({"*": VALID_ANSWER, "ledger/b": WRONG}, "--role", "verify")

    assert completed.stderr == 'failed ledger/b: verdict: expected "valid", got "invalid"\n'
    again = next(line for line in completed.stdout.splitlines() if "run again" in line).split(None, 2)[2]
    assert [line for line in completed.stdout.splitlines() if "run again" not in line] == [
        "failed ledger/b: The title of ledger/b.",
        '  request     verify {"input": "run"}',
        "  differs     verdict",
        '              expected "valid"',
        '              got      "invalid"',
        '  answer      {"protocol": 1, "id": "ledger/b", "verdict": "invalid"}',
        "  required by LEDGER-LINE-005, docs/spec/ledger.md",
        "  stderr      looked at <U+001B>[31mnothing",
        "",
        "                      passed  failed  unsupported  expected failures",
        "verify                     1       1            0                  0",
        "  level 2 chain            1       1            0                  0",
        "not passed: 1 vector failed",
    ]
    alone = suite.run(*shlex.split(again)[1:])
    assert (alone.returncode, alone.stdout.count("failed ledger/b"), "ledger/a" in alone.stdout) == (1, 1, False)


def test_progress_on_a_terminal_rewrites_its_line(suite: Suite) -> None:
    completed = suite.test(
        {"*": VALID_ANSWER, "ledger/b": WRONG}, "--role", "verify", "--progress", "tty", "--jobs", "1"
    )

    # In text mode, a carriage return is read as a line feed.
    assert completed.stderr.split("\n\x1b[K") == [
        "",
        "1 of 2: ledger/a",
        'failed ledger/b: verdict: expected "valid", got "invalid"\n',
        "2 of 2, 1 failed: ledger/b",
        "",
    ]


def test_progress_can_be_turned_off(suite: Suite) -> None:
    assert suite.test({"*": WRONG}, "--role", "verify", "--progress", "none").stderr == ""


def test_expected_failures_are_strict(suite: Suite) -> None:
    known = suite.folder / "known.txt"
    known.write_text("ledger/b: chains are not looked at\n")

    failing = suite.test({"*": VALID_ANSWER, "ledger/b": WRONG}, "--role", "verify", "--xfail", str(known))
    passing = suite.test({"*": VALID_ANSWER}, "--role", "verify", "--xfail", str(known))

    assert (failing.returncode, failing.stderr) == (0, "")
    assert failing.stdout.splitlines()[-1] == "passed: 1 of 2 vectors, 1 failed as expected"
    assert passing.returncode == 1
    assert "  listed      as an expected failure: chains are not looked at" in passing.stdout.splitlines()


def test_every_requested_report_is_written(suite: Suite) -> None:
    (suite.folder / "out").mkdir()
    options = ("--jsonl", "out/r.jsonl", "--junit", "out/r.xml", "--html", "out/r.html", "--badges", "out/badges")

    completed = suite.test({"*": VALID_ANSWER, "ledger/b": WRONG, "canonicalize": {"exit": 33}}, *options)

    out = suite.folder / "out"
    lines = [json.loads(line) for line in (out / "r.jsonl").read_text().splitlines()]
    assert completed.returncode == 1
    assert [line["state"] for line in lines] == ["not offered", "passed", "failed"]
    for line in lines:
        jsonschema.Draft202012Validator(schema("conformance-result.schema.json")).validate(line)
    assert ElementTree.parse(out / "r.xml").getroot().get("failures") == "1"  # noqa: S314 - our own
    assert "<h1>" in (out / "r.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in (out / "badges").iterdir()) == [
        f"{name}.{kind}" for name in ("canonicalize", "verify-level-2", "verify") for kind in ("json", "svg")
    ]


@pytest.mark.parametrize("option", ["--jsonl", "--junit", "--html", "--write-xfail"])
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("vectors/MANIFEST.json/page", "no such directory: 'vectors/MANIFEST.json'"),
        ("nowhere/page", "no such directory: 'nowhere'"),
        ("vectors", "it is a directory"),
    ],
)
def test_a_report_that_cannot_be_written_is_reported_before_any_request(
    suite: Suite, option: str, path: str, reason: str
) -> None:
    completed = suite.test({"*": {**VALID_ANSWER, "child": "asked"}}, option, path)

    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr == f"forum-conformance: cannot write '{path}': {reason}\n"
    assert not (suite.folder / "nowhere").exists()


def test_badges_need_a_writable_folder(suite: Suite) -> None:
    paths = ("nowhere/badges", "vectors/MANIFEST.json")

    results = [suite.test({"*": VALID_ANSWER}, "--badges", path) for path in paths]

    assert [(result.returncode, result.stderr) for result in results] == [
        (2, "forum-conformance: cannot write 'nowhere/badges': no such directory: 'nowhere'\n"),
        (2, "forum-conformance: cannot write 'vectors/MANIFEST.json': it is not a directory\n"),
    ]


def test_automatic_progress_does_not_repeat_failures_in_a_shared_stream(suite: Suite) -> None:
    command = write_entrypoint({"*": VALID_ANSWER, "ledger/b": WRONG}, suite.folder)
    command_line = [sys.executable, "-m", "forum_conformance", "test", "--entrypoint", command, "--vectors", "vectors"]

    counts = {
        progress: subprocess.run(
            [*command_line, "--role", "verify", "--progress", progress],
            cwd=suite.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        ).stdout.count("failed ledger/b")
        for progress in ("auto", "plain")
    }

    assert counts == {"auto": 1, "plain": 2}


def test_failures_can_be_written_to_a_list_of_expected_failures(suite: Suite) -> None:
    table = {"*": VALID_ANSWER, "ledger/b": WRONG}

    first = suite.test(table, "--role", "verify", "--write-xfail", "known.txt")
    second = suite.test(table, "--role", "verify", "--xfail", "known.txt", "--write-xfail", "known.txt")

    assert (first.returncode, second.returncode) == (1, 0)
    assert (suite.folder / "known.txt").read_text() == 'ledger/b: verdict: expected "valid", got "invalid"\n'


def test_the_document_names_the_suite_the_vectors_and_the_time(suite: Suite) -> None:
    document = json.loads(suite.test({"*": VALID_ANSWER}, "--role", "verify", "--json").stdout)

    at = document["suite"].pop("at")
    manifest = hashlib.sha256((suite.vectors / "MANIFEST.json").read_bytes()).hexdigest()
    assert document["suite"] == {"version": __version__, "manifest_sha256": manifest}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", at)


def test_version_prints_the_version_of_the_distribution(suite: Suite) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "conformance" / "pyproject.toml").read_text())

    completed = suite.run("--version")

    assert (completed.returncode, completed.stdout) == (0, f"forum-conformance {project['project']['version']}\n")


def test_results_are_ordered_by_id_not_by_completion(suite: Suite) -> None:
    ids = [f"ledger/v-{number}" for number in range(6)]
    write_set(suite.vectors, *(verify_case(id_) for id_ in ids))
    slow = {id_: {**VALID_ANSWER, "sleep": 0.3 if number % 2 else 0} for number, id_ in enumerate(ids)}

    assert list(suite.results(slow, "--jobs", "6")) == ids


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("mode", [[], ["--serve"]])
def test_an_interrupt_reports_finished_vectors_and_leaves_no_processes(
    suite: Suite, signal_: signal.Signals, mode: list[str]
) -> None:
    child = suite.folder / "child"
    command = write_entrypoint({"*": VALID_ANSWER, "ledger/b": {"child": str(child), "sleep": 3600}}, suite.folder)
    options = ["--role", "verify", "--jobs", "1", "--jsonl", "r.jsonl", "--timeout", "600", *mode]
    process = subprocess.Popen(
        [sys.executable, "-m", "forum_conformance", "test", "--entrypoint", command, "--vectors", "vectors", *options],
        cwd=suite.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    pid = wait_for_number(child)

    process.send_signal(signal_)
    out, _ = process.communicate()

    assert process.returncode == 130
    assert out.splitlines()[-1] == "interrupted: 1 of 2 vectors were run"
    assert json.loads((suite.folder / "r.jsonl").read_text())["id"] == "ledger/a"
    wait_until_ended(pid)


def test_no_temporary_files_remain(suite: Suite) -> None:
    temporary_folder = suite.folder / "tmp"
    temporary_folder.mkdir()
    command = write_entrypoint({"*": VALID_ANSWER}, suite.folder)

    completed = subprocess.run(
        [sys.executable, "-m", "forum_conformance", "test", "--vectors", "vectors", "--entrypoint", command],
        cwd=suite.folder,
        env={**os.environ, "TMPDIR": str(temporary_folder)},
        capture_output=True,
        check=False,
    )

    assert completed.returncode == 1
    assert list(temporary_folder.iterdir()) == []


def test_smoke_reports_for_each_role_whether_a_program_follows_the_protocol(suite: Suite) -> None:
    command = write_entrypoint({"verify": VALID_ANSWER, "canonicalize": {"exit": 33}}, suite.folder)
    bad = "silent, crashing, hanging, answering garbage, answering wrongly"

    completed = suite.run("smoke", "--entrypoint", command, "--vectors", "vectors")

    assert (completed.returncode, completed.stderr) == (0, "")
    assert completed.stdout.splitlines() == [
        "vectors: 3, and all 9 files match their digests",
        f"harness: fails programs that are {bad}; passes one that is right",
        "canonicalize  not offered",
        "verify        offered, and the answer to ledger/a is right",
    ]


@pytest.mark.parametrize(
    ("behavior", "finding", "hint", "code"),
    [
        ({"stdout": "hello"}, "violates the protocol: standard output: ", "print one JSON object", 1),
        ({"exit": 1}, "violates the protocol: exit status: ", "exit with 0 after an answer", 1),
        ({"answer": {"verdict": "fine"}}, "violates the protocol: answer: ", "an answer is an object", 1),
        (WRONG, "offered, but the answer to ledger/a is wrong: verdict: ", "forum-conformance test --role verify", 0),
        (
            {"answer": {"verdict": "unsupported"}},
            "offered, but answers ledger/a with 'unsupported'",
            "if it checks only some levels, pass --level",
            0,
        ),
    ],
)
def test_smoke_gives_a_hint_for_each_kind_of_problem(
    suite: Suite, behavior: dict[str, object], finding: str, hint: str, code: int
) -> None:
    command = write_entrypoint({"verify": behavior, "canonicalize": {"exit": 33}}, suite.folder)

    completed = suite.run("smoke", "--entrypoint", command, "--vectors", "vectors")

    *_, line, advice = completed.stdout.splitlines()
    assert completed.returncode == code
    assert line.startswith(f"verify        {finding}")
    assert advice.startswith(f"              hint: {hint}")


def test_smoke_supports_levels_and_the_long_lived_mode(suite: Suite) -> None:
    code = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    request = json.loads(line)\n"
        "    verdict = 'valid' if request.get('levels') == [1, 2] else 'unsupported'\n"
        "    print(json.dumps({'protocol': 1, 'verdict': verdict, 'id': request['id']}), flush=True)"
    )
    (suite.folder / "partial.py").write_text(code)
    command = ["smoke", "--entrypoint", f"'{sys.executable}' partial.py", "--vectors", "vectors", "--serve"]

    completed, all_levels = suite.run(*command, "--level", "1-2"), suite.run(*command)

    assert (completed.returncode, completed.stdout.splitlines()[-2:]) == (
        0,
        [
            "canonicalize  not offered: answers canonical/a with 'unsupported'",
            "verify        offered, and the answer to ledger/a is right",
        ],
    )
    assert (all_levels.returncode, all_levels.stdout.splitlines()[-1]) == (1, "the program offers no role")
    assert "              hint: if it checks only some levels, pass --level, such as --level 1-2" in (
        all_levels.stdout.splitlines()
    )


def test_smoke_fails_a_program_that_offers_no_role(suite: Suite) -> None:
    completed = suite.run(
        "smoke", "--entrypoint", write_entrypoint({"*": {"exit": 33}}, suite.folder), "--vectors", "vectors"
    )

    assert (completed.returncode, completed.stdout.splitlines()[-1]) == (1, "the program offers no role")


def test_smoke_reports_broken_vectors_and_a_missing_program(suite: Suite) -> None:
    missing = suite.run("smoke", "--entrypoint", "/nowhere/it", "--vectors", "vectors")
    (suite.vectors / "canonical/a/output.json").write_bytes(b"")
    broken = suite.run("smoke", "--entrypoint", "true", "--vectors", "vectors")

    assert (missing.returncode, missing.stderr.partition(": ")[2]) == (
        2,
        "cannot start '/nowhere/it': No such file or directory\n",
    )
    assert broken.returncode == 2
    assert broken.stderr.endswith("output.json' does not match its digest in MANIFEST.json\n")
