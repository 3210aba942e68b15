"""What counts as an answer."""

import pytest

from forum_conformance.suite.answer import BadAnswer, read_answer


def read(data: bytes, *, repeats_id: bool = False) -> object:
    return read_answer(data, id_="area/name", repeats_id=repeats_id)


def test_an_answer_may_have_white_space_around_it_and_say_more() -> None:
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
def test_anything_but_one_object_is_refused(data: bytes) -> None:
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
def test_an_answer_must_fit_its_schema(data: bytes) -> None:
    with pytest.raises(BadAnswer) as caught:
        read(data)

    assert caught.value.difference.place == "answer"


def test_an_id_that_is_told_must_be_that_of_the_request() -> None:
    with pytest.raises(BadAnswer) as caught:
        read(b'{"protocol":1,"verdict":"valid","id":"area/other"}')

    assert caught.value.difference.came == '"area/other"'


def test_an_id_must_be_told_where_one_process_answers_all() -> None:
    assert read(b'{"protocol":1,"verdict":"valid","id":"area/name"}', repeats_id=True)
    with pytest.raises(BadAnswer):
        read(b'{"protocol":1,"verdict":"valid"}', repeats_id=True)
