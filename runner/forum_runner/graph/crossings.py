"""Order the vertices of each column to reduce line crossings: barycenter sweeps in both directions, then swaps."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import fsum

from forum_runner.graph.routes import RouteMap

_MAX_SWEEPS = 8
_MAX_IDLE_SWEEPS = 4
_MAX_SWAP_ROUNDS = 6

_Neighbors = defaultdict[int, list[int]]


def adjacent_links(routes: RouteMap) -> Iterator[tuple[int, int]]:
    """Yield the lines between adjacent columns. An edge that skips columns without using lanes yields no line."""
    column_of = {vertex: index for index, column in enumerate(routes.columns) for vertex in column}
    for route in routes.routes:
        for left, right in pairwise(route.stops):
            if column_of[right] - column_of[left] == 1:
                yield left, right


def untangle(routes: RouteMap) -> tuple[tuple[int, ...], ...]:
    """Return the columns, each ordered from top to bottom."""
    left_neighbors: _Neighbors = defaultdict(list)
    right_neighbors: _Neighbors = defaultdict(list)
    for left, right in adjacent_links(routes):
        left_neighbors[right].append(left)
        right_neighbors[left].append(right)
    columns = [list(column) for column in routes.columns]
    best, fewest_crossings, idle_sweeps = columns, _count_crossings(columns, right_neighbors), 0
    for sweep in range(_MAX_SWEEPS):
        columns = _sweep(columns, left_neighbors) if sweep % 2 == 0 else _sweep(columns[::-1], right_neighbors)[::-1]
        crossings = _count_crossings(columns, right_neighbors)
        idle_sweeps = 0 if crossings < fewest_crossings else idle_sweeps + 1
        if crossings < fewest_crossings:
            best, fewest_crossings = columns, crossings
        if fewest_crossings == 0 or idle_sweeps == _MAX_IDLE_SWEEPS:
            break
    return tuple(map(tuple, _swap_adjacent(best, left_neighbors, right_neighbors)))


def _sweep(columns: list[list[int]], neighbors: _Neighbors) -> list[list[int]]:
    """Sort each column by the mean height of the neighbors in the column placed before it."""
    height = {vertex: place for column in columns for vertex, place in _heights(column)}
    result = []
    for column in columns:
        keys = [(_mean(height, neighbors[vertex], vertex), height[vertex], vertex) for vertex in column]
        result.append([vertex for *_, vertex in sorted(keys)])
        height.update(_heights(result[-1]))
    return result


def _swap_adjacent(
    columns: list[list[int]], left_neighbors: _Neighbors, right_neighbors: _Neighbors
) -> list[list[int]]:
    """Swap adjacent vertices while a swap removes a crossing."""
    result = [list(column) for column in columns]
    place = {vertex: index for column in result for index, vertex in enumerate(column)}
    for _ in range(_MAX_SWAP_ROUNDS):
        swaps = [_swap_in_column(column, place, left_neighbors, right_neighbors) for column in result]
        if not any(swaps):
            break
    return result


def _swap_in_column(
    column: list[int], place: dict[int, int], left_neighbors: _Neighbors, right_neighbors: _Neighbors
) -> bool:
    ends = {
        vertex: [sorted(place[neighbor] for neighbor in side[vertex]) for side in (left_neighbors, right_neighbors)]
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


def _mean(height: dict[int, float], neighbors: list[int], vertex: int) -> float:
    """Return the mean height of the neighbors, or the vertex's own height if it has none."""
    # Not sum(): its float result depends on the Python version, which could break ties differently.
    return fsum([height[n] for n in neighbors]) / len(neighbors) if neighbors else height[vertex]


def _count_crossings(columns: list[list[int]], right_neighbors: _Neighbors) -> int:
    return sum(
        _count_inversions(_ends(column, next_column, right_neighbors), len(next_column))
        for column, next_column in pairwise(columns)
    )


def _ends(column: list[int], next_column: list[int], right_neighbors: _Neighbors) -> Iterator[int]:
    index_of = {vertex: index for index, vertex in enumerate(next_column)}
    for vertex in column:
        yield from sorted(index_of[neighbor] for neighbor in right_neighbors[vertex])


def _count_inversions(numbers: Iterable[int], bound: int) -> int:
    """Count inversions with a Fenwick tree; comparing all pairs would be quadratic."""
    tree = [0] * (bound + 1)
    inversions = 0
    for count, number in enumerate(numbers):
        index, not_greater = number + 1, 0
        while index:
            not_greater += tree[index]
            index &= index - 1
        inversions += count - not_greater
        index = number + 1
        while index <= bound:
            tree[index] += 1
            index += index & -index
    return inversions
