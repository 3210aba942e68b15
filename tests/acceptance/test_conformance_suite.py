"""`forum-conformance test` against programs that answer, fail and refuse in every way that the protocol knows."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from suites.command import RIGHT, Suite
from suites.tiny_set import case, verify_case, write_set

CANONICAL = {"answer": {"verdict": "valid"}, "write": "[1]"}


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def differences(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [(each["place"], each["expected"], each["came"]) for each in result["differences"]]


@pytest.mark.parametrize("options", [(), ("--serve",), ("--jobs", "1")])
def test_a_right_program_passes(suite: Suite, options: tuple[str, ...]) -> None:
    done = suite.test({"*": RIGHT, "canonicalize": CANONICAL}, *options)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "                      passed  failed  unsupported  expected failures",
        "canonicalize               1       0            0                  0",
        "verify                     2       0            0                  0",
        "  level 2 chain            2       0            0                  0",
        "passed: 3 of 3 vectors",
    ]


@pytest.mark.parametrize(
    ("does", "place", "came"),
    [
        ({"answer": {"verdict": "invalid"}}, "verdict", '"invalid"'),
        ({"answer": {"verdict": "valid", "codes": ["L201"]}}, "codes", '["L201"]'),
        ({"answer": {"verdict": "valid", "first_bad_seq": 3}}, "first_bad_seq", "3"),
        ({"answer": {"verdict": "valid", "levels": {"1": "fail"}}}, "level 1", "fail"),
        ({"answer": {"verdict": "yes"}}, "answer", 'verdict: "yes"'),
        ({"answer": {"verdict": "valid", "id": "ledger/x"}}, "id", '"ledger/x"'),
        ({}, "standard output", "nothing"),
        ({"stdout": "all is well"}, "standard output", "all is well (not JSON, from character 0)"),
        ({**RIGHT, "stdout": "done\n"}, "standard output", '{"protocol": 1, "id": "ledger/a"'),
        ({"stdout": "x" * (1024 * 1024 + 1)}, "standard output", "more; the program was killed"),
        ({**RIGHT, "exit": 1}, "exit status", "exit status 1"),
        ({**RIGHT, "signal": 11}, "exit status", "killed by SIGSEGV"),
        ({**RIGHT, "spoil": "ledger.jsonl"}, "the vector's files", "changed: run/ledger.jsonl"),
        ({**RIGHT, "spoil": "added"}, "the vector's files", "changed: run/added"),
    ],
)
def test_a_wrong_program_fails_where_it_is_wrong(suite: Suite, does: dict[str, Any], place: str, came: str) -> None:
    results = suite.results({"*": RIGHT, "ledger/a": does}, "--role", "verify")

    first = differences(results["ledger/a"])[0]
    assert (first[0], first[2][: len(came)]) == (place, came)
    assert {id_: result["state"] for id_, result in results.items()} == {"ledger/a": "failed", "ledger/b": "passed"}


def test_a_program_that_hangs_is_killed_and_fails(suite: Suite) -> None:
    done = suite.test({"*": {"sleep": 3600}}, "--filter", "ledger/a", "--timeout", "0.5", "--json")

    (result,) = json.loads(done.stdout)["results"]
    assert differences(result) == [("time", "an answer within 0.5 s", "none; the program was killed")]
    assert result["exit_status"] is None


def test_vectors_are_as_they_were_after_a_program_spoiled_its_copy(suite: Suite) -> None:
    suite.test({"*": {**RIGHT, "spoil": "ledger.jsonl"}}, "--role", "verify")

    assert suite.results({"*": RIGHT}, "--role", "verify")["ledger/a"]["state"] == "passed"


def test_output_is_compared_to_the_byte(suite: Suite) -> None:
    results = suite.results({"*": {**RIGHT, "write": "[1]\n"}}, "--role", "canonicalize")

    assert differences(results["canonical/a"]) == [
        ("output, byte 3", "[1] (from byte 0 in hex: 5b 31 5d)", "[1]\n (from byte 0 in hex: 5b 31 5d 0a)")
    ]


def test_a_program_cannot_read_what_is_expected_of_it(suite: Suite) -> None:
    code = (
        "import json, os, sys; path = os.path.dirname(json.load(sys.stdin)['input'])\n"
        "print(json.dumps({'protocol': 1, 'verdict': 'valid', 'seen': sorted(os.listdir(path))}))"
    )
    (suite.folder / "spy.py").write_text(code)

    done = suite.test({}, "--json", "--role", "canonicalize", entrypoint=f"'{sys.executable}' spy.py")

    assert json.loads(done.stdout)["results"][0]["answer"]["seen"] == ["input.json"]


def test_a_role_that_is_not_offered_is_asked_for_once(suite: Suite) -> None:
    asked = suite.folder / "asked"
    code = f"import sys; open({str(asked)!r}, 'a').write(sys.argv[1] + ' '); sys.exit(33)"
    (suite.folder / "no.py").write_text(code)

    done = suite.test({}, entrypoint=f"'{sys.executable}' no.py")

    assert sorted(asked.read_text().split()) == ["canonicalize", "verify"]
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == (
        "not passed: the program offers none of the requested roles: canonicalize, verify"
    )


def test_what_is_not_offered_does_not_fail_what_is(suite: Suite) -> None:
    done = suite.test({"*": RIGHT, "canonicalize": {"exit": 33}})

    assert done.returncode == 0
    assert "canonicalize          not offered" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "passed: 2 of 3 vectors, 1 of roles that are not offered"


def test_a_role_that_is_named_must_be_offered(suite: Suite) -> None:
    table = {"*": RIGHT, "canonicalize": {"exit": 33}}

    done = suite.test(table, "--role", "canonicalize", "--role", "verify")

    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "not passed: the role canonicalize is not offered")


def test_a_role_cannot_be_refused_after_it_was_answered(suite: Suite) -> None:
    results = suite.results({"*": RIGHT, "ledger/b": {"exit": 33}}, "--role", "verify")

    assert {id_: result["state"] for id_, result in results.items()} == {
        "ledger/a": "passed",
        "ledger/b": "unsupported",
    }
    assert differences(results["ledger/b"])[0][0] == "exit status"


def test_unsupported_is_no_pass_in_a_role_that_is_offered(suite: Suite) -> None:
    table = {"*": RIGHT, "ledger/b": {"answer": {"verdict": "unsupported"}}}

    for options in ((), ("--serve",)):
        done = suite.test(table, "--role", "verify", *options)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (
            1,
            "not passed: 1 vector unsupported",
        )


def test_one_process_tells_by_its_answers_which_roles_it_offers(suite: Suite) -> None:
    done = suite.test({"*": RIGHT, "canonicalize": {"answer": {"verdict": "unsupported"}}}, "--serve")

    assert (done.returncode, done.stderr) == (0, "")
    assert "canonicalize          not offered" in done.stdout.splitlines()


@pytest.mark.parametrize(
    ("does", "place", "came"),
    [
        ({"exit": 3}, "process", "ended without an answer, exit status 3"),
        ({"signal": 9}, "process", "ended without an answer, killed by SIGKILL"),
        ({**RIGHT, "stdout": "done\n"}, "standard output", "more: done\n"),
        ({"stdout": "garbage\n"}, "standard output", "garbage (not JSON, from character 0)"),
        ({"answer": {"verdict": "valid", "id": None}}, "answer", "id: null"),
        ({"answer": {"verdict": "valid", "id": "ledger/b"}}, "id", '"ledger/b"'),
    ],
)
def test_a_process_that_fails_one_vector_is_replaced_for_the_next(
    suite: Suite, does: dict[str, Any], place: str, came: str
) -> None:
    table = {"*": RIGHT, "ledger/a": {**does, "stderr": "last words"}}

    results = suite.results(table, "--role", "verify", "--serve", "--jobs", "1")

    (difference,) = differences(results["ledger/a"])
    assert (difference[0], difference[2]) == (place, came)
    assert results["ledger/a"]["stderr"] == "last words"
    assert results["ledger/b"]["state"] == "passed"


@pytest.mark.parametrize(
    ("at_the_end", "told"),
    [
        ("time.sleep(3600)", "it did not end when its standard input was closed, and was killed"),
        ("sys.exit(5)", "when its standard input was closed: exit status 5"),
        ("os.abort()", "when its standard input was closed: killed by SIGABRT"),
        ("print('more')", "after its last answer it wrote more"),
    ],
)
def test_a_process_that_ends_badly_does_not_pass(suite: Suite, at_the_end: str, told: str) -> None:
    code = (
        "import json, os, sys, time\n"
        "for line in sys.stdin:\n"
        "    id_ = json.loads(line)['id']\n"
        "    print(json.dumps({'protocol': 1, 'verdict': 'valid', 'id': id_}), flush=True)\n"
        f"{at_the_end}"
    )
    (suite.folder / "ends.py").write_text(code)

    done = suite.test({}, "--role", "verify", "--serve", "--jobs", "1", entrypoint=f"'{sys.executable}' ends.py")

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith(f"not passed: {told}")


def test_a_program_without_a_long_lived_mode_says_so_and_is_not_asked(suite: Suite) -> None:
    code = "import sys; sys.exit(33 if sys.argv[1] == 'serve' else 0)"
    (suite.folder / "short.py").write_text(code)

    for arguments in (["test"], ["smoke"]):
        done = suite.run(
            *arguments, "--serve", "--entrypoint", f"'{sys.executable}' short.py", "--vectors", str(suite.vectors)
        )
        assert (done.returncode, done.stderr) == (
            2,
            "forum-conformance: the program does not offer 'serve' (exit status 33); omit --serve\n",
        )


def test_a_process_that_has_answered_fails_with_exit_status_33(suite: Suite) -> None:
    results = suite.results({"*": RIGHT, "ledger/b": {"exit": 33}}, "--role", "verify", "--serve", "--jobs", "1")

    assert results["ledger/b"]["state"] == "failed"
    assert differences(results["ledger/b"])[0][2] == "ended without an answer, exit status 33"


def test_one_vector_that_is_unsupported_alone_does_not_refuse_its_role(suite: Suite) -> None:
    table = {"*": RIGHT, "ledger/b": {"answer": {"verdict": "unsupported"}}}

    results = suite.results(table, "--serve", "--role", "verify", "--filter", "ledger/b")

    assert results["ledger/b"]["state"] == "unsupported"


def test_a_long_lived_process_that_hangs_is_asked_whether_it_flushes(suite: Suite) -> None:
    (result,) = suite.results({"*": {"sleep": 3600}}, "--serve", "--filter", "ledger/a", "--timeout", "0.5").values()

    assert differences(result) == [
        ("time", "an answer within 0.5 s", "none; the program was killed; did it flush its output?")
    ]


@pytest.mark.parametrize("mode", [[], ["--serve"]])
def test_a_role_whose_first_vectors_all_fail_in_the_same_way_is_asked_no_further(suite: Suite, mode: list[str]) -> None:
    ids = [f"ledger/v-{number:02}" for number in range(30)]
    write_set(suite.vectors, *(verify_case(id_) for id_ in ids))
    asked = suite.folder / "asked"
    (suite.folder / "bad.py").write_text(f"import sys; open({str(asked)!r}, 'a').write('x'); sys.exit(2)")

    done = suite.test({}, "--json", *mode, entrypoint=f"'{sys.executable}' bad.py")

    document = json.loads(done.stdout)
    assert (done.returncode, len(asked.read_text())) == (1, 20)
    assert [result["differences"][0]["place"] == "not asked" for result in document["results"]].count(True) == 10
    assert {result["state"] for result in document["results"]} == {"failed"}
    assert document["objections"][1].startswith("not asked are 10 of verify: the first 20 vectors of the role all")


def test_a_role_of_which_some_are_expected_to_fail_is_asked_whole(suite: Suite) -> None:
    ids = [f"ledger/v-{number:02}" for number in range(30)]
    write_set(suite.vectors, *(verify_case(id_) for id_ in ids))
    (suite.folder / "known.txt").write_text("ledger/v-03: it crashes\n")
    table = {"*": {"exit": 2}, "ledger/v-29": RIGHT}

    results = suite.results(table, "--xfail", "known.txt")

    assert results["ledger/v-29"]["state"] == "passed"


def test_levels_change_what_is_asked_and_what_is_expected(suite: Suite) -> None:
    write_set(suite.vectors, verify_case("ledger/a", {"L405": 2}, level=4))

    done = suite.test({"*": RIGHT}, "--level", "3,5", "--json")

    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert document["results"][0]["request"] == {"input": "run", "levels": [1, 2, 3, 5]}
    assert document["results"][0]["expected"]["verdict"] == "valid"
    assert [(each["role"], each["level"]) for each in document["tallies"]] == [("verify", None)]
    assert document["tallies"][0]["other_levels"] is True
    assert suite.test({"*": RIGHT}, "--level", "4").returncode == 1


def test_a_program_is_given_a_copy_of_the_run_that_it_starts_from(suite: Suite) -> None:
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
    assert differences(results["runs/refused"]) == [("ledger.jsonl, line 2", "the end", "b")]


def test_a_bundle_that_does_not_compile_leaves_nothing(suite: Suite) -> None:
    expected = {"verdict": "invalid", "codes": ["F012"]}
    document = case("compile/bad", "compile", {"input": "w.yaml", "root": "."}, expected)
    write_set(suite.vectors, document, files={"compile/bad": {"w.yaml": b""}})

    assert suite.test({"*": {"answer": expected}}).returncode == 0
    results = suite.results({"*": {"answer": expected, "write": "{}"}})
    assert differences(results["compile/bad"]) == [("output", "nothing is written", "a file")]
