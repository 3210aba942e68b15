"""Bad vectors are refused, and the set of vectors is written reproducibly."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from vector_generator.vector import Vector
from vector_generator.vector_files import (
    BadVector,
    case_document,
    check_vectors,
    files_of,
    manifest_of,
    read_set,
    write_set,
)

POSITIVE = Vector(
    id="canonical/one",
    title="One",
    role="canonicalize",
    requirements=("LEDGER-LINE-005",),
    request={"input": "input.json"},
    expected={"verdict": "valid", "output": "output.json"},
    verified_by="by hand",
    files={"input.json": b"1 ", "output.json": b"1"},
)
NEGATIVE = replace(
    POSITIVE,
    id="canonical/two",
    expected={"verdict": "invalid"},
    derived_from="canonical/one",
    mutation="a digit became a letter",
    files={"input.json": b"x "},
)
STOPPED = {"verdict": "valid", "status": "stopped", "output": "output.json"}


def test_a_positive_vector_and_its_mutation_are_accepted() -> None:
    check_vectors("canonical", [POSITIVE, NEGATIVE], {})


def test_a_mutation_of_a_vector_in_another_area_is_accepted() -> None:
    other = replace(NEGATIVE, id="proofs/two")

    check_vectors("proofs", [other], {POSITIVE.id: case_document(POSITIVE)})


@pytest.mark.parametrize(
    ("vectors", "problem"),
    [
        ([POSITIVE, POSITIVE], "two vectors have this id"),
        ([replace(POSITIVE, id="canonical/One")], "the id must have the form 'canonical/lower-case-name'"),
        ([replace(POSITIVE, id="proofs/one")], "the id must have the form 'canonical/lower-case-name'"),
        ([replace(POSITIVE, requirements=())], "it names no requirement"),
        ([replace(POSITIVE, requirements=("LEDGER-LINE-999",))], "docs/spec has no requirement LEDGER-LINE-999"),
        ([NEGATIVE], "'canonical/one' is not a positive vector of the set"),
        (
            [POSITIVE, replace(NEGATIVE, derived_from="canonical/two")],
            "'canonical/two' is not a positive vector of the set",
        ),
        (
            [replace(NEGATIVE, derived_from=None, mutation=None)],
            "a negative vector needs 'derived_from'",
        ),
        (
            [replace(POSITIVE, role="run", request={**POSITIVE.request, "action": "run"}, expected=STOPPED)],
            "a negative vector needs 'derived_from'",
        ),
        ([POSITIVE, replace(NEGATIVE, mutation=None)], "only one of 'derived_from' and 'mutation' is given"),
        (
            [replace(POSITIVE, request={"input": "text.json"})],
            "'text.json' is named, but it is not a file of the vector",
        ),
        (
            [replace(POSITIVE, files={"input.json": b"1"})],
            "'output.json' is named, but it is not a file of the vector",
        ),
        ([replace(POSITIVE, files={**POSITIVE.files, "../x": b""})], "'../x' is not a valid file name"),
        ([replace(POSITIVE, files={**POSITIVE.files, "case.json": b""})], "'case.json' is not a valid file name"),
        ([replace(POSITIVE, files={**POSITIVE.files, "INPUT.json": b""})], "two file names differ only in case"),
    ],
)
def test_a_bad_vector_is_refused(vectors: list[Vector], problem: str) -> None:
    with pytest.raises(BadVector) as refused:
        check_vectors("canonical", vectors, {})

    assert str(refused.value).partition(": ")[2] == problem


def test_a_case_leaves_out_absent_members() -> None:
    case = json.loads(files_of([POSITIVE])["canonical/one/case.json"])

    assert list(case) == ["id", "title", "role", "requirements", "request", "expected", "verified_by"]


def test_a_vector_that_is_not_generated_is_removed_and_other_areas_are_kept(tmp_path: Path) -> None:
    write_set(tmp_path, {"canonical/one/case.json": b"1", "proofs/one/case.json": b"1"}, ["canonical", "proofs"])

    write_set(tmp_path, {"canonical/two/case.json": b"2"}, ["canonical"])

    expected = {"canonical/two/case.json": b"2", "proofs/one/case.json": b"1"}
    assert read_set(tmp_path) == expected
    assert (tmp_path / "MANIFEST.json").read_bytes() == manifest_of(expected)
    assert not (tmp_path / "canonical" / "one").exists()
