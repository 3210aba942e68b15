"""The checked-in vectors are reproducible, numerous enough and listed in the manifest."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from forum_conformance.suite.case import parse_case
from forum_runner.explanations import explanations

CONFORMANCE = Path(__file__).parents[2] / "conformance"
VECTORS = CONFORMANCE / "vectors" / "v1"
CASES = {path.parent: json.loads(path.read_text(encoding="utf-8")) for path in sorted(VECTORS.rglob("case.json"))}
AREAS = ("canonical", "manifests", "compile", "ledger", "proofs", "runs")
BY_ID = {case["id"]: case for case in CASES.values()}

# Vectors for these codes would need a file of more than 16 MiB, and a link to a file outside of the vector.
WITHOUT_A_VECTOR = ["F104", "F121"]

CANONICALIZE = """
const canonical = (value) => Array.isArray(value) ? "[" + value.map(canonical).join(",") + "]"
  : value !== null && typeof value === "object"
    ? "{" + Object.keys(value).sort().map((key) => JSON.stringify(key) + ":" + canonical(value[key])).join(",") + "}"
    : JSON.stringify(value);
const fs = require("node:fs");
const read = (folder, name) => fs.readFileSync(folder + "/" + name, "utf8");
const differ = process.argv.slice(1).filter(
  (folder) => canonical(JSON.parse(read(folder, "input.json"))) !== read(folder, "output.json"));
process.stdout.write(JSON.stringify(differ));
"""


def is_negative(case: dict[str, Any]) -> bool:
    return parse_case(case, {}).is_negative


@pytest.mark.parametrize("area", AREAS)
def test_the_generator_reproduces_the_checked_in_vectors(area: str) -> None:
    completed = subprocess.run(
        [sys.executable, "-m", "vector_generator", "--check", area],
        env={**os.environ, "PYTHONPATH": str(CONFORMANCE)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (completed.stdout, completed.stderr, completed.returncode) == ("", "", 0)


def test_the_manifest_has_the_digest_of_every_file() -> None:
    manifest = VECTORS / "MANIFEST.json"
    files = {path.relative_to(VECTORS).as_posix(): path for path in VECTORS.rglob("*") if path.is_file()}
    del files["MANIFEST.json"]
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}

    assert json.loads(manifest.read_text(encoding="utf-8")) == {"format": 1, "files": digests}


def test_there_are_at_least_400_vectors_and_at_least_half_are_negative() -> None:
    negative = sum(map(is_negative, CASES.values()))

    assert len(CASES) >= 400
    assert negative * 2 >= len(CASES)


def test_the_folder_has_no_other_area() -> None:
    assert sorted(path.name for path in VECTORS.iterdir()) == sorted(["MANIFEST.json", *AREAS])


def test_a_vector_is_in_the_folder_named_by_its_id() -> None:
    assert {folder.relative_to(VECTORS).as_posix(): case["id"] for folder, case in CASES.items()} == {
        id_: id_ for id_ in BY_ID
    }


def test_every_negative_vector_is_one_mutation_of_a_positive_one() -> None:
    negative = [case for case in CASES.values() if is_negative(case)]
    origins = [BY_ID.get(case.get("derived_from", "")) for case in negative]

    assert [
        case["id"]
        for case, origin in zip(negative, origins, strict=True)
        if origin is None or is_negative(origin) or not case.get("mutation")
    ] == []


@pytest.mark.requirement("COMPILE-CODE-001")
def test_every_compiler_code_has_a_vector() -> None:
    codes = [
        code
        for case in CASES.values()
        if case["role"] == "compile"
        for code in (*case["expected"].get("codes", []), *case["expected"].get("warnings", []))
    ]

    assert [code for code in explanations() if code.startswith("F") and code not in codes] == WITHOUT_A_VECTOR


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, which formats numbers independently of Python")
def test_javascript_produces_the_same_canonical_forms() -> None:
    folders = [str(folder) for folder, case in CASES.items() if case["id"].startswith("canonical/")]
    positive = [folder for folder in folders if (Path(folder) / "output.json").exists()]

    completed = subprocess.run(["node", "-e", CANONICALIZE, *positive], capture_output=True, text=True, check=False)

    assert (completed.stdout, completed.stderr) == ("[]", "")
    assert len(positive) > 50
