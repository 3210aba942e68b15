"""`forum-conformance test` with programs that answer, fail and refuse requests."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from suites.command import VALID_ANSWER, Suite
from suites.tiny_set import case, verify_case, write_set

CANONICAL = {"answer": {"verdict": "valid"}, "write": "[1]"}


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def differences(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [(item["place"], item["expected"], item["came"]) for item in result["differences"]]


@pytest.mark.parametrize("options", [(), ("--serve",), ("--jobs", "1")])
def test_a_correct_program_passes(suite: Suite, options: tuple[str, ...]) -> None:
    completed = suite.test({"*": VALID_ANSWER, "canonicalize": CANONICAL}, *options)

    assert (completed.returncode, completed.stderr) == (0, "")
    assert completed.stdout.splitlines() == [
        "                      passed  failed  unsupported  expected failures",
        "canonicalize               1       0            0                  0",
        "verify                     2       0            0                  0",
        "  level 2 chain            2       0            0                  0",
        "passed: 3 of 3 vectors",
    ]


@pytest.mark.parametrize(
    ("behavior", "place", "came"),
    [
        ({"answer": {"verdict": "invalid"}}, "verdict", '"invalid"'),
        ({"answer": {"verdict": "valid", "codes": ["L201"]}}, "codes", '["L201"]'),
        ({"answer": {"verdict": "valid", "first_bad_seq": 3}}, "first_bad_seq", "3"),
        ({"answer": {"verdict": "valid", "levels": {"1": "fail"}}}, "level 1", "fail"),
        ({"answer": {"verdict": "yes"}}, "answer", 'verdict: "yes"'),
        ({"answer": {"verdict": "valid", "id": "ledger/x"}}, "id", '"ledger/x"'),
        ({}, "standard output", "nothing"),
        ({"stdout": "all is well"}, "standard output", "all is well (invalid JSON at character 0)"),
        ({**VALID_ANSWER, "stdout": "done\n"}, "standard output", '{"protocol": 1, "id": "ledger/a"'),
        ({"stdout": "x" * (1024 * 1024 + 1)}, "standard output", "more; the program was killed"),
        ({**VALID_ANSWER, "exit": 1}, "exit status", "exit status 1"),
        ({**VALID_ANSWER, "signal": 11}, "exit status", "killed by SIGSEGV"),
        ({**VALID_ANSWER, "spoil": "ledger.jsonl"}, "the vector's files", "changed: run/ledger.jsonl"),
        ({**VALID_ANSWER, "spoil": "added"}, "the vector's files", "changed: run/added"),
    ],
)
def test_a_failed_vector_is_reported_with_the_place_of_the_difference(
    suite: Suite, behavior: dict[str, Any], place: str, came: str
) -> None:
    results = suite.results({"*": VALID_ANSWER, "ledger/a": behavior}, "--role", "verify")

    first = differences(results["ledger/a"])[0]
    assert (first[0], first[2][: len(came)]) == (place, came)
    assert {id_: result["state"] for id_, result in results.items()} == {"ledger/a": "failed", "ledger/b": "passed"}


def test_a_program_that_hangs_is_killed_and_fails(suite: Suite) -> None:
    completed = suite.test({"*": {"sleep": 3600}}, "--filter", "ledger/a", "--timeout", "0.5", "--json")

    (result,) = json.loads(completed.stdout)["results"]
    assert differences(result) == [("time", "an answer within 0.5 s", "none; the program was killed")]
    assert result["exit_status"] is None


def test_a_program_that_alters_its_files_does_not_change_the_vectors(suite: Suite) -> None:
    suite.test({"*": {**VALID_ANSWER, "spoil": "ledger.jsonl"}}, "--role", "verify")

    assert suite.results({"*": VALID_ANSWER}, "--role", "verify")["ledger/a"]["state"] == "passed"


def test_output_is_compared_byte_by_byte(suite: Suite) -> None:
    results = suite.results({"*": {**VALID_ANSWER, "write": "[1]\n"}}, "--role", "canonicalize")

    assert differences(results["canonical/a"]) == [
        ("output, byte 3", "[1] (from byte 0 in hex: 5b 31 5d)", "[1]\n (from byte 0 in hex: 5b 31 5d 0a)")
    ]


def test_a_program_cannot_read_the_expected_answer(suite: Suite) -> None:
    code = (
        "import json, os, sys; path = os.path.dirname(json.load(sys.stdin)['input'])\n"
        "print(json.dumps({'protocol': 1, 'verdict': 'valid', 'seen': sorted(os.listdir(path))}))"
    )
    (suite.folder / "spy.py").write_text(code)

    completed = suite.test({}, "--json", "--role", "canonicalize", entrypoint=f"'{sys.executable}' spy.py")

    assert json.loads(completed.stdout)["results"][0]["answer"]["seen"] == ["input.json"]


def test_a_role_that_is_not_offered_is_requested_once(suite: Suite) -> None:
    log = suite.folder / "requests"
    code = f"import sys; open({str(log)!r}, 'a').write(sys.argv[1] + ' '); sys.exit(33)"
    (suite.folder / "no.py").write_text(code)

    completed = suite.test({}, entrypoint=f"'{sys.executable}' no.py")

    assert sorted(log.read_text().split()) == ["canonicalize", "verify"]
    assert completed.returncode == 1
    assert completed.stdout.splitlines()[-1] == (
        "not passed: the program offers none of the requested roles: canonicalize, verify"
    )


def test_a_role_that_is_not_offered_does_not_fail_the_others(suite: Suite) -> None:
    completed = suite.test({"*": VALID_ANSWER, "canonicalize": {"exit": 33}})

    assert completed.returncode == 0
    assert "canonicalize          not offered" in completed.stdout.splitlines()
    assert completed.stdout.splitlines()[-1] == "passed: 2 of 3 vectors, 1 of roles that are not offered"


def test_a_requested_role_must_be_offered(suite: Suite) -> None:
    table = {"*": VALID_ANSWER, "canonicalize": {"exit": 33}}

    completed = suite.test(table, "--role", "canonicalize", "--role", "verify")

    assert (completed.returncode, completed.stdout.splitlines()[-1]) == (
        1,
        "not passed: the role canonicalize is not offered",
    )


def test_a_role_cannot_be_refused_after_it_was_answered(suite: Suite) -> None:
    results = suite.results({"*": VALID_ANSWER, "ledger/b": {"exit": 33}}, "--role", "verify")

    assert {id_: result["state"] for id_, result in results.items()} == {
        "ledger/a": "passed",
        "ledger/b": "unsupported",
    }
    assert differences(results["ledger/b"])[0][0] == "exit status"


def test_unsupported_does_not_pass_in_an_offered_role(suite: Suite) -> None:
    table = {"*": VALID_ANSWER, "ledger/b": {"answer": {"verdict": "unsupported"}}}

    for options in ((), ("--serve",)):
        completed = suite.test(table, "--role", "verify", *options)
        assert (completed.returncode, completed.stdout.splitlines()[-1]) == (
            1,
            "not passed: 1 vector unsupported",
        )


def test_a_long_lived_process_offers_roles_by_its_answers(suite: Suite) -> None:
    completed = suite.test({"*": VALID_ANSWER, "canonicalize": {"answer": {"verdict": "unsupported"}}}, "--serve")

    assert (completed.returncode, completed.stderr) == (0, "")
    assert "canonicalize          not offered" in completed.stdout.splitlines()


@pytest.mark.parametrize(
    ("behavior", "place", "came"),
    [
        ({"exit": 3}, "process", "ended without an answer, exit status 3"),
        ({"signal": 9}, "process", "ended without an answer, killed by SIGKILL"),
        ({**VALID_ANSWER, "stdout": "done\n"}, "standard output", "more output after it: done\n"),
        ({"stdout": "garbage\n"}, "standard output", "garbage (invalid JSON at character 0)"),
        ({"answer": {"verdict": "valid", "id": None}}, "answer", "id: null"),
        ({"answer": {"verdict": "valid", "id": "ledger/b"}}, "id", '"ledger/b"'),
    ],
)
def test_a_process_that_fails_a_vector_is_replaced_for_the_next(
    suite: Suite, behavior: dict[str, Any], place: str, came: str
) -> None:
    table = {"*": VALID_ANSWER, "ledger/a": {**behavior, "stderr": "last words"}}

    results = suite.results(table, "--role", "verify", "--serve", "--jobs", "1")

    (difference,) = differences(results["ledger/a"])
    assert (difference[0], difference[2]) == (place, came)
    assert results["ledger/a"]["stderr"] == "last words"
    assert results["ledger/b"]["state"] == "passed"


@pytest.mark.parametrize(
    ("last_statement", "fault"),
    [
        ("time.sleep(3600)", "it did not exit when its standard input was closed, and was killed"),
        ("sys.exit(5)", "after its standard input was closed: exit status 5"),
        ("os.abort()", "after its standard input was closed: killed by SIGABRT"),
        ("print('more')", "after its last answer it wrote more"),
    ],
)
def test_a_process_that_does_not_end_cleanly_does_not_pass(suite: Suite, last_statement: str, fault: str) -> None:
    code = (
        "import json, os, sys, time\n"
        "for line in sys.stdin:\n"
        "    id_ = json.loads(line)['id']\n"
        "    print(json.dumps({'protocol': 1, 'verdict': 'valid', 'id': id_}), flush=True)\n"
        f"{last_statement}"
    )
    (suite.folder / "ends.py").write_text(code)

    completed = suite.test({}, "--role", "verify", "--serve", "--jobs", "1", entrypoint=f"'{sys.executable}' ends.py")

    assert completed.returncode == 1
    assert completed.stdout.splitlines()[-1].startswith(f"not passed: {fault}")


def test_a_program_without_a_long_lived_mode_is_reported(suite: Suite) -> None:
    code = "import sys; sys.exit(33 if sys.argv[1] == 'serve' else 0)"
    (suite.folder / "short.py").write_text(code)

    for arguments in (["test"], ["smoke"]):
        completed = suite.run(
            *arguments, "--serve", "--entrypoint", f"'{sys.executable}' short.py", "--vectors", str(suite.vectors)
        )
        assert (completed.returncode, completed.stderr) == (
            2,
            "forum-conformance: the program does not offer 'serve' (exit status 33); omit --serve\n",
        )


def test_exit_status_33_after_an_answer_is_a_failure(suite: Suite) -> None:
    results = suite.results({"*": VALID_ANSWER, "ledger/b": {"exit": 33}}, "--role", "verify", "--serve", "--jobs", "1")

    assert results["ledger/b"]["state"] == "failed"
    assert differences(results["ledger/b"])[0][2] == "ended without an answer, exit status 33"


def test_a_single_unsupported_vector_does_not_refuse_its_role(suite: Suite) -> None:
    table = {"*": VALID_ANSWER, "ledger/b": {"answer": {"verdict": "unsupported"}}}

    results = suite.results(table, "--serve", "--role", "verify", "--filter", "ledger/b")

    assert results["ledger/b"]["state"] == "unsupported"


def test_a_hanging_long_lived_process_is_reported_with_a_hint_to_flush(suite: Suite) -> None:
    (result,) = suite.results({"*": {"sleep": 3600}}, "--serve", "--filter", "ledger/a", "--timeout", "0.5").values()

    assert differences(result) == [
        ("time", "an answer within 0.5 s", "none; the program was killed; did it flush its output?")
    ]


@pytest.mark.parametrize("mode", [[], ["--serve"]])
def test_a_role_is_abandoned_if_its_first_vectors_all_fail_in_the_same_way(suite: Suite, mode: list[str]) -> None:
    ids = [f"ledger/v-{number:02}" for number in range(30)]
    write_set(suite.vectors, *(verify_case(id_) for id_ in ids))
    log = suite.folder / "requests"
    (suite.folder / "bad.py").write_text(f"import sys; open({str(log)!r}, 'a').write('x'); sys.exit(2)")

    completed = suite.test({}, "--json", *mode, entrypoint=f"'{sys.executable}' bad.py")

    document = json.loads(completed.stdout)
    assert (completed.returncode, len(log.read_text())) == (1, 20)
    assert [result["differences"][0]["place"] == "not run" for result in document["results"]].count(True) == 10
    assert {result["state"] for result in document["results"]} == {"failed"}
    assert document["objections"][1].startswith("10 vectors of verify not run: the first 20 vectors of the role all")


def test_a_role_with_expected_failures_is_not_abandoned(suite: Suite) -> None:
    ids = [f"ledger/v-{number:02}" for number in range(30)]
    write_set(suite.vectors, *(verify_case(id_) for id_ in ids))
    (suite.folder / "known.txt").write_text("ledger/v-03: it crashes\n")
    table = {"*": {"exit": 2}, "ledger/v-29": VALID_ANSWER}

    results = suite.results(table, "--xfail", "known.txt")

    assert results["ledger/v-29"]["state"] == "passed"


def test_levels_change_the_request_and_the_expected_answer(suite: Suite) -> None:
    write_set(suite.vectors, verify_case("ledger/a", {"L405": 2}, level=4))

    completed = suite.test({"*": VALID_ANSWER}, "--level", "3,5", "--json")

    document = json.loads(completed.stdout)
    assert completed.returncode == 0
    assert document["results"][0]["request"] == {"input": "run", "levels": [1, 2, 3, 5]}
    assert document["results"][0]["expected"]["verdict"] == "valid"
    assert [(item["role"], item["level"]) for item in document["tallies"]] == [("verify", None)]
    assert document["tallies"][0]["other_levels"] is True
    assert suite.test({"*": VALID_ANSWER}, "--level", "4").returncode == 1


def test_a_program_gets_a_copy_of_the_run_to_start_from(suite: Suite) -> None:
    request = {"action": "resume", "input": "w.yaml", "root": ".", "before": "before"}
    files = {"w.yaml": b"", "before/ledger.jsonl": b"a\n", "before/lock": b"", "after/ledger.jsonl": b"a\nb\n"}
    write_set(
        suite.vectors,
        case("runs/done", "run", request, {"verdict": "valid", "status": "passed", "output": "after"}),
        case("runs/refused", "run", request, {"verdict": "invalid"}),
        files={"runs/done": files, "runs/refused": {**files, "before/ledger.jsonl": b"z\n"}},
    )
    passed = {"verdict": "valid", "status": "passed"}

    right = {"runs/done": {"answer": passed, "write": {"ledger.jsonl": "a\nb\n", "checkpoint": "beside"}}}
    refused = {"runs/refused": {"answer": {"verdict": "invalid"}}}
    assert suite.test({**right, **refused}).returncode == 0

    wrong = {
        "runs/done": {"answer": passed, "write": {"ledger.jsonl": "a\nc\n"}},
        "runs/refused": {"answer": {"verdict": "invalid"}, "write": {"ledger.jsonl": "z\nb\n"}},
    }
    results = suite.results(wrong)
    assert differences(results["runs/done"]) == [("ledger.jsonl, line 2", "b", "c")]
    assert differences(results["runs/refused"]) == [("ledger.jsonl, line 2", "the end of the file", "b")]


def test_a_bundle_that_does_not_compile_must_write_no_output(suite: Suite) -> None:
    expected = {"verdict": "invalid", "codes": ["F012"]}
    document = case("compile/bad", "compile", {"input": "w.yaml", "root": "."}, expected)
    write_set(suite.vectors, document, files={"compile/bad": {"w.yaml": b""}})

    assert suite.test({"*": {"answer": expected}}).returncode == 0
    results = suite.results({"*": {"answer": expected, "write": "{}"}})
    assert differences(results["compile/bad"]) == [("output", "no output", "a file")]
