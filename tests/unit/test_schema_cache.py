"""Cached schema results equal the results of the judge's schemas."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from forum_conformance import schemas
from suites.schema_cache import SchemaCache, cached_schema_results, command_with_cache

SCHEMA = {"properties": {"count": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ({"count": 1}, {"count": True}),
        ({"count": True}, {"count": 1}),
        ({"count": 1}, {"count": "1"}),
        ({"count": 1}, {"count": 1.5}),
    ],
)
def test_each_value_gets_its_own_result(value: Any, other: Any) -> None:
    validator = schemas._Validator(SCHEMA)
    cache = SchemaCache()

    results = [cache.schema_mismatch(validator, item) for item in (value, other, value)]

    assert results == [schemas.schema_mismatch(validator, item) for item in (value, other, value)]
    assert len(cache.results) == 2


def test_each_schema_gets_its_own_result() -> None:
    cache = SchemaCache()

    results = [cache.schema_mismatch(schemas._Validator({"type": name}), {}) for name in ("object", "array", "object")]

    assert results == [None, "at $: {} is not of type 'array'", None]
    assert len(cache.results) == 2


def test_results_of_a_different_validator_are_not_cached() -> None:
    permissive = schemas._extend(schemas._Validator, {"type": lambda *_: iter(())})
    cache = SchemaCache()

    results = [cache.schema_mismatch(kind({"type": "array"}), {}) for kind in (schemas._Validator, permissive)]

    assert results == ["at $: {} is not of type 'array'", None]


def test_results_are_loaded_by_the_next_process(tmp_path: Path) -> None:
    with cached_schema_results(tmp_path) as first:
        schemas.schema_mismatch(schemas._Validator(SCHEMA), {"count": "one"})

    with cached_schema_results(tmp_path) as second:
        assert second.results == first.results != {}


def test_the_original_function_is_restored_afterwards(tmp_path: Path) -> None:
    before = schemas.schema_mismatch

    with cached_schema_results(tmp_path):
        assert schemas.schema_mismatch != before

    assert schemas.schema_mismatch is before


def test_a_program_gets_its_arguments_and_keeps_its_exit_code(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint(*sys.argv[1:])\nsys.exit(33)\n")

    completed = subprocess.run(
        [*command_with_cache(tmp_path, str(program)), "serve", "--fast"], capture_output=True, text=True, check=False
    )

    assert (completed.returncode, completed.stdout) == (33, "serve --fast\n")
