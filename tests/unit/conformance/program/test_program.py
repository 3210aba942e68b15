"""The judge as a program under test: requests in, answers out."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from forum_conformance.program import canonicalize
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES
from ledgers import LEDGERS

PROGRAM = [sys.executable, "-m", "forum_conformance.program"]


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return LEDGERS["two_waves"](tmp_path / "run")


def send(role: str, **members: Any) -> dict[str, Any]:
    request = {"protocol": 1, "id": "tests/one", "role": role, **members}
    return JUDGE_ROLES[role](request).document(request)


def prove(run_dir: Path, tmp_path: Path, action: str, **members: Any) -> Path:
    output = tmp_path / f"{action}.out"
    answer = send("prove", action=action, input=str(run_dir), output=str(output), **members)
    assert answer["verdict"] == "valid"
    return output


def write_changed(proof: Path, **members: Any) -> str:
    path = proof.with_suffix(".write_changed")
    path.write_text(json.dumps({**json.loads(proof.read_text()), **members}))
    return str(path)


def test_one_process_answers_one_request(run_dir: Path) -> None:
    request = {"protocol": 1, "id": "tests/one", "role": "verify", "input": str(run_dir), "levels": [1, 2]}

    result = subprocess.run([*PROGRAM, "verify"], input=json.dumps(request), capture_output=True, text=True, check=True)

    assert json.loads(result.stdout) == {
        "protocol": 1,
        "id": "tests/one",
        "verdict": "valid",
        "codes": [],
        "first_bad_seq": None,
        "levels": {"1": "ok", "2": "ok", "3": "not checked", "4": "not checked", "5": "not checked"},
    }


def test_one_process_answers_all_requests_and_refuses_unsupported_roles(run_dir: Path) -> None:
    requests = [
        {"protocol": 1, "id": "tests/one", "role": "run", "input": "x"},
        {"protocol": 1, "id": "tests/two", "role": "verify", "input": str(run_dir)},
        {"protocol": 1, "id": "tests/three", "role": "verify", "input": str(run_dir / "missing")},
    ]
    lines = "".join(json.dumps(request) + "\n" for request in requests)

    result = subprocess.run([*PROGRAM, "serve"], input=lines, capture_output=True, text=True, check=True)

    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(answer["id"], answer["verdict"]) for answer in answers] == [
        ("tests/one", "unsupported"),
        ("tests/two", "valid"),
        ("tests/three", "unsupported"),
    ]


def test_a_key_without_a_checkpoint_is_unsupported(run_dir: Path, tmp_path: Path) -> None:
    (run_dir / "checkpoint").unlink()
    key = tmp_path / "key.pub"
    key.write_text("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW\n")
    request = {"protocol": 1, "id": "tests/one", "role": "verify", "input": str(run_dir), "key": str(key)}

    result = subprocess.run([*PROGRAM, "verify"], input=json.dumps(request), capture_output=True, text=True, check=True)

    assert json.loads(result.stdout)["verdict"] == "unsupported"


@pytest.mark.requirement("LEDGER-CHECKPOINT-001")
def test_the_checkpoint_of_all_entries_equals_the_one_in_the_run_directory(run_dir: Path, tmp_path: Path) -> None:
    size = (run_dir / "ledger.jsonl").read_bytes().count(b"\n")

    assert prove(run_dir, tmp_path, "checkpoint", size=size).read_bytes() == (run_dir / "checkpoint").read_bytes()


@pytest.mark.requirement("LEDGER-PROOF-001")
@pytest.mark.parametrize(
    ("action", "members"), [("inclusion", {"seq": 3, "size": 9}), ("consistency", {"from_size": 3, "size": 9})]
)
def test_a_proof_matches_only_the_checkpoint_of_its_size(
    action: str, members: dict[str, int], run_dir: Path, tmp_path: Path
) -> None:
    proof = str(prove(run_dir, tmp_path, action, **members))
    same_size = str(prove(run_dir, tmp_path, "checkpoint", size=9))

    assert send("prove", action="check", input=proof, checkpoint=same_size)["codes"] == []
    assert send("prove", action="check", input=proof, pin=same_size)["codes"] == []
    larger = str(run_dir / "checkpoint")
    assert send("prove", action="check", input=proof, checkpoint=larger)["codes"] == ["L508"]
    assert send("prove", action="check", input=proof, pin=larger)["codes"] == ["L512"]


@pytest.mark.requirement("LEDGER-PROOF-001")
@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"seq": 9}, "L601"),
        ({"size": 10}, "L601"),
        ({"path": ["0" * 64]}, "L602"),
        ({"path": []}, "L602"),
        ({"entry": "{}"}, "L601"),
        ({"entry": "\ud800"}, "L601"),
        ({"size": 9.0, "seq": 3.0, "path": []}, "L602"),
        ({"note": 1}, "L601"),
    ],
)
def test_a_changed_proof_is_malformed_or_has_a_wrong_path(
    members: dict[str, Any], code: str, run_dir: Path, tmp_path: Path
) -> None:
    proof = prove(run_dir, tmp_path, "inclusion", seq=3, size=9)

    assert send("prove", action="check", input=write_changed(proof, **members))["codes"] == [code]


@pytest.mark.requirement("LEDGER-PROOF-001")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{", '{"format":1,'),
        ('"seq\\":0', '"seq\\":false'),
        ('"v\\":1', '"v\\":NaN'),
        ('"v\\":1', '"v\\":' + "[" * 64 + "]" * 64),
        ('"v\\":1', '"v\\":\\"\\\\udc00\\"'),
    ],
)
def test_a_proof_is_read_strictly(old: str, new: str, run_dir: Path, tmp_path: Path) -> None:
    proof = prove(run_dir, tmp_path, "inclusion", seq=0, size=1)
    text = proof.read_text()
    assert text.count(old) >= 1

    proof.write_text(text.replace(old, new, 1))

    assert send("prove", action="check", input=str(proof))["codes"] == ["L601"]


def test_an_entry_outside_the_ledger_cannot_be_proved(run_dir: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"

    for members in ({"seq": 9, "size": 9}, {"seq": 0, "size": 10**6}):
        answer = send("prove", action="inclusion", input=str(run_dir), output=str(output), **members)

        assert (answer["verdict"], output.exists()) == ("invalid", False)


def test_replacing_an_unknown_attribute_is_an_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'read_membres'"):
        replace(canonicalize, "read_membres", dict)
