"""`forum conform`: forum as a program under test, one process for each request or one for all."""

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
PATHS = ("input", "root", "inputs", "script", "base", "cache")
RUN = VECTORS / "runs" / "two-tasks" / "expected"
PAUSED = VECTORS / "runs" / "gate-without-a-deadline" / "expected"
# What every request of the suite has; a test adds what it is about.
TEXT = {"protocol": 1, "id": "canonical/text", "role": "canonicalize"}
ANSWERED = [
    "runs/two-tasks",
    "runs/failure-stop",
    "runs/route-nobody-takes-it",
    "runs/decide",
    "runs/edited-and-resumed",
    "runs/resume-a-sealed-run",
    "runs/redact",
    "runs/reuse-from",
    "runs/reuse-from-a-ledger-that-does-not-hold",
    "runs/cache",
    "runs/secret-scrubbed",
    "runs/another-script",
]


def conform(role: str, asked: bytes, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*FORUM, role], cwd=cwd, input=asked, capture_output=True, timeout=PATIENCE_S, check=False)


def line(request: Mapping[str, Any]) -> bytes:
    return json.dumps(request, default=str).encode() + b"\n"


def request_of(name: str, output: Path) -> dict[str, Any]:
    """The request of a vector of runs, as the suite makes it; what it starts from is copied to `output`."""
    folder = VECTORS / name
    members = json.loads((folder / "case.json").read_text(encoding="utf-8"))["request"]
    if (before := members.pop("before", None)) is not None:
        shutil.copytree(folder / before, output)
    placed = {key: str(folder / value) if key in PATHS else value for key, value in members.items()}
    return {"protocol": 1, "id": name, "role": "run", **placed, "output": str(output)}


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
        made = VECTORS / name / expected["output"]
        wanted = {path.relative_to(made): path.read_bytes() for path in made.rglob("*") if path.is_file()}
        assert {path: (output / path).read_bytes() for path in wanted} == wanted


@pytest.mark.requirement("RUN-VIRTUAL-001", "RUN-VIRTUAL-006", "RUN-VIRTUAL-007", "RUN-REUSE-003")
@pytest.mark.parametrize("name", ANSWERED)
def test_a_run_is_what_its_vector_expects(tmp_path: Path, name: str) -> None:
    output = tmp_path / "output"

    result = conform("run", line(request_of(name, output)), tmp_path)

    assert (result.returncode, result.stderr) == (0, b"")
    check_answer(name, json.loads(result.stdout), output)


def test_one_process_answers_line_by_line_in_order(tmp_path: Path) -> None:
    asked = b"".join(line(request_of(name, tmp_path / name)) for name in ANSWERED)

    result = conform("serve", asked, tmp_path)

    assert (result.returncode, result.stderr) == (0, b"")
    answers = result.stdout.splitlines()
    assert len(answers) == len(ANSWERED)
    for name, answer in zip(ANSWERED, answers, strict=True):
        check_answer(name, json.loads(answer), tmp_path / name)


def test_an_answer_comes_before_the_next_request_is_read(tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text('{"b": 1.0}', encoding="utf-8")
    request = {**TEXT, "input": tmp_path / "input.json", "output": tmp_path / "output.json"}

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
    ("text", "form"),
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
def test_a_text_is_canonicalized_or_refused(tmp_path: Path, text: str, form: str | None) -> None:
    (tmp_path / "input.json").write_text(text, encoding="utf-8")
    output = tmp_path / "output.json"
    request = {**TEXT, "input": tmp_path / "input.json", "output": output}

    result = conform("canonicalize", line(request), tmp_path)

    assert (result.returncode, result.stderr) == (0, b"")
    assert json.loads(result.stdout)["verdict"] == ("invalid" if form is None else "valid")
    assert (output.read_text(encoding="utf-8") if output.exists() else None) == form


def test_a_bundle_is_compiled_or_its_findings_are_told(tmp_path: Path) -> None:
    bundle = VECTORS / "runs" / "two-tasks" / "bundle"
    members = {"protocol": 1, "id": "compile/bundle", "role": "compile", "root": bundle}
    sound = {**members, "input": bundle / "workflow.json", "output": tmp_path / "plan.json"}
    broken = {**members, "input": bundle / "nothing.json", "output": tmp_path / "no-plan.json"}

    result = conform("serve", line(sound) + line(broken), tmp_path)

    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["verdict"], first["codes"], first["warnings"]) == ("valid", [], [])
    assert (tmp_path / "plan.json").read_bytes() == (RUN / "wave-plan.json").read_bytes()
    assert (second["verdict"], second["codes"]) == ("invalid", ["F101"])
    assert not (tmp_path / "no-plan.json").exists()


