"""Malicious vectors are refused with their location."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from forum_conformance.suite.vectors import BrokenVectors, Vectors
from suites.tiny_set import canonicalize_case, case, verify_case, write_manifest, write_set

DIGEST = hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize("name", ["a\0b/case.json", "../x/case.json", "/etc/passwd"])
def test_a_name_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    write_manifest(tmp_path, {name: DIGEST})

    with pytest.raises(BrokenVectors) as raised:
        Vectors(tmp_path)

    assert str(raised.value) == (
        f"'{tmp_path / 'MANIFEST.json'}' is broken: {name!r} is not a path below its directory"
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b"[" * 65 + b"]" * 65, "it is nested more than 64 levels deep"),
        (b'{"id":"a/a","id":"a/a"}', "a key is repeated"),
        (b"NaN", "NaN is not JSON"),
    ],
)
def test_an_unreadable_case_is_refused(tmp_path: Path, text: bytes, sentence: str) -> None:
    (tmp_path / "a/a").mkdir(parents=True)
    (tmp_path / "a/a/case.json").write_bytes(text)
    write_manifest(tmp_path, {"a/a/case.json": hashlib.sha256(text).hexdigest()})

    with pytest.raises(BrokenVectors, match=f"a/a/case.json' is broken: {sentence}"):
        Vectors(tmp_path)


@pytest.mark.parametrize("name", ["a/a/case.json", "MANIFEST.json"])
def test_a_named_pipe_is_refused(tmp_path: Path, name: str) -> None:
    write_set(tmp_path, canonicalize_case("a/a"))
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)

    with pytest.raises(BrokenVectors, match=f"{name}' is not a regular file"):
        Vectors(tmp_path)


@pytest.mark.parametrize("path", ["../../../etc/passwd", "/etc/passwd", "run/../../b", "run\0"])
@pytest.mark.parametrize(
    "document",
    [verify_case("a/a"), case("a/a", "compile", {"input": "w", "root": "run"}, {"verdict": "invalid", "codes": []})],
)
def test_an_input_outside_the_folder_is_refused(tmp_path: Path, document: dict[str, Any], path: str) -> None:
    outside = {**document, "request": {**document["request"], "input": path}}
    write_set(tmp_path, outside, files={"a/a": {"run/ledger.jsonl": b""}})

    with pytest.raises(
        BrokenVectors, match=r"a/a/case\.json' is broken: its input '.*' is not a path below its directory"
    ):
        Vectors(tmp_path)
