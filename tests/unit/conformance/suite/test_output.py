"""Comparing a program's output with the expected output."""

import os
from pathlib import Path

import pytest

from forum_conformance.suite.difference import Difference
from forum_conformance.suite.output import NotAFile, Output, output_differences, read_output
from unit.conformance.suite.cases import make_case

RUN = make_case("run", {"action": "run", "input": "w.yaml"})
COMPILE = make_case("compile", {"input": "w.yaml"})
PROOF = make_case("prove", {"action": "inclusion", "input": "ledger.jsonl"})


@pytest.mark.parametrize(
    ("expected", "actual", "differences"),
    [
        (b"{}", b"{}", []),
        (None, None, []),
        (b"{}", None, [Difference("output", "a file", "no output")]),
        (None, b"{}", [Difference("output", "no output", "a file")]),
        (b"{}", {"outputs/a": b""}, [Difference("output", "a file", "a directory")]),
        (
            b"{}",
            b"[]",
            [Difference("output, byte 0", "{} (from byte 0 in hex: 7b 7d)", "[] (from byte 0 in hex: 5b 5d)")],
        ),
    ],
)
def test_a_file_is_compared_by_its_bytes(expected: Output, actual: Output, differences: list[Difference]) -> None:
    assert output_differences(COMPILE, expected, actual) == differences


def test_a_proof_is_compared_as_a_value() -> None:
    assert output_differences(PROOF, b'{"size":7,"seq":3}', b' {"seq": 3, "size": 7}\n') == []
    assert output_differences(PROOF, b'{"size":7}', b'{"size":8}') == [Difference("output, at /size", "7", "8")]
    (difference,) = output_differences(PROOF, b"{}", b"\xff")
    assert (difference.place, difference.expected) == ("output", "a JSON document")


def test_the_first_different_file_of_a_run_directory_is_shown() -> None:
    expected = {"ledger.jsonl": b"a\nb\n", "wave-plan.json": b"{}", "outputs/x": b"1"}
    actual = {"ledger.jsonl": b"a\nc\n", "wave-plan.json": b"{}", "bodies.tar": b""}

    assert output_differences(RUN, expected, actual) == [
        Difference("ledger.jsonl, line 2", "b", "c"),
        Difference("other files", "as in the vector", "bodies.tar, outputs/x also differ"),
    ]


def test_a_missing_file_of_a_run_directory_is_a_difference() -> None:
    expected = {"ledger.jsonl": b"a\n", "bodies.tar": b"tar"}

    assert output_differences(RUN, expected, {"ledger.jsonl": b"a\n"}) == [
        Difference("bodies.tar", "a file of 3 bytes", "no such file")
    ]


def test_only_files_of_a_run_directory_that_must_be_equal_are_read(tmp_path: Path) -> None:
    for name in ("ledger.jsonl", "checkpoint", "lock", "outputs/deep/a.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())

    assert read_output(tmp_path) == {"ledger.jsonl": b"ledger.jsonl", "outputs/deep/a.txt": b"outputs/deep/a.txt"}


def test_a_missing_output_is_none(tmp_path: Path) -> None:
    assert read_output(tmp_path / "result") is None


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "result")

    with pytest.raises(NotAFile, match="'result' is neither a file nor a directory"):
        read_output(tmp_path / "result")


def test_a_symlink_in_a_run_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "ledger.jsonl").symlink_to(tmp_path / "target")

    with pytest.raises(NotAFile, match=r"ledger\.jsonl"):
        read_output(tmp_path / "run")
