"""A memo reads equal values once."""

from forum_adapters.memo import Memo


def test_equal_values_are_read_once() -> None:
    read: list[list[int]] = []
    memo = Memo(lambda value: read.append(value) or len(read))  # type: ignore[func-returns-value]
    value = [1, 2]

    results = [memo.get(value), memo.get(value), memo.get([1, 2])]

    assert (results, read) == ([1, 1, 1], [[1, 2]])


def test_a_different_value_is_read_again() -> None:
    memo = Memo(list[int])

    assert [memo.get((1,)), memo.get((2,)), memo.get((1,))] == [[1], [2], [1]]
