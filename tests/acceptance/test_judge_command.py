"""`forum-conformance judge` with one ledger, with several ledgers, and with folders."""

import json
import os
import shutil
from pathlib import Path

import pytest

from acceptance.judge_command import REPORT_LINES, judge
from acceptance.samples import SAMPLES
from acceptance.workflow_folder import Folder
from ledgers import LEDGERS

RUN = "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with a valid ledger, an altered one, one without its seal, and an empty folder."""
    for name in ("a", "deep/b", "deep/c"):
        LEDGERS["two_waves"](tmp_path / "runs" / name)
    altered = tmp_path / "runs" / "deep" / "b" / "ledger.jsonl"
    altered.write_bytes(altered.read_bytes().replace(b'"mode":"', b'"mode": "', 1))
    unsealed = tmp_path / "runs" / "deep" / "c" / "ledger.jsonl"
    unsealed.write_bytes(b"".join(unsealed.read_bytes().splitlines(keepends=True)[:-1]))
    (tmp_path / "runs" / "deep" / "c" / "checkpoint").unlink()
    (tmp_path / "runs" / "notes").mkdir()
    return tmp_path / "runs"


def test_a_folder_of_run_directories_is_judged_in_the_order_of_their_names(runs: Path) -> None:
    code, out, err = judge("runs", cwd=runs.parent)

    headlines = [line for line in out.splitlines() if not line.startswith(" ")]
    entries = len((runs / "a" / "ledger.jsonl").read_bytes().splitlines())
    assert (code, err) == (3, "")
    assert headlines == [
        f"valid: runs/a: {entries} entries, run {RUN}, passed",
        f"invalid: runs/deep/b: {entries} entries, run {RUN}, passed",
        f"incomplete: runs/deep/c: {entries - 1} entries, run {RUN}, not sealed",
        "3 ledgers: 1 valid, 1 invalid, 1 incomplete",
    ]
    assert "  L104 at seq 0: the line is not in RFC 8785 form" in out.splitlines()


def test_several_ledgers_are_reported_as_json_lines(runs: Path) -> None:
    code, out, _ = judge("--json", runs / "a", runs / "deep", runs / "gone", SAMPLES["forum-engine"])

    lines = [json.loads(line) for line in out.splitlines()]
    for line in lines:
        REPORT_LINES.validate(line)
    assert code == 3
    assert [line["report"] and line["report"]["verdict"] for line in lines] == [
        "valid",
        "invalid",
        "incomplete",
        None,
        "invalid",
    ]
    assert lines[3]["error"] == f"no ledger at '{runs / 'gone'}'"
    assert lines[4]["report"]["foreign"]["format"] == "forum-engine"


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["a", "a"], 0),
        (["a", "gone"], 2),
        (["deep/c", "gone", "a"], 7),
        (["a", "deep/c"], 7),
        (["gone", "deep/c", "deep/b"], 3),
    ],
)
def test_the_worst_verdict_decides_the_exit_code(names: list[str], code: int, runs: Path) -> None:
    assert judge(*(runs / name for name in names))[0] == code


@pytest.mark.parametrize("option", ["--expect-head", "--checkpoint", "--pin"])
def test_options_for_one_ledger_are_refused_for_several(option: str, runs: Path) -> None:
    value = "0" * 64 if option == "--expect-head" else str(runs / "a" / "checkpoint")

    code, out, err = judge(runs / "a", runs / "deep", option, value)

    assert (code, out) == (2, "")
    assert err == f"forum-conformance: {option} applies to a single ledger, but several were given\n"


