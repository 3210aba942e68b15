"""Progress bars and how they divide their cells."""

from hypothesis import given
from hypothesis import strategies as st

from forum_runner.progress.bars import allocate_cells, budget_bar, state_bar

NUMBERS = st.lists(st.integers(0, 100_000), max_size=7)


@given(NUMBERS, st.integers(0, 500_000), st.integers(8, 40))
def test_a_bar_fits_its_width_and_shows_every_nonzero_number(numbers: list[int], total: int, width: int) -> None:
    cells = allocate_cells(numbers, total, width)

    assert sum(cells) <= width
    assert [cell > 0 for cell in cells] == [number > 0 for number in numbers]
    if sum(numbers):
        assert (sum(cells) == width) == (sum(numbers) >= total)


def test_one_failure_among_thousands_gets_a_cell() -> None:
    styles = {"failed": "red", "passed": "green"}

    bar = state_bar({"failed": 1, "passed": 9_998}, styles, 10_000, 20, is_ascii=True)

    assert bar.plain == "###################."
    assert [(span.start, span.end, span.style) for span in bar.spans] == [
        (0, 1, "red"),
        (1, 19, "green"),
        (19, 20, "dim"),
    ]


def test_reserved_amounts_are_shaded() -> None:
    assert budget_bar(3, 2, 10, 10, is_ascii=False).plain == "███▒▒░░░░░"
    assert budget_bar(0, 0, 0, 10, is_ascii=False).plain == "░░░░░░░░░░"
    assert budget_bar(12, 0, 10, 10, is_ascii=False).plain == "██████████"
