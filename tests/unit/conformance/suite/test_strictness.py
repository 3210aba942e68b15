"""Strict comparison of proofs, byte order marks in lists of expected failures, and negative vectors."""

from typing import Any

import pytest

from forum_conformance.suite.difference import Difference
from forum_conformance.suite.expected_failures import BadExpectation, read_expected_failures
from forum_conformance.suite.output import output_differences
from unit.conformance.suite.cases import make_case
from vector_generator.vector_files import is_negative

PROOF = make_case("prove", {"action": "inclusion", "input": "ledger.jsonl"})


@pytest.mark.parametrize(
    ("actual", "shown_value"), [(b'{"size":7.0}', "7.0"), (b'{"size":7e0}', "7.0"), (b'{"size":true}', "true")]
)
def test_an_integer_in_a_proof_must_be_written_as_one(actual: bytes, shown_value: str) -> None:
    expected = b'{"size":7}' if shown_value != "true" else b'{"size":1}'

    assert output_differences(PROOF, expected, actual) == [
        Difference("output, at /size", expected[8:9].decode(), shown_value)
    ]


@pytest.mark.parametrize(
    ("actual", "problem"),
    [
        (b'{"size":8,"size":7}', "a key is repeated"),
        (b'{"size":NaN}', "NaN is not JSON"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_proof_is_one_document(actual: bytes, problem: str) -> None:
    (difference,) = output_differences(PROOF, b'{"size":7}', actual)

    assert (difference.place, difference.expected) == ("output", "a JSON document")
    assert problem in difference.actual


def test_a_leading_byte_order_mark_is_ignored() -> None:
    reasons = read_expected_failures(
        "\ufeffa/a: reason\r\na/b: other reason\r\n", name="known.txt", known_ids={"a/a", "a/b"}
    )

    assert reasons == {"a/a": "reason", "a/b": "other reason"}


def test_a_byte_order_mark_elsewhere_is_part_of_the_id() -> None:
    with pytest.raises(BadExpectation, match=r"known\.txt:2: no such vector: '\ufeffa/b'"):
        read_expected_failures("a/a: reason\n\ufeffa/b: reason\n", name="known.txt", known_ids={"a/a", "a/b"})


@pytest.mark.parametrize(
    ("role", "action", "expected", "negative"),
    [
        ("verify", None, {"verdict": "valid"}, False),
        ("verify", None, {"verdict": "incomplete"}, True),
        ("run", "run", {"verdict": "valid", "status": "passed"}, False),
        ("run", "run", {"verdict": "valid", "status": "failed"}, True),
        ("run", "run", {"verdict": "invalid"}, True),
        ("run", "resume", {"verdict": "valid", "status": "paused"}, True),
        ("run", "decide", {"verdict": "valid", "status": "paused"}, False),
        ("run", "decide", {"verdict": "invalid"}, True),
        ("run", "redact", {"verdict": "valid", "status": "failed"}, False),
        ("run", "redact", {"verdict": "invalid"}, True),
    ],
)
def test_a_negative_vector_expects_a_failure(
    role: str, action: str | None, expected: dict[str, Any], negative: bool
) -> None:
    request = {"input": "w", **({"action": action} if action else {})}

    assert make_case(role, request, expected).is_negative is negative
    assert is_negative({"role": role, "request": request, "expected": expected}) is negative
