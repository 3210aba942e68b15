"""Order the vertices of each column to reduce line crossings: barycentre sweeps in both directions, then swaps."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import fsum

from forum_runner.graph.routes import RouteMap

_SWEEPS = 8
_IDLE_SWEEPS = 4
_SWAP_ROUNDS = 6

_Neighbours = defaultdict[int, list[int]]


def links_of(routes: RouteMap) -> Iterator[tuple[int, int]]:
    """Yield the lines between adjacent columns. Edges that skip columns without lanes yield none."""
    column_of = {vertex: index for index, column in enumerate(routes.columns) for vertex in column}
    for route in routes.routes:
        for left, right in pairwise(route.stops):
            if column_of[right] - column_of[left] == 1:
                yield left, right


def untangle(routes: RouteMap) -> tuple[tuple[int, ...], ...]:
    """Return the columns, each ordered from top to bottom."""
    before: _Neighbours = defaultdict(list)
    after: _Neighbours = defaultdict(list)
    for left, right in links_of(routes):
        before[right].append(left)
        after[left].append(right)
    columns = [list(column) for column in routes.columns]
    best, fewest, idle_sweeps = columns, _count_crossings(columns, after), 0
    for sweep in range(_SWEEPS):
        columns = _swept(columns, before) if sweep % 2 == 0 else _swept(columns[::-1], after)[::-1]
        crossings = _count_crossings(columns, after)
        idle_sweeps = 0 if crossings < fewest else idle_sweeps + 1
        if crossings < fewest:
            best, fewest = columns, crossings
        if fewest == 0 or idle_sweeps == _IDLE_SWEEPS:
            break
    return tuple(map(tuple, _swapped(best, before, after)))


def _swept(columns: list[list[int]], neighbours: _Neighbours) -> list[list[int]]:
    """Sort each column by the mean height of the neighbours in the column placed before it."""
    height = {vertex: place for column in columns for vertex, place in _heights(column)}
    result = []
    for column in columns:
        keys = [(_mean(height, neighbours[vertex], vertex), height[vertex], vertex) for vertex in column]
        result.append([vertex for *_, vertex in sorted(keys)])
        height.update(_heights(result[-1]))
    return result


def _swapped(columns: list[list[int]], before: _Neighbours, after: _Neighbours) -> list[list[int]]:
    """Swap adjacent vertices while a swap removes a crossing."""
    result = [list(column) for column in columns]
    place = {vertex: index for column in result for index, vertex in enumerate(column)}
    for _ in range(_SWAP_ROUNDS):
        swaps = [_swap_in(column, place, before, after) for column in result]
        if not any(swaps):
            break
    return result


def _swap_in(column: list[int], place: dict[int, int], before: _Neighbours, after: _Neighbours) -> bool:
    ends = {
        vertex: [sorted(place[neighbour] for neighbour in side[vertex]) for side in (before, after)]
        for vertex in column
    }
    has_swapped = False
    for index in range(len(column) - 1):
        upper, lower = column[index], column[index + 1]
        if _crossings_of(ends[lower], ends[upper]) < _crossings_of(ends[upper], ends[lower]):
            column[index : index + 2] = lower, upper
            place[upper], place[lower] = index + 1, index
            has_swapped = True
    return has_swapped


def _crossings_of(upper: list[list[int]], lower: list[list[int]]) -> int:
    """Count the crossings between the lines of two vertices, on both sides, with `upper` above `lower`."""
    return sum(bisect_left(low, end) for up, low in zip(upper, lower, strict=True) for end in up)


def _heights(column: list[int]) -> Iterator[tuple[int, float]]:
    for index, vertex in enumerate(column):
        yield vertex, (index + 0.5) / len(column)


def _mean(height: dict[int, float], neighbours: list[int], vertex: int) -> float:
    """Return the mean height of the neighbours, or the vertex's own height if it has none."""
    # Not sum(): its float result depends on the Python version, which could break ties differently.
    return fsum([height[n] for n in neighbours]) / len(neighbours) if neighbours else height[vertex]


def _count_crossings(columns: list[list[int]], after: _Neighbours) -> int:
    return sum(
        _count_inversions(_ends(column, following, after), len(following)) for column, following in pairwise(columns)
    )


def _ends(column: list[int], following: list[int], after: _Neighbours) -> Iterator[int]:
    index_of = {vertex: index for index, vertex in enumerate(following)}
    for vertex in column:
        yield from sorted(index_of[neighbour] for neighbour in after[vertex])


def _count_inversions(numbers: Iterable[int], bound: int) -> int:
    """Count inversions with a Fenwick tree; comparing all pairs would be quadratic."""
    tree = [0] * (bound + 1)
    inversions = 0
    for seen, number in enumerate(numbers):
        index, not_above = number + 1, 0
        while index:
            not_above += tree[index]
            index &= index - 1
        inversions += seen - not_above
        index = number + 1
        while index <= bound:
            tree[index] += 1
            index += index & -index
    return inversions