def test_one_key_verifies_the_checkpoints_of_several_ledgers(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.forum("keygen", "example.org/ci", "-o", "ci.key")
    for name in ("signed", "unsigned"):
        LEDGERS["two_waves"](tmp_path / name)
    folder.forum("checkpoint", "signed", "--key", "ci.key", "-o", "signed/checkpoint")
    (tmp_path / "unsigned" / "checkpoint").unlink()

    code, out, _ = judge("signed", "unsigned", "--key", "ci.key.pub", cwd=tmp_path)

    assert code == 2
    assert [line.partition(":")[0] for line in out.splitlines()] == ["valid", "not judged", "2 ledgers"]


def create_unreadable_folder(folder: Path) -> Path:
    """Nest folders until the path exceeds the limit, so that not even root can read the last one."""
    name = "d" * 200
    parent_fd = os.open(folder, os.O_RDONLY)
    for _ in range(25):
        os.mkdir(name, dir_fd=parent_fd)
        inner = os.open(name, os.O_RDONLY, dir_fd=parent_fd)
        os.close(parent_fd)
        parent_fd = inner
    os.close(parent_fd)
    return folder / name


def test_an_unreadable_folder_is_reported_and_the_others_are_judged(runs: Path) -> None:
    create_unreadable_folder(runs)

    code, out, err = judge("runs", cwd=runs.parent)

    headlines = [line.partition(": ")[0] for line in out.splitlines() if not line.startswith(" ")]
    (unreadable,) = (line for line in out.splitlines() if line.startswith("not judged"))
    assert (code, err) == (3, "")
    assert headlines == ["valid", "not judged", "invalid", "incomplete", "4 ledgers"]
    assert unreadable.endswith("File name too long")


def test_a_folder_with_only_unreadable_contents_exits_2(tmp_path: Path) -> None:
    create_unreadable_folder(tmp_path)

    code, out, _ = judge(tmp_path, "--jsonl")

    (line,) = map(json.loads, out.splitlines())
    REPORT_LINES.validate(line)
    assert (code, line["report"], line["error"].endswith("File name too long")) == (2, None, True)


def test_links_in_a_folder_are_not_followed(runs: Path) -> None:
    outside = LEDGERS["two_waves"](runs.parent / "outside")
    (runs / "notes" / "out").symlink_to(outside)
    (runs / "notes" / "round").symlink_to(runs)

    lines = [json.loads(line) for line in judge(runs, "--jsonl")[1].splitlines()]

    link = runs / "notes" / "out"
    assert [line["path"] for line in lines] == [str(runs / name) for name in ("a", "deep/b", "deep/c", "notes/out")]
    assert (lines[-1]["report"], lines[-1]["error"]) == (None, f"'{link}' is a link, which is not followed")


def test_bare_foreign_and_missing_ledgers_in_a_folder_are_reported(runs: Path) -> None:
    notes = runs / "notes"
    shutil.copytree(SAMPLES["forum-engine"], notes / "engine")
    (runs / "a" / "ledger.jsonl").rename(notes / "bare.jsonl")
    (notes / "data.jsonl").write_text('{"some": "data"}\n')

    lines = [json.loads(line) for line in judge(runs, "--jsonl")[1].splitlines()]

    verdicts = {
        Path(line["path"]).relative_to(runs).as_posix(): line["report"] and line["report"]["verdict"] for line in lines
    }
    assert verdicts == {
        "a": None,
        "deep/b": "invalid",
        "deep/c": "incomplete",
        "notes/bare.jsonl": "valid",
        "notes/engine": "invalid",
    }
    assert lines[0]["error"] == f"'{runs / 'a'}' has bodies.tar, but no ledger.jsonl"


def test_a_file_that_cannot_be_read_is_named() -> None:
    unreadable = Path("/proc/self/mem")

    assert judge(unreadable) == (2, "", f"forum-conformance: cannot read '{unreadable}': Input/output error\n")


@pytest.mark.parametrize(
    ("name", "code", "verdict"),
    [("a", 0, "valid"), ("deep/b", 3, "invalid"), ("deep/c", 7, "incomplete"), ("gone", 2, None), ("notes", 2, None)],
)
def test_jsonl_has_the_same_shape_for_one_path(name: str, code: int, verdict: str | None, runs: Path) -> None:
    result, out, err = judge(runs / name, "--jsonl")

    (line,) = map(json.loads, out.splitlines())
    REPORT_LINES.validate(line)
    assert (result, err, line["path"]) == (code, "", str(runs / name))
    assert (line["report"] and line["report"]["verdict"], line["error"] is None) == (verdict, verdict is not None)


def test_jsonl_with_one_ledger_accepts_options_for_one_ledger(runs: Path) -> None:
    code, out, _ = judge(runs / "a", "--jsonl", "--expect-head", "0" * 64, "--pin", runs / "pin")

    assert (code, json.loads(out)["report"]["codes"]) == (3, ["L511"])
    assert judge(runs / "a", "--jsonl", "--pin", runs / "pin")[0] == 0
    assert (runs / "pin").exists()


def test_json_and_jsonl_cannot_be_combined(runs: Path) -> None:
    code, out, err = judge(runs / "a", "--jsonl", "--json")

    assert (code, out) == (2, "")
    assert "not allowed with argument" in err


def test_a_folder_without_a_ledger_is_an_error(tmp_path: Path) -> None:
    assert judge(tmp_path) == (2, "", f"forum-conformance: no ledger at '{tmp_path}/ledger.jsonl'\n")


def test_an_empty_path_does_not_mean_the_current_folder(runs: Path) -> None:
    assert judge("", cwd=runs) == (2, "", "forum-conformance: a path is empty\n")
