"""`forum-conformance test` selects vectors, and lists them without a program."""

import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from suites.command import VALID_ANSWER, Suite
from suites.tiny_set import canonicalize_case, verify_case, write_set

WRONG = {"answer": {"verdict": "valid", "codes": ["L999"]}}


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    suite = Suite(tmp_path)
    write_set(
        suite.vectors,
        canonicalize_case("canonical/a"),
        verify_case("ledger/a", requirements=["LEDGER-CHAIN-001"]),
        verify_case("ledger/broken", {"L501": None}, requirements=["LEDGER-CHAIN-002", "LEDGER-SEAL-001"], level=5),
    )
    return suite


def list_vectors(suite: Suite, *options: str) -> str:
    completed = suite.run("test", "--vectors", "vectors", "--list", *options)
    assert (completed.returncode, completed.stderr) == (0, "")
    return completed.stdout


def list_ids(suite: Suite, *options: str) -> list[str]:
    return [line.split()[0] for line in list_vectors(suite, *options).splitlines()]


def test_the_vectors_can_be_listed_without_a_program(suite: Suite) -> None:
    assert list_vectors(suite) == (
        "canonical/a    canonicalize  -  valid       LEDGER-LINE-005\n"
        "ledger/a       verify        2  valid       LEDGER-CHAIN-001\n"
        "ledger/broken  verify        5  incomplete  LEDGER-CHAIN-002 LEDGER-SEAL-001\n"
    )


def test_on_a_terminal_the_list_has_a_heading(suite: Suite) -> None:
    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "forum_conformance", "test", "--vectors", "vectors", "--list", "--role", "verify"],
        cwd=suite.folder,
        stdout=theirs,
        check=True,
    )
    os.close(theirs)

    output = os.read(ours, 65536).decode()
    os.close(ours)

    assert output.splitlines() == [
        "id             role    level  verdict     requirements",
        "ledger/a       verify  2      valid       LEDGER-CHAIN-001",
        "ledger/broken  verify  5      incomplete  LEDGER-CHAIN-002 LEDGER-SEAL-001",
    ]


def test_the_list_can_be_printed_as_json_lines(suite: Suite) -> None:
    first, second = list_vectors(suite, "--json", "--filter", "ledger/*").splitlines()

    assert json.loads(first)["id"] == "ledger/a"
    assert json.loads(second) == {
        "format": 1,
        "id": "ledger/broken",
        "title": "The title of ledger/broken.",
        "role": "verify",
        "level": 5,
        "requirements": ["LEDGER-CHAIN-002", "LEDGER-SEAL-001"],
        "expected": {
            "verdict": "incomplete",
            "codes": ["L501"],
            "first_bad_seq": None,
            "levels": {"1": "ok", "2": "ok", "3": "ok", "4": "ok", "5": "fail"},
        },
    }


def test_the_list_shows_the_verdict_for_the_selected_levels(suite: Suite) -> None:
    assert list_vectors(suite, "--filter", "broken", "--level", "1-2").split()[:4] == [
        "ledger/broken",
        "verify",
        "5",
        "valid",
    ]


def test_the_vectors_of_the_package_are_the_default(suite: Suite) -> None:
    completed = suite.run("test", "--list", "--role", "canonicalize", "--filter", "canonical/french")

    assert (completed.returncode, completed.stdout.split()[:2]) == (0, ["canonical/french", "canonicalize"])


def test_only_the_vectors_of_a_requirement_are_tested(suite: Suite) -> None:
    results = suite.results({"*": VALID_ANSWER}, "--requirement", "LEDGER-CHAIN-001")

    assert {id_: result["state"] for id_, result in results.items()} == {"ledger/a": "passed"}


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (("--requirement", "LEDGER-SEAL-001"), ["ledger/broken"]),
        (("--requirement", "LEDGER-CHAIN-*"), ["ledger/a", "ledger/broken"]),
        (
            ("--requirement", "LEDGER-LINE-005", "--requirement", "LEDGER-CHAIN-001"),
            ["canonical/a", "ledger/a"],
        ),
        (("--requirement", "LEDGER-*", "--role", "verify", "--filter", "broken"), ["ledger/broken"]),
    ],
)
def test_the_same_vectors_are_listed_and_tested(suite: Suite, options: tuple[str, ...], ids: list[str]) -> None:
    assert list_ids(suite, *options) == ids
    assert list(suite.results({"*": VALID_ANSWER}, *options)) == ids


@pytest.mark.parametrize("mode", [("--list",), ("--entrypoint", "true")])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--requirement", "LEDGER-SEAL-01"),
            "no vector names the requirement 'LEDGER-SEAL-01'; did you mean 'LEDGER-SEAL-001'?",
        ),
        (
            ("--requirement", "LEDGER-SEAL-001", "--requirement", "RUN-EXIT-001"),
            (
                "no vector names the requirement 'RUN-EXIT-001'\n"
                "docs/spec/vectors.md lists the requirements without vectors, with reasons"
            ),
        ),
        (
            ("--requirement", "LEDGER-SEAL-001", "--role", "canonicalize"),
            (
                "the requirement 'LEDGER-SEAL-001' matches none of the vectors that --role selected; "
                "it matches 1 vector with role verify"
            ),
        ),
    ],
)
def test_a_requirement_that_matches_no_vector_exits_2_with_the_reason(
    suite: Suite, mode: tuple[str, ...], options: tuple[str, ...], message: str
) -> None:
    completed = suite.run("test", "--vectors", "vectors", *mode, *options)

    assert (completed.returncode, completed.stdout, completed.stderr) == (2, "", f"forum-conformance: {message}\n")


def test_a_failure_is_reported_with_a_command_that_repeats_only_that_vector(suite: Suite) -> None:
    completed = suite.test({"*": WRONG}, "--requirement", "LEDGER-CHAIN-*")

    lines = completed.stdout.splitlines()
    again = [line.split(None, 2)[2] for line in lines if line.startswith("  run again")]
    assert "  required by LEDGER-SEAL-001, docs/spec/ledger.md" in lines
    alone = [suite.run(*shlex.split(command)[1:]).stdout for command in again]
    assert [(text.count("failed ledger/"), text.splitlines()[0].split(":")[0]) for text in alone] == [
        (1, "failed ledger/a"),
        (1, "failed ledger/broken"),
    ]
