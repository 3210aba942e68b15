"""The requests that a program receives."""

from pathlib import PurePosixPath
from typing import Any

import pytest

from forum_conformance.suite.case import Case
from forum_conformance.suite.request import own_members, request_for
from unit.conformance.suite.cases import ledger, make_case

FOLDER = PurePosixPath("/vector")
OUTPUT = PurePosixPath("/result")


def request(case: Case, levels: frozenset[int] | None = None) -> dict[str, Any]:
    return request_for(case, own_members(case, levels), folder=FOLDER, output=OUTPUT)


def test_paths_are_absolute_and_other_members_are_unchanged() -> None:
    case = make_case(
        "run", {"action": "run", "input": "flow/workflow.yaml", "root": "flow", "base": "base", "only": ["review"]}
    )

    assert request(case) == {
        "protocol": 1,
        "id": "area/name",
        "role": "run",
        "action": "run",
        "input": "/vector/flow/workflow.yaml",
        "root": "/vector/flow",
        "base": "/vector/base",
        "only": ["review"],
        "output": "/result",
    }


def test_before_is_copied_and_not_part_of_the_request() -> None:
    case = make_case("run", {"action": "resume", "input": "w.yaml", "root": ".", "before": "before"})

    assert "before" not in request(case)


@pytest.mark.parametrize(
    ("role", "members", "has_output"),
    [
        ("verify", {"input": "run"}, False),
        ("prove", {"action": "check", "input": "proof.json"}, False),
        ("prove", {"action": "inclusion", "input": "l", "seq": 1, "size": 2}, True),
        ("canonicalize", {"input": "input.json"}, True),
    ],
)
def test_a_request_that_writes_nothing_has_no_output(role: str, members: dict[str, Any], has_output: bool) -> None:
    assert ("output" in request(make_case(role, members))) is has_output


def test_without_levels_the_request_has_none() -> None:
    assert "levels" not in request(ledger())


def test_levels_are_ascending_and_include_the_first_two() -> None:
    assert request(ledger(), frozenset({5, 3}))["levels"] == [1, 2, 3, 5]


def test_a_bare_ledger_has_no_levels_that_need_a_run_directory() -> None:
    assert request(ledger(is_bare=True), frozenset({3, 4, 5}))["levels"] == [1, 2, 5]


def test_the_levels_of_a_vector_are_not_exceeded() -> None:
    assert request(ledger(levels=[1, 2, 4]), frozenset({3, 4}))["levels"] == [1, 2, 4]


def test_members_for_level_5_are_sent_only_with_that_level() -> None:
    case = ledger(checkpoint="checkpoint", key="key", pin="pin", expect_head="0" * 64)

    assert request(case, frozenset({3})).keys() == {"protocol", "id", "role", "input", "levels"}
    assert request(case, frozenset({5})).keys() > {"checkpoint", "key", "pin", "expect_head"}
