"""What every attempt carries is read once."""

from forum_adapters.memo import Memo


def test_a_value_and_its_equals_are_read_once() -> None:
    read: list[list[int]] = []
    kept = Memo(lambda value: read.append(value) or len(read))  # type: ignore[func-returns-value]
    value = [1, 2]

    results = [kept.of(value), kept.of(value), kept.of([1, 2])]

    assert (results, read) == ([1, 1, 1], [[1, 2]])


def test_another_value_is_read_anew() -> None:
    kept = Memo(list[int])

    assert [kept.of((1,)), kept.of((2,)), kept.of((1,))] == [[1], [2], [1]]
