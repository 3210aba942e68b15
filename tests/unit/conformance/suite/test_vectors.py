"""Vectors that differ from the published ones are refused with their location."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forum_conformance.suite.vectors import BrokenVectors, Vectors, default_folder
from suites.tiny_set import canonicalize_case, case, verify_case, write_manifest, write_set

RUN_FILES = {"r/resume": {"w.yaml": b"", "before/ledger.jsonl": b"", "after/ledger.jsonl": b""}}


def test_cases_are_read_with_the_digests_of_their_files(tmp_path: Path) -> None:
    vectors = Vectors(write_set(tmp_path, canonicalize_case("b/b"), verify_case("a/a")))

    assert list(vectors.cases) == ["a/a", "b/b"]
    assert set(vectors.cases["b/b"].files) == {"case.json", "input.json", "output.json"}
    assert vectors.read(vectors.cases["b/b"], "input.json") == b"[1.0]"
    assert vectors.check_all() == 6


def test_files_outside_vectors_are_ignored(tmp_path: Path) -> None:
    write_set(tmp_path, canonicalize_case("a/a"))
    manifest = json.loads((tmp_path / "MANIFEST.json").read_bytes())["files"]
    (tmp_path / "a" / "README.md").write_bytes(b"")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    write_manifest(tmp_path, manifest | {"a/README.md": empty})

    assert list(Vectors(tmp_path).cases) == ["a/a"]


def test_the_published_vectors_are_complete() -> None:
    vectors = Vectors(default_folder())

    assert vectors.check_all() > len(vectors.cases) > 500


def test_a_file_is_checked_when_it_is_read(tmp_path: Path) -> None:
    vectors = Vectors(write_set(tmp_path, canonicalize_case("a/a")))
    (tmp_path / "a/a/input.json").write_bytes(b"[2]")

    with pytest.raises(BrokenVectors, match=r"a/a/input.json' does not match its digest in MANIFEST.json"):
        vectors.read(vectors.cases["a/a"], "input.json")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    vectors = Vectors(write_set(tmp_path, canonicalize_case("a/a")))
    (tmp_path / "a/a/input.json").unlink()

    with pytest.raises(BrokenVectors, match=r"cannot read '.*a/a/input.json': No such file"):
        vectors.check_all()


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        (None, "is not a directory of vectors: it has no MANIFEST.json"),
        (b"{", "MANIFEST.json' is broken: "),
        (b'{ "format":1,"files":{}}', "MANIFEST.json' is broken: the bytes are not in RFC 8785 form"),
        (b'{"files":{},"format":2}', "MANIFEST.json' is broken: it is not a manifest of format 1"),
        (b'{"files":{"../x":"0"},"format":1}', "MANIFEST.json' is broken: '../x' is not a path below its directory"),
        (b'{"files":{},"format":1}', "MANIFEST.json' names no case.json"),
    ],
)
def test_an_invalid_manifest_is_refused(tmp_path: Path, manifest: bytes | None, sentence: str) -> None:
    if manifest is not None:
        (tmp_path / "MANIFEST.json").write_bytes(manifest)

    with pytest.raises(BrokenVectors, match=sentence):
        Vectors(tmp_path)


def _change(**members: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.update(members)


def _expect(**members: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["expected"].update(members)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_change(note="x"), r"at \$: Additional properties"),
        (_change(id="a/b"), "its id is 'a/b', but its directory is 'a/a'"),
        (_change(requirements=[]), r"at \$.requirements"),
        (_change(derived_from="a/b"), r"at \$: 'mutation' is a dependency of 'derived_from'"),
        (_change(request={"input": "run", "output": "x"}), "conformance-request.schema.json"),
        (_change(request={"input": "run", "seq": 3}), "conformance-request.schema.json"),
        (_change(request={"input": "run", "pin": "pin"}), "its pin 'pin' is not one of its files"),
        (_change(level=None), r"at \$.level"),
        (_expect(verdict="unsupported"), r"at \$.expected.verdict"),
        (_expect(output="missing"), "its expected output 'missing' is not one of its files"),
        (_expect(codes=["L201"]), "its expected codes does not follow from its levels"),
        (_expect(verdict="invalid"), "its expected verdict does not follow from its levels"),
        (_expect(first_bad_seq=3), "its expected first_bad_seq does not follow from its levels"),
    ],
)
def test_a_broken_case_is_refused_with_its_path(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], sentence: str
) -> None:
    broken = verify_case("a/a")
    change(broken)
    files = {broken["id"]: {"run/ledger.jsonl": b""}}
    write_set(tmp_path, broken, files=files)
    if broken["id"] != "a/a":
        (tmp_path / broken["id"]).rename(tmp_path / "a/a")
        manifest = json.loads((tmp_path / "MANIFEST.json").read_bytes())["files"]
        write_manifest(tmp_path, {name.replace(broken["id"], "a/a"): digest for name, digest in manifest.items()})

    with pytest.raises(BrokenVectors, match=rf"a/a/case.json' is broken: .*{sentence}"):
        Vectors(tmp_path)


def test_a_case_must_be_json(tmp_path: Path) -> None:
    write_set(tmp_path, canonicalize_case("a/a"))
    (tmp_path / "a/a/case.json").write_bytes(b"{")
    write_manifest(tmp_path, {"a/a/case.json": "021fb596db81e6d02bf3d2586ee3981fe519f275c0ac9ca76bbcf2ebb4097d96"})

    with pytest.raises(BrokenVectors, match=r"a/a/case\.json' is broken: invalid JSON at character 1"):
        Vectors(tmp_path)


def test_a_case_may_request_a_missing_workflow(tmp_path: Path) -> None:
    missing = case(
        "c/missing", "compile", {"input": "b/w.yaml", "root": "b"}, {"verdict": "invalid", "codes": ["F001"]}
    )

    vectors = Vectors(write_set(tmp_path, missing, files={"c/missing": {"b/x.yaml": b""}}))

    assert list(vectors.cases) == ["c/missing"]


def test_the_initial_run_directory_of_a_request_must_exist(tmp_path: Path) -> None:
    resume = {"action": "resume", "input": "w.yaml", "root": ".", "before": "before"}
    expected = {"verdict": "valid", "status": "passed", "output": "after"}
    write_set(tmp_path, case("r/resume", "run", resume, expected), files=RUN_FILES)

    assert Vectors(tmp_path).cases["r/resume"].initial_run == "before"
    write_set(tmp_path, case("r/resume", "run", {**resume, "before": "then"}, expected), files=RUN_FILES)
    with pytest.raises(BrokenVectors, match="its before 'then' is not one of its files"):
        Vectors(tmp_path)
