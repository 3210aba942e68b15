"""The example ledgers of other tests follow the specification. These tests use no code of the project to check them."""

import hashlib
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ledgers import LEDGERS

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "schemas/v1/entry.schema.json").read_text(encoding="utf-8"))
KINDS = {name for name in SCHEMA["$defs"] if "." in name}


@pytest.fixture(params=sorted(LEDGERS))
def run_dir(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return LEDGERS[request.param](tmp_path)


def lines(run_dir: Path) -> list[bytes]:
    return (run_dir / "ledger.jsonl").read_bytes().split(b"\n")[:-1]


def entries(run_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(run_dir)]


def test_every_entry_matches_its_schema(run_dir: Path) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)

    problems = [
        (entry["seq"], problem.message) for entry in entries(run_dir) for problem in validator.iter_errors(entry)
    ]

    assert problems == []


def test_every_line_contains_the_hash_of_the_previous_line(run_dir: Path) -> None:
    hashes = [hashlib.sha256(b"\0" + line).hexdigest() for line in lines(run_dir)]

    assert [entry["prev"] for entry in entries(run_dir)] == ["0" * 64, *hashes[:-1]]


def test_tarfile_and_tar_list_the_bodies_that_entries_refer_to(run_dir: Path) -> None:
    digests = [body["digest"] for entry in entries(run_dir) for _, body in sorted(entry["bodies"].items())]

    with tarfile.open(run_dir / "bodies.tar") as archive:
        members = archive.getnames()
    listed = subprocess.run(["tar", "tf", run_dir / "bodies.tar"], capture_output=True, text=True, check=True).stdout

    assert listed.split() == members
    assert [name.partition("/")[2] for name in members] == list(dict.fromkeys(digests))


def test_a_plain_member_is_named_by_the_digest_of_its_content(run_dir: Path) -> None:
    contents = {}
    with tarfile.open(run_dir / "bodies.tar") as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None and member.name.startswith("sha256/"):
                contents[member.name] = file.read()

    assert [f"sha256/{hashlib.sha256(content).hexdigest()}" for content in contents.values()] == list(contents)


def test_writing_an_example_again_gives_the_same_bytes(
    run_dir: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    again = LEDGERS[request.node.callspec.params["run_dir"]](tmp_path / "again")

    names = [path.relative_to(again) for path in again.rglob("*") if path.is_file()]
    assert {name: (run_dir / name).read_bytes() for name in names} == {
        name: (again / name).read_bytes() for name in names
    }


def test_the_examples_have_entries_of_every_kind(tmp_path: Path) -> None:
    kinds = {entry["kind"] for name, write in LEDGERS.items() for entry in entries(write(tmp_path / name))}

    assert kinds >= KINDS


def test_one_example_has_a_line_of_the_maximum_length(tmp_path: Path) -> None:
    assert max(map(len, lines(LEDGERS["user_kinds"](tmp_path)))) == 65_535
