"""`forum conform`: forum as a program under test, with one process per request or one for all requests."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "conformance" / "vectors" / "v1"
FORUM = [sys.executable, "-m", "forum_runner", "conform"]
PATIENCE_S = 120
PATH_MEMBERS = ("input", "root", "inputs", "script", "base", "cache")
RUN = VECTORS / "runs" / "two-tasks" / "expected"
PAUSED = VECTORS / "runs" / "gate-without-a-deadline" / "expected"
# The members of every `canonicalize` request; tests add its paths.
CANONICALIZE = {"protocol": 1, "id": "canonical/text", "role": "canonicalize"}
RUN_VECTORS = [
    "runs/two-tasks",
    "runs/failure-stop",
    "runs/route-without-an-agent",
    "runs/decide",
    "runs/resume-after-an-edit",
    "runs/resume-a-sealed-run",
    "runs/redact",
    "runs/reuse-from",
    "runs/reuse-from-an-invalid-ledger",
    "runs/cache",
    "runs/secret-scrubbed",
    "runs/script-given",
]


def conform(role: str, stdin: bytes, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*FORUM, role], cwd=cwd, input=stdin, capture_output=True, timeout=PATIENCE_S, check=False)


def line(request: Mapping[str, Any]) -> bytes:
    return json.dumps(request, default=str).encode() + b"\n"


def request_of(name: str, output: Path) -> dict[str, Any]:
    """The request that the suite sends for a `runs` vector. A run to start from is copied to `output`."""
    folder = VECTORS / name
    members = json.loads((folder / "case.json").read_text(encoding="utf-8"))["request"]
    if (before := members.pop("before", None)) is not None:
        shutil.copytree(folder / before, output)
    absolute = {key: str(folder / value) if key in PATH_MEMBERS else value for key, value in members.items()}
    return {"protocol": 1, "id": name, "role": "run", **absolute, "output": str(output)}


def check_answer(name: str, answer: Mapping[str, Any], output: Path) -> None:
    case = json.loads((VECTORS / name / "case.json").read_text(encoding="utf-8"))
    expected = case["expected"]
    assert {key: answer.get(key) for key in ("protocol", "id", "verdict", "status")} == {
        "protocol": 1,
        "id": name,
        "verdict": expected["verdict"],
        "status": expected.get("status"),
    }
    assert answer.get("codes", []) == expected.get("codes", [])
    if "output" in expected:
        expected_output = VECTORS / name / expected["output"]
        expected_files = {
            path.relative_to(expected_output): path.read_bytes()
            for path in expected_output.rglob("*")
            if path.is_file()
        }
        assert {path: (output / path).read_bytes() for path in expected_files} == expected_files


@pytest.mark.requirement("RUN-VIRTUAL-001", "RUN-VIRTUAL-006", "RUN-VIRTUAL-007", "RUN-REUSE-003")
@pytest.mark.parametrize("name", RUN_VECTORS)
def test_a_run_matches_its_vector(tmp_path: Path, name: str) -> None:
    output = tmp_path / "output"

    result = conform("run", line(request_of(name, output)), tmp_path)

    assert (result.returncode, result.stderr) == (0, b"")
    check_answer(name, json.loads(result.stdout), output)


def test_one_process_answers_requests_in_order(tmp_path: Path) -> None:
    stdin = b"".join(line(request_of(name, tmp_path / name)) for name in RUN_VECTORS)

    result = conform("serve", stdin, tmp_path)

    assert (result.returncode, result.stderr) == (0, b"")
    answers = result.stdout.splitlines()
    assert len(answers) == len(RUN_VECTORS)
    for name, answer in zip(RUN_VECTORS, answers, strict=True):
        check_answer(name, json.loads(answer), tmp_path / name)


def test_a_request_is_answered_before_the_next_one_is_read(tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text('{"b": 1.0}', encoding="utf-8")
    request = {**CANONICALIZE, "input": tmp_path / "input.json", "output": tmp_path / "output.json"}

    with subprocess.Popen([*FORUM, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line(request))
        process.stdin.flush()
        first = json.loads(process.stdout.readline())
        rest, _ = process.communicate(timeout=PATIENCE_S)

    assert first == {"protocol": 1, "id": "canonical/text", "verdict": "valid"}
    assert (process.returncode, rest) == (0, b"")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ('{"b": 1.0, "a": "\\u00e9", "c": -0}', '{"a":"\u00e9","b":1,"c":0}'),
        ("[1e21, 9007199254740993.0]", "[1e+21,9007199254740992]"),
        ('{"a": 1, "\\u0061": 1}', None),
        ("[9007199254740992]", None),
        ("[1e400]", None),
        ('["\\ud800"]', None),
        ('{"\\ud800": 1}', None),
        ("[NaN]", None),
        ("\ufeff[]", None),
        ("[] []", None),
        ("", None),
        ("[" * 100_000, None),
    ],
)
def test_json_is_canonicalized_or_refused(tmp_path: Path, text: str, canonical: str | None) -> None:
    (tmp_path / "input.json").write_text(text, encoding="utf-8")
    output = tmp_path / "output.json"
    request = {**CANONICALIZE, "input": tmp_path / "input.json", "output": output}

    result = conform("canonicalize", line(request), tmp_path)

    assert (result.returncode, result.stderr) == (0, b"")
    assert json.loads(result.stdout)["verdict"] == ("invalid" if canonical is None else "valid")
    assert (output.read_text(encoding="utf-8") if output.exists() else None) == canonical


def test_a_bundle_is_compiled_or_its_findings_are_reported(tmp_path: Path) -> None:
    bundle = VECTORS / "runs" / "two-tasks" / "bundle"
    members = {"protocol": 1, "id": "compile/bundle", "role": "compile", "root": bundle}
    valid = {**members, "input": bundle / "workflow.json", "output": tmp_path / "plan.json"}
    broken = {**members, "input": bundle / "nothing.json", "output": tmp_path / "no-plan.json"}

    result = conform("serve", line(valid) + line(broken), tmp_path)

    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["verdict"], first["codes"], first["warnings"]) == ("valid", [], [])
    assert (tmp_path / "plan.json").read_bytes() == (RUN / "wave-plan.json").read_bytes()
    assert (second["verdict"], second["codes"]) == ("invalid", ["F101"])
    assert not (tmp_path / "no-plan.json").exists()


def verify(path: Path, tmp_path: Path, **members: Any) -> dict[str, Any]:
    request = {"protocol": 1, "id": "ledger/some", "role": "verify", "input": path, **members}
    result = conform("verify", line(request), tmp_path)
    assert (result.returncode, result.stderr) == (0, b"")
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def test_a_ledger_is_verified_at_the_requested_levels(tmp_path: Path) -> None:
    altered = tmp_path / "altered"
    shutil.copytree(RUN, altered)
    (altered / "ledger.jsonl").write_bytes(
        (RUN / "ledger.jsonl").read_bytes().replace(b'"attempt":1', b'"attempt":2', 1)
    )

    valid, paused, invalid = verify(RUN, tmp_path), verify(PAUSED, tmp_path), verify(altered, tmp_path)
    ledger_alone = verify(RUN / "ledger.jsonl", tmp_path, levels=[1, 2, 3, 4, 5])
    two_levels = verify(PAUSED, tmp_path, levels=[1, 2], expect_head="0" * 64)

    assert (valid["verdict"], valid["codes"], valid["first_bad_seq"]) == ("valid", [], None)
    assert valid["levels"] == dict.fromkeys("12345", "ok")
    assert (paused["verdict"], paused["codes"]) == ("incomplete", ["L501"])
    assert (invalid["verdict"], invalid["codes"], invalid["first_bad_seq"]) == ("invalid", ["L201"], 3)
    assert ledger_alone["levels"] == {"1": "ok", "2": "ok", "3": "not checked", "4": "not checked", "5": "ok"}
    assert (two_levels["verdict"], two_levels["levels"]["5"]) == ("valid", "not checked")


def test_proofs_and_checkpoints_are_created_and_checked(tmp_path: Path) -> None:
    request = {"protocol": 1, "id": "proofs/some", "role": "prove", "input": RUN / "ledger.jsonl"}
    proof, checkpoint = tmp_path / "proof.json", tmp_path / "checkpoint"
    requests = [
        {**request, "action": "inclusion", "seq": 3, "size": 8, "output": proof},
        {**request, "action": "checkpoint", "size": 8, "output": checkpoint},
        {**request, "action": "check", "input": proof, "checkpoint": checkpoint},
        {**request, "action": "consistency", "from_size": 5, "size": 9, "output": proof},
        {**request, "action": "check", "input": proof, "checkpoint": checkpoint},
        {**request, "action": "inclusion", "seq": 8, "size": 8, "output": tmp_path / "none.json"},
        {**request, "action": "checkpoint", "size": 99, "output": tmp_path / "none.json"},
    ]

    result = conform("serve", b"".join(map(line, requests)), tmp_path)

    answers = [json.loads(answer) for answer in result.stdout.splitlines()]
    verdicts = [(answer["verdict"], answer.get("codes", [])) for answer in answers]
    assert verdicts == [*[("valid", [])] * 4, ("invalid", ["L509"]), ("invalid", []), ("invalid", [])]
    assert not (tmp_path / "none.json").exists()


def malformed_requests() -> list[Any]:
    valid = {**CANONICALIZE, "input": "/input.json", "output": "/output.json"}
    cases = {
        "nothing": b"",
        "not JSON": b"{",
        "not an object": b"[]",
        "not UTF-8": b'{"protocol": 1, "id": "\xff"}',
        "a duplicate key": b'{"protocol": 1, "protocol": 1}',
        "an unknown protocol": line({**valid, "protocol": 2}),
        "no protocol": line({name: value for name, value in valid.items() if name != "protocol"}),
        "no input": line({name: value for name, value in valid.items() if name != "input"}),
        "a member of a different role": line({**valid, "levels": [1, 2]}),
        "an unknown member": line({**valid, "more": 1}),
        "a number for a path": line({**valid, "input": 1}),
        "a lone surrogate": line({**valid, "input": "/\ud800"}),
        "a different role": line({**valid, "role": "verify"}),
        "two requests": line(valid) + line(valid),
    }
    return [pytest.param(data, id=name) for name, data in cases.items()]


@pytest.mark.parametrize("stdin", malformed_requests())
def test_an_invalid_request_is_not_answered(tmp_path: Path, stdin: bytes) -> None:
    result = conform("canonicalize", stdin, tmp_path)

    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.startswith(b"forum: invalid request: ")
    assert b"Traceback" not in result.stderr


def test_a_request_with_an_unknown_action_is_not_answered(tmp_path: Path) -> None:
    request = {"protocol": 1, "id": "runs/some", "role": "run", "action": "stop", "input": "/w", "output": "/o"}

    result = conform("run", line({**request, "root": "/"}), tmp_path)

    assert (result.returncode, result.stdout) == (2, b"")


def test_a_request_for_a_missing_file_is_not_answered(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    requests: dict[str, dict[str, Any]] = {
        "canonicalize": {"input": missing, "output": tmp_path / "output"},
        "verify": {"input": missing},
        "prove": {"action": "check", "input": missing},
    }

    for role, members in requests.items():
        result = conform(role, line({"protocol": 1, "id": "some/id", "role": role, **members}), tmp_path)

        assert (result.returncode, result.stdout) == (2, b"")
        assert b"missing" in result.stderr


def test_a_request_with_a_usage_error_is_answered_and_does_not_end_the_process(tmp_path: Path) -> None:
    for name in ("ledger.jsonl", "key"):
        (tmp_path / name).write_text("no key\n")
    request = {"protocol": 1, "id": "some/id", "role": "verify", "input": tmp_path / "ledger.jsonl"}

    served = conform("serve", line({**request, "key": tmp_path / "key"}) + line(request), tmp_path)

    verdicts = [json.loads(answer)["verdict"] for answer in served.stdout.splitlines()]
    assert (served.returncode, verdicts) == (0, ["unsupported", "invalid"]), served.stderr


def test_an_unknown_role_is_not_offered(tmp_path: Path) -> None:
    result = conform("translate", b"", tmp_path)
    served = conform("serve", line({"protocol": 1, "id": "some/id", "role": "translate"}), tmp_path)

    assert (result.returncode, result.stdout) == (33, b"")
    assert (served.returncode, json.loads(served.stdout)) == (
        0,
        {"protocol": 1, "id": "some/id", "verdict": "unsupported"},
    )


def test_an_invalid_line_ends_the_process_after_earlier_answers(tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text("[]", encoding="utf-8")
    good = line({**CANONICALIZE, "input": tmp_path / "input.json", "output": tmp_path / "output.json"})

    result = conform("serve", good + b"{\n" + good, tmp_path)

    assert result.returncode == 2
    assert [json.loads(answer)["verdict"] for answer in result.stdout.splitlines()] == ["valid"]
    assert result.stderr.startswith(b"forum: invalid request: ")


@pytest.mark.parametrize("mode", ["canonicalize", "serve"])
def test_an_internal_error_gives_no_answer(tmp_path: Path, mode: str) -> None:
    broken = f"""
import sys
import forum_runner.conformance as conformance
conformance._ANSWERS["canonicalize"] = lambda request: 1 // 0
sys.argv = ["forum", "conform", {mode!r}]
from forum_runner.cli import main
main()
"""
    request = line({**CANONICALIZE, "input": tmp_path / "input.json", "output": tmp_path / "output.json"})

    result = subprocess.run(
        [sys.executable, "-c", broken], input=request, capture_output=True, timeout=PATIENCE_S, check=False
    )

    assert (result.returncode, result.stdout) == (70, b"")
    assert b"internal error: ZeroDivisionError" in result.stderr
    assert b"Traceback" not in result.stderr


def test_serve_ends_at_the_end_of_its_input(tmp_path: Path) -> None:
    result = conform("serve", b"", tmp_path)

    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
