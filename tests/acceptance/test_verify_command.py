"""The commands `forum verify` and `forum redact`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import warm
from ledgers import LEDGERS

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas/v1/verify-report.schema.json").read_text(encoding="utf-8"))
FORUM = [sys.executable, "-m", "forum_runner"]


def forum(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    if not stdin:
        return warm.call("forum", *arguments)
    return subprocess.run([*FORUM, *map(str, arguments)], input=stdin, capture_output=True, check=False)


def report_on(*arguments: str | Path, stdin: bytes = b"") -> dict[str, Any]:
    document: dict[str, Any] = json.loads(forum("verify", "--json", *arguments, stdin=stdin).stdout)
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft202012Validator)
    return document


def replace_once(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def drop_last_line(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return LEDGERS["two_waves"](tmp_path / "run")


@pytest.fixture
def other_run(tmp_path: Path) -> Path:
    return LEDGERS["user_kinds"](tmp_path / "other")


@pytest.mark.requirement("LEDGER-VERIFY-001", "LEDGER-VERIFY-003")
def test_a_valid_ledger_exits_0_and_lists_the_levels(run_dir: Path) -> None:
    result = forum("verify", run_dir)

    assert result.returncode == 0
    assert result.stdout.decode().splitlines()[0].startswith("valid run 01936b2e-")
    assert [line.split()[:3] for line in result.stdout.decode().splitlines()[1:6]] == [
        ["1", "bytes", "ok"],
        ["2", "chain", "ok"],
        ["3", "bodies", "ok"],
        ["4", "semantics", "ok"],
        ["5", "seal", "ok"],
    ]


@pytest.mark.requirement("LEDGER-VERIFY-002", "LEDGER-VERIFY-003")
def test_a_damaged_ledger_exits_3_and_reports_the_entry(run_dir: Path) -> None:
    replace_once(run_dir / "ledger.jsonl", b'"attempt":1', b'"attempt":2')

    result = forum("verify", run_dir)
    report = report_on(run_dir)

    assert result.returncode == 3
    first = report["first_bad_seq"]
    assert report["verdict"] == "invalid"
    assert f"entry {first}: L201" in result.stdout.decode()


@pytest.mark.requirement("LEDGER-SEAL-001", "LEDGER-VERIFY-003")
def test_a_truncated_ledger_exits_7(run_dir: Path) -> None:
    drop_last_line(run_dir / "ledger.jsonl")
    (run_dir / "checkpoint").unlink()

    assert forum("verify", run_dir).returncode == 7
    assert report_on(run_dir)["codes"] == ["L501"]


@pytest.mark.requirement("LEDGER-SEAL-001", "LEDGER-VERIFY-003")
def test_an_absent_or_empty_ledger_is_an_error(run_dir: Path, tmp_path: Path) -> None:
    (run_dir / "ledger.jsonl").write_bytes(b"")
    (run_dir / "checkpoint").unlink()
    shutil.rmtree(run_dir / "outputs")

    assert forum("verify", tmp_path / "nowhere").returncode == 2
    assert forum("verify", tmp_path).returncode == 2
    assert forum("verify", run_dir).returncode == 7
    assert forum("verify", "-").returncode == 7
    assert "L502" in report_on("-")["codes"]


def test_a_ledger_file_and_standard_input_are_checked_without_bodies(run_dir: Path) -> None:
    ledger = run_dir / "ledger.jsonl"

    for report in (report_on(ledger), report_on("-", stdin=ledger.read_bytes())):
        statuses = [level["status"] for level in report["levels"]]
        assert (report["verdict"], statuses) == ("valid", ["ok", "ok", "not checked", "not checked", "ok"])


def test_a_requested_level_that_cannot_be_checked_is_an_error(run_dir: Path) -> None:
    result = forum("verify", "--level", "3", run_dir / "ledger.jsonl")

    assert (result.returncode, b"needs the run directory" in result.stderr) == (2, True)


def test_only_the_requested_levels_are_checked(run_dir: Path) -> None:
    replace_once(run_dir / "bodies.tar", b"ustar\x0000", b"ustar\x0001")

    assert forum("verify", run_dir).returncode == 3
    assert forum("verify", "--level", "1,2,5", run_dir).returncode == 0
    assert report_on("--level", "1-2", run_dir)["levels"][4]["reason"] == "not requested"


def test_a_missing_or_unreadable_archive_of_bodies_is_reported(run_dir: Path) -> None:
    archive = run_dir / "bodies.tar"
    archive.unlink()
    missing = report_on(run_dir)
    archive.mkdir()
    not_a_file = report_on(run_dir)

    reasons = [report["levels"][3]["reason"] for report in (missing, not_a_file)]
    reason = "the wave plan is in bodies.tar, which"
    assert reasons == [f"{reason} is missing", f"{reason} cannot be read"]
    assert missing["codes"] == not_a_file["codes"] == ["L301"]


@pytest.mark.parametrize("levels", ["0", "6", "1,", "a", "1-9", "5-1", ""])
def test_unknown_levels_are_a_usage_error(run_dir: Path, levels: str) -> None:
    assert forum("verify", "--level", levels, run_dir).returncode == 2


@pytest.mark.requirement("LEDGER-CHECKPOINT-004")
def test_the_head_is_compared_with_the_expected_one(run_dir: Path) -> None:
    head = report_on(run_dir)["head"]

    assert forum("verify", "--expect-head", head, run_dir).returncode == 0
    assert report_on("--expect-head", "0" * 64, run_dir)["codes"] == ["L511"]
    assert forum("verify", "--expect-head", "deadbeef", run_dir).returncode == 2


@pytest.mark.requirement("LEDGER-CHECKPOINT-003", "LEDGER-REACH-001")
def test_a_trusted_signed_checkpoint_detects_a_rewrite(run_dir: Path, tmp_path: Path) -> None:
    key, checkpoint = tmp_path / "key", tmp_path / "signed"
    forum("keygen", "ci", "-o", key)
    forum("checkpoint", run_dir, "--key", key, "-o", checkpoint)
    trusted = ("--checkpoint", checkpoint, "--key", f"{key}.pub")
    assert report_on(*trusted, run_dir)["checkpoints"][1] == {"source": "given", "size": 23, "signed_by": "ci"}

    rewritten = LEDGERS["wide"](tmp_path / "rewritten")

    assert report_on(rewritten)["verdict"] == "valid"
    assert report_on(*trusted, rewritten)["codes"] == ["L509"]


@pytest.mark.requirement("LEDGER-CHECKPOINT-003")
def test_a_checkpoint_that_the_key_did_not_sign_is_refused(run_dir: Path, tmp_path: Path) -> None:
    forum("keygen", "ci", "-o", tmp_path / "key")
    forum("keygen", "ci", "-o", tmp_path / "stranger")
    forum("checkpoint", run_dir, "--key", tmp_path / "stranger", "-o", tmp_path / "signed")

    assert report_on("--key", tmp_path / "key.pub", run_dir)["codes"] == ["L510"]
    report = report_on("--checkpoint", tmp_path / "signed", "--key", tmp_path / "key.pub", run_dir)
    assert report["codes"] == ["L510"]
    assert forum("verify", "--key", tmp_path / "key", run_dir).returncode == 2


@pytest.mark.requirement("LEDGER-CHECKPOINT-004")
def test_a_pin_refuses_a_rollback_a_fork_and_a_different_run(run_dir: Path, other_run: Path, tmp_path: Path) -> None:
    pin = tmp_path / "pin"
    assert forum("verify", "--pin", pin, run_dir).returncode == 0
    before = pin.read_bytes()
    assert forum("verify", "--pin", pin, run_dir).returncode == 0

    shorter = tmp_path / "shorter"
    shutil.copytree(run_dir, shorter)
    (shorter / "checkpoint").unlink()
    drop_last_line(shorter / "ledger.jsonl")

    assert "L512" in report_on("--pin", pin, shorter)["codes"]
    assert report_on("--pin", pin, LEDGERS["wide"](tmp_path / "fork"))["codes"] == ["L513"]
    assert report_on("--pin", pin, other_run)["codes"] == ["L507"]
    assert pin.read_bytes() == before


def test_a_pin_is_updated_when_its_ledger_grows(run_dir: Path, tmp_path: Path) -> None:
    pin = tmp_path / "pin"
    forum("verify", "--pin", pin, run_dir)
    before = pin.read_bytes()

    redacted = forum("redact", run_dir, "--seq", "2", "--body", "prompt", "--reason", "asked", "--by", "ann")

    assert redacted.returncode == 0

    assert forum("verify", "--pin", pin, run_dir).returncode == 0
    assert pin.read_bytes() != before


@pytest.mark.requirement("LEDGER-PROOF-001")
def test_a_proof_is_checked_without_the_ledger(run_dir: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    forum("prove", "inclusion", run_dir, "--seq", "3", "-o", proof)
    shutil.copy(run_dir / "checkpoint", tmp_path / "checkpoint")
    shutil.rmtree(run_dir)

    result = forum("verify", "--proof", proof, "--checkpoint", tmp_path / "checkpoint")
    assert (result.returncode, result.stdout.decode()[:6]) == (0, "valid:")

    replace_once(proof, b"task.", b"tusk.")
    broken = forum("verify", "--proof", proof)
    assert (broken.returncode, b"L602" in broken.stdout) == (3, True)
    assert forum("verify", "--proof", proof, run_dir).returncode == 2


def test_control_characters_in_a_ledger_are_not_printed(run_dir: Path) -> None:
    replace_once(run_dir / "ledger.jsonl", b'"kind":"run.opened"', b'"kind":"\\u001b[31m"')

    assert b"\x1b" not in forum("verify", run_dir).stdout


@pytest.mark.requirement("LEDGER-REDACT-001")
def test_a_redaction_is_recorded_and_the_ledger_stays_valid(run_dir: Path) -> None:
    result = forum("redact", run_dir, "--seq", "2", "--body", "prompt", "--reason", "asked for", "--by", "ann")

    assert (result.returncode, result.stdout.decode()) == (
        0,
        "redacted the body 'prompt' of entry 2; recorded as entry 23\n",
    )
    report = report_on(run_dir)
    assert (report["verdict"], report["redacted"], report["entries"]) == ("valid", 1, 25)
    assert json.loads((run_dir / "ledger.jsonl").read_bytes().splitlines()[23])["actor"] == "person:ann"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--seq": "99"}, "no entry 99; the last entry is 22"),
        ({"--body": "promt"}, "entry 2 has no body 'promt'; it has prompt"),
        ({"--reason": " "}, "the reason is empty"),
        ({"--by": "a b"}, "no spaces"),
    ],
)
def test_an_impossible_redaction_is_refused_and_changes_nothing(
    run_dir: Path, changed: dict[str, str], message: str
) -> None:
    before = {path: path.read_bytes() for path in run_dir.iterdir() if path.is_file()}
    options = {"--seq": "2", "--body": "prompt", "--reason": "why", "--by": "ann", **changed}

    result = forum("redact", run_dir, *(part for pair in options.items() for part in pair))

    assert (result.returncode, message in result.stderr.decode()) == (2, True)
    assert {path: path.read_bytes() for path in run_dir.iterdir() if path.is_file()} == before


def test_a_damaged_ledger_is_not_redacted(run_dir: Path) -> None:
    replace_once(run_dir / "ledger.jsonl", b'"attempt":1', b'"attempt":2')

    result = forum("redact", run_dir, "--seq", "2", "--body", "prompt", "--reason", "why", "--by", "ann")

    assert (result.returncode, b"is invalid" in result.stderr) == (3, True)


@pytest.mark.parametrize(("name", "code"), [("bodies.tar", 3), ("checkpoint", 3), ("ledger.jsonl", 2)])
def test_a_pipe_in_place_of_a_file_does_not_block(run_dir: Path, name: str, code: int) -> None:
    (run_dir / name).unlink()
    os.mkfifo(run_dir / name)

    for program in (FORUM, [sys.executable, "-m", "forum_conformance"]):
        command = "verify" if program is FORUM else "judge"
        result = subprocess.run([*program, command, run_dir], capture_output=True, timeout=30, check=False)
        assert result.returncode == code


@pytest.mark.requirement("LEDGER-CHECKPOINT-003")
@pytest.mark.parametrize(("target", "codes"), [("../moved", []), ("../nothing", ["L506"]), ("checkpoint", ["L506"])])
def test_a_checkpoint_may_be_a_link_to_a_regular_file(run_dir: Path, target: str, codes: list[str]) -> None:
    (run_dir / "checkpoint").rename(run_dir.parent / "moved")
    (run_dir / "checkpoint").symlink_to(target)

    judged = subprocess.run(
        [sys.executable, "-m", "forum_conformance", "judge", run_dir], capture_output=True, timeout=30, check=False
    )

    assert report_on(run_dir)["codes"] == codes
    assert (judged.returncode, b"L506" in judged.stdout) == ((3, True) if codes else (0, False))


def test_a_missing_pin_is_an_error_for_a_proof(run_dir: Path, tmp_path: Path) -> None:
    proof = forum("prove", "inclusion", run_dir, "--seq", "3").stdout

    result = forum("verify", "--proof", "-", "--pin", tmp_path / "typo", stdin=proof)

    assert (result.returncode, b"there is no pin" in result.stderr) == (2, True)
    assert forum("verify", "--proof", "-", stdin=proof).returncode == 0


def test_the_verdict_is_printed_even_if_the_pin_cannot_be_written(run_dir: Path, tmp_path: Path) -> None:
    result = forum("verify", run_dir, "--pin", tmp_path / "nowhere" / "pin")

    assert (result.returncode, result.stdout[:5]) == (2, b"valid")


def test_a_reader_that_closes_the_pipe_early_causes_no_error(run_dir: Path) -> None:
    line = f"{sys.executable} -m forum_runner trace {run_dir} 20 | head -0"
    result = subprocess.run(["sh", "-c", line], capture_output=True, check=False)

    assert result.stderr == b""
