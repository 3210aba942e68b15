"""How a RUN argument is resolved, and the errors when it cannot be."""

import os
from pathlib import Path

import pytest

from forum_runner.errors import UsageError
from forum_runner.ledger.source import LedgerSource, find_ledger, ledger_at
from forum_runner.workspace import Workspace

FIRST = "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f"
SECOND = "01936b2e-ffff-7a3c-9f00-2b8e6c1d4e5f"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for run in (FIRST, SECOND):
        directory = tmp_path / "runs" / run
        directory.mkdir(parents=True)
        (directory / "ledger.jsonl").write_bytes(run.encode() + b"\n")
    return tmp_path / "runs"


def error_for(argument: str | Path, runs: Path) -> str:
    with pytest.raises(UsageError) as caught:
        find_ledger(str(argument), Workspace(Path(), runs))
    return str(caught.value)


def test_a_run_directory_is_read_from_its_ledger(runs: Path) -> None:
    source = ledger_at(runs / FIRST)

    assert source == LedgerSource(str(runs / FIRST), runs / FIRST / "ledger.jsonl", runs / FIRST)
    with source.lines() as lines:
        assert list(lines) == [FIRST.encode()]


def test_a_file_is_a_ledger_without_a_directory(runs: Path) -> None:
    path = runs / FIRST / "ledger.jsonl"

    assert ledger_at(path) == LedgerSource(str(path), path, None)


def test_a_dash_is_standard_input() -> None:
    assert find_ledger("-", Workspace(Path())) == LedgerSource("standard input", None, None)


@pytest.mark.parametrize("argument", [FIRST, FIRST[:13], FIRST[:11]])
def test_a_run_is_found_by_its_id_or_a_prefix_of_it(argument: str, runs: Path) -> None:
    assert find_ledger(argument, Workspace(Path(), runs)).directory == runs / FIRST


def test_an_existing_path_takes_precedence_over_an_id(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs.parent)
    Path(FIRST[:8]).write_bytes(b"")

    assert find_ledger(FIRST[:8], Workspace(Path(), runs)).path == Path(FIRST[:8])


def test_an_exact_id_takes_precedence_over_a_prefix(runs: Path) -> None:
    (runs / FIRST[:8]).mkdir()
    (runs / FIRST[:8] / "ledger.jsonl").write_bytes(b"")

    assert find_ledger(FIRST[:8], Workspace(Path(), runs)).directory == runs / FIRST[:8]


def test_an_ambiguous_prefix_is_rejected_with_all_matching_ids(runs: Path) -> None:
    assert error_for(FIRST[:8], runs) == f"2 run ids start with '01936b2e': {FIRST}, {SECOND}"


def test_a_missing_run_is_reported(runs: Path) -> None:
    assert error_for("nowhere", runs) == "no file, directory or run 'nowhere'"
    assert error_for(FIRST[:7], runs) == "no file, directory or run '01936b2'"
    assert error_for("ffffffff", runs) == f"no file or directory 'ffffffff', and no run with this id in '{runs}'"
    assert error_for("ffffffff", runs / "none").endswith(f"no run with this id in '{runs}/none'")
    assert error_for("a\0b", runs).startswith("invalid path 'a\\x00b': ")


def test_a_directory_without_a_ledger_is_rejected(tmp_path: Path) -> None:
    assert error_for(tmp_path, tmp_path) == f"no ledger.jsonl in '{tmp_path}'"

    (tmp_path / "ledger.jsonl").mkdir()
    assert error_for(tmp_path, tmp_path) == f"'{tmp_path}/ledger.jsonl' is not a regular file, so it is not a ledger"


def test_an_unreadable_path_is_rejected(tmp_path: Path) -> None:
    assert error_for("x" * 5_000, tmp_path).endswith("File name too long")

    source = LedgerSource("gone", tmp_path / "gone")
    with pytest.raises(UsageError, match=r"^cannot read 'gone': No such file or directory$"), source.lines():
        pass


def test_a_pipe_is_copied_so_that_it_can_be_read_again() -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"a\nb\n")
    os.close(write_end)

    with LedgerSource("pipe", Path(f"/dev/fd/{read_end}")).open_seekable() as stream:
        first = stream.read()
        stream.seek(0)
        assert (first, stream.read()) == (b"a\nb\n", b"a\nb\n")
    os.close(read_end)


class Writer:
    """Performs the next write whenever the reader waits."""

    def __init__(self, path: Path, writes: list[bytes | int]) -> None:
        self.path = path
        self.writes = writes

    def keep_following(self) -> bool:
        return bool(self.writes)

    def write(self) -> None:
        step = self.writes.pop(0)
        if isinstance(step, int):
            os.truncate(self.path, step)
        else:
            with self.path.open("ab") as stream:
                stream.write(step)


def followed(path: Path, *writes: bytes | int) -> list[bytes]:
    writer = Writer(path, list(writes))
    lines = []
    for line in LedgerSource("it", path).follow(writer.keep_following):
        if line is None:
            writer.write()
        else:
            lines.append(line)
    return lines


def test_following_yields_a_line_once_its_lf_is_written(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b"one\ntw")

    assert followed(path, b"", b"o", b"\nthree\nfo", b"ur\n") == [b"one", b"two", b"three", b"four"]


def test_a_torn_tail_that_is_truncated_while_following_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b"one\ntorn tail")

    assert followed(path, 4, b"two\n") == [b"one", b"two"]


def test_a_ledger_that_loses_lines_while_following_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b"one\ntwo\n")

    with pytest.raises(UsageError, match="the file was truncated"):
        followed(path, 4)


def test_following_a_line_without_an_end_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b"x" * 2_000_000)

    with pytest.raises(UsageError, match="a line has more than 1,048,576 bytes"):
        followed(path, b"x")
