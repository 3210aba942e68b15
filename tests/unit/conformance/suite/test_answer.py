"""Parsing and checking answers."""

import pytest

from forum_conformance.suite.answer import BadAnswer, read_answer
from forum_conformance.suite.difference import Difference


def read(data: bytes, *, requires_id: bool = False) -> object:
    return read_answer(data, id_="area/name", requires_id=requires_id)


def test_an_answer_may_have_surrounding_whitespace_and_extra_members() -> None:
    data = b'\n {"protocol": 1, "verdict": "valid", "x": [1]}\n\n'

    assert read(data) == {"protocol": 1, "verdict": "valid", "x": [1]}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n",
        b"all is well",
        b'{"protocol":1,"verdict":"valid"} and more',
        b'{"protocol":1,"verdict":"valid"}{"protocol":1,"verdict":"valid"}',
        b"[]",
        b"null",
        b'\xef\xbb\xbf{"protocol":1,"verdict":"valid"}',
        '{"protocol":1,"verdict":"valid"}'.encode("utf-16"),
        b'{"protocol":1,"verdict":"valid","verdict":"invalid"}',
        b'{"protocol":1,"verdict":"valid","x":NaN}',
        b'{"protocol":1,"verdict":"valid","x":' + b"[" * 100_000,
        b'{"protocol":1,"verdict":"\xff"}',
    ],
)
def test_an_answer_that_is_not_one_object_is_refused(data: bytes) -> None:
    with pytest.raises(BadAnswer) as caught:
        read(data)

    assert (caught.value.difference.place, caught.value.difference.expected) == (
        "standard output",
        "one JSON object in UTF-8",
    )


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b'{"protocol":1}',
        b'{"protocol":2,"verdict":"valid"}',
        b'{"protocol":1,"verdict":"yes"}',
        b'{"protocol":1,"verdict":"valid","codes":"L201"}',
        b'{"protocol":1,"verdict":"valid","codes":["L201","L201"]}',
        b'{"protocol":1,"verdict":"valid","first_bad_seq":-1}',
        b'{"protocol":1,"verdict":"valid","levels":{"6":"ok"}}',
        b'{"protocol":1,"verdict":"valid","levels":{"1":"good"}}',
        b'{"protocol":1,"verdict":"valid","status":"done"}',
        b'{"protocol":1,"verdict":"valid","id":7}',
    ],
)
def test_an_answer_must_match_its_schema(data: bytes) -> None:
    with pytest.raises(BadAnswer) as caught:
        read(data)

    assert caught.value.difference.place == "answer"


@pytest.mark.parametrize(
    ("data", "expected", "actual"),
    [
        (b'{"protocol":1}', "a member 'verdict'", 'no such member: {"protocol": 1}'),
        (b'{"protocol":2,"verdict":"valid"}', "protocol: 1", "protocol: 2"),
        (
            b'{"protocol":1,"verdict":"yes"}',
            'verdict: one of "valid", "invalid", "incomplete", "unsupported"',
            'verdict: "yes"',
        ),
        (
            b'{"protocol":1,"verdict":"valid","first_bad_seq":"4"}',
            "first_bad_seq: an integer or null",
            'first_bad_seq: "4"',
        ),
        (
            b'{"protocol":1,"verdict":"valid","codes":["L1"]}',
            "codes[0]: a string that matches ^[A-Z][0-9]{3}$",
            'codes[0]: "L1"',
        ),
        (
            b'{"protocol":1,"verdict":"valid","levels":{"6":"ok"}}',
            'a key of levels: one of "1", "2", "3", "4", "5"',
            'a key of levels: "6"',
        ),
        (
            b'{"protocol":1,"verdict":"valid","message":["' + b"x" * 500 + b'"]}',
            "message: a string",
            'message: ["' + "x" * 198 + "...",
        ),
    ],
)
def test_a_schema_error_names_the_member_and_shows_its_value(data: bytes, expected: str, actual: str) -> None:
    with pytest.raises(BadAnswer) as caught:
        read(data)

    assert caught.value.difference == Difference("answer", expected, actual)


@pytest.mark.parametrize(
    ("data", "actual"),
    [
        (b"all is well", "all is well (invalid JSON at character 0)"),
        (b'{"protocol":1} done', '{"protocol":1} done (extra data after the JSON value at character 15)'),
        (b'{"a":"\xff"}', '{"a":"<FF>"} (byte 6 is not UTF-8)'),
        (b'{"a":1,"a":1}', '{"a":1,"a":1} (a key is repeated)'),
        (b'{"a":NaN}', '{"a":NaN} (NaN is not JSON)'),
    ],
)
def test_invalid_json_is_explained(data: bytes, actual: str) -> None:
    with pytest.raises(BadAnswer) as caught:
        read(data)

    assert caught.value.difference.actual == actual


def test_an_id_in_an_answer_must_equal_the_requests() -> None:
    with pytest.raises(BadAnswer) as caught:
        read(b'{"protocol":1,"verdict":"valid","id":"area/other"}')

    assert caught.value.difference.actual == '"area/other"'


def test_an_id_is_required_if_one_process_answers_all_requests() -> None:
    assert read(b'{"protocol":1,"verdict":"valid","id":"area/name"}', requires_id=True)
    with pytest.raises(BadAnswer):
        read(b'{"protocol":1,"verdict":"valid"}', requires_id=True)