def verified(path: Path, tmp_path: Path, **more: Any) -> dict[str, Any]:
    request = {"protocol": 1, "id": "ledger/some", "role": "verify", "input": path, **more}
    result = conform("verify", line(request), tmp_path)
    assert (result.returncode, result.stderr) == (0, b"")
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def test_a_ledger_is_verified_at_the_levels_that_are_asked_for(tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(RUN, torn)
    (torn / "ledger.jsonl").write_bytes((RUN / "ledger.jsonl").read_bytes().replace(b'"attempt":1', b'"attempt":2', 1))

    whole, paused, changed = verified(RUN, tmp_path), verified(PAUSED, tmp_path), verified(torn, tmp_path)
    bare = verified(RUN / "ledger.jsonl", tmp_path, levels=[1, 2, 3, 4, 5])
    chain = verified(PAUSED, tmp_path, levels=[1, 2], expect_head="0" * 64)

    assert (whole["verdict"], whole["codes"], whole["first_bad_seq"]) == ("valid", [], None)
    assert whole["levels"] == dict.fromkeys("12345", "ok")
    assert (paused["verdict"], paused["codes"]) == ("incomplete", ["L501"])
    assert (changed["verdict"], changed["codes"], changed["first_bad_seq"]) == ("invalid", ["L201"], 3)
    assert bare["levels"] == {"1": "ok", "2": "ok", "3": "not checked", "4": "not checked", "5": "ok"}
    assert (chain["verdict"], chain["levels"]["5"]) == ("valid", "not checked")


def test_what_is_proved_can_be_checked(tmp_path: Path) -> None:
    asked = {"protocol": 1, "id": "proofs/some", "role": "prove", "input": RUN / "ledger.jsonl"}
    proof, checkpoint = tmp_path / "proof.json", tmp_path / "checkpoint"
    requests = [
        {**asked, "action": "inclusion", "seq": 3, "size": 8, "output": proof},
        {**asked, "action": "checkpoint", "size": 8, "output": checkpoint},
        {**asked, "action": "check", "input": proof, "checkpoint": checkpoint},
        {**asked, "action": "consistency", "from_size": 5, "size": 9, "output": proof},
        {**asked, "action": "check", "input": proof, "checkpoint": checkpoint},
        {**asked, "action": "inclusion", "seq": 8, "size": 8, "output": tmp_path / "none.json"},
        {**asked, "action": "checkpoint", "size": 99, "output": tmp_path / "none.json"},
    ]

    result = conform("serve", b"".join(map(line, requests)), tmp_path)

    answers = [json.loads(answer) for answer in result.stdout.splitlines()]
    verdicts = [(answer["verdict"], answer.get("codes", [])) for answer in answers]
    assert verdicts == [*[("valid", [])] * 4, ("invalid", ["L509"]), ("invalid", []), ("invalid", [])]
    assert not (tmp_path / "none.json").exists()


def malformed() -> list[Any]:
    whole = {**TEXT, "input": "/input.json", "output": "/output.json"}
    cases = {
        "nothing": b"",
        "no JSON": b"{",
        "no object": b"[]",
        "not UTF-8": b'{"protocol": 1, "id": "\xff"}',
        "a key twice": b'{"protocol": 1, "protocol": 1}',
        "another protocol": line({**whole, "protocol": 2}),
        "no protocol": line({name: value for name, value in whole.items() if name != "protocol"}),
        "no input": line({name: value for name, value in whole.items() if name != "input"}),
        "a member too much": line({**whole, "levels": [1, 2]}),
        "an unknown member": line({**whole, "more": 1}),
        "a number for a path": line({**whole, "input": 1}),
        "a lone surrogate": line({**whole, "input": "/\ud800"}),
        "another role": line({**whole, "role": "verify"}),
        "two requests": line(whole) + line(whole),
    }
    return [pytest.param(data, id=name) for name, data in cases.items()]


@pytest.mark.parametrize("asked", malformed())
def test_what_is_no_request_is_not_answered(tmp_path: Path, asked: bytes) -> None:
    result = conform("canonicalize", asked, tmp_path)

    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.startswith(b"forum: not a request: ")
    assert b"Traceback" not in result.stderr


def test_an_action_that_there_is_not_is_no_request(tmp_path: Path) -> None:
    request = {"protocol": 1, "id": "runs/some", "role": "run", "action": "stop", "input": "/w", "output": "/o"}

    result = conform("run", line({**request, "root": "/"}), tmp_path)

    assert (result.returncode, result.stdout) == (2, b"")


def test_a_file_that_is_not_there_is_not_answered_for(tmp_path: Path) -> None:
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


def test_an_error_of_usage_is_answered_and_the_next_request_too(tmp_path: Path) -> None:
    for name in ("ledger.jsonl", "key"):
        (tmp_path / name).write_text("no key\n")
    request = {"protocol": 1, "id": "some/id", "role": "verify", "input": tmp_path / "ledger.jsonl"}

    served = conform("serve", line({**request, "key": tmp_path / "key"}) + line(request), tmp_path)

    verdicts = [json.loads(answer)["verdict"] for answer in served.stdout.splitlines()]
    assert (served.returncode, verdicts) == (0, ["unsupported", "invalid"]), served.stderr


def test_a_role_that_there_is_not_is_not_offered(tmp_path: Path) -> None:
    result = conform("translate", b"", tmp_path)
    served = conform("serve", line({"protocol": 1, "id": "some/id", "role": "translate"}), tmp_path)

    assert (result.returncode, result.stdout) == (33, b"")
    assert (served.returncode, json.loads(served.stdout)) == (
        0,
        {"protocol": 1, "id": "some/id", "verdict": "unsupported"},
    )


def test_a_bad_line_ends_the_process_after_what_was_answered(tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text("[]", encoding="utf-8")
    good = line({**TEXT, "input": tmp_path / "input.json", "output": tmp_path / "output.json"})

    result = conform("serve", good + b"{\n" + good, tmp_path)

    assert result.returncode == 2
    assert [json.loads(answer)["verdict"] for answer in result.stdout.splitlines()] == ["valid"]
    assert result.stderr.startswith(b"forum: not a request: ")


@pytest.mark.parametrize("mode", ["canonicalize", "serve"])
def test_a_defect_looks_like_no_answer(tmp_path: Path, mode: str) -> None:
    broken = f"""
import sys
import forum_runner.conformance.canonicalize_role as role
role.canonicalize = lambda request: 1 // 0
sys.argv = ["forum", "conform", {mode!r}]
from forum_runner.cli import main
main()
"""
    request = line({**TEXT, "input": tmp_path / "input.json", "output": tmp_path / "output.json"})

    result = subprocess.run(
        [sys.executable, "-c", broken], input=request, capture_output=True, timeout=PATIENCE_S, check=False
    )

    assert (result.returncode, result.stdout) == (70, b"")
    assert b"this is a defect of forum itself: ZeroDivisionError" in result.stderr
    assert b"Traceback" not in result.stderr


def test_nobody_asks_and_it_ends(tmp_path: Path) -> None:
    result = conform("serve", b"", tmp_path)

    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
