"""What is remembered of the judge's schemas is what they say."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from forum_conformance import schemas
from suites.remembering import Memory, remembering, words_of

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
def test_what_is_said_of_a_value_is_not_said_of_another(value: Any, other: Any) -> None:
    validator = schemas._Validator(SCHEMA)
    memory = Memory()

    said = [memory.departure(validator, each) for each in (value, other, value)]

    assert said == [schemas.departure(validator, each) for each in (value, other, value)]
    assert len(memory.said) == 2


def test_what_one_schema_says_another_does_not() -> None:
    memory = Memory()

    said = [memory.departure(schemas._Validator({"type": name}), {}) for name in ("object", "array", "object")]

    assert said == [None, "at $: {} is not of type 'array'", None]
    assert len(memory.said) == 2


def test_a_validator_that_is_not_the_judges_own_is_asked_anew() -> None:
    permissive = schemas._extend(schemas._Validator, {"type": lambda *_: iter(())})
    memory = Memory()

    said = [memory.departure(kind({"type": "array"}), {}) for kind in (schemas._Validator, permissive)]

    assert said == ["at $: {} is not of type 'array'", None]


def test_what_a_process_has_learned_another_knows(tmp_path: Path) -> None:
    with remembering(tmp_path) as first:
        schemas.departure(schemas._Validator(SCHEMA), {"count": "one"})

    with remembering(tmp_path) as second:
        assert second.said == first.said != {}


def test_in_the_end_the_judge_asks_its_schemas_again(tmp_path: Path) -> None:
    before = schemas.departure

    with remembering(tmp_path):
        assert schemas.departure != before

    assert schemas.departure is before


def test_a_program_is_given_its_arguments_and_ends_with_its_own_status(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint(*sys.argv[1:])\nsys.exit(33)\n")

    ended = subprocess.run(
        [*words_of(tmp_path, str(program)), "serve", "--fast"], capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stdout) == (33, "serve --fast\n")
