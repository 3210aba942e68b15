"""Compute the heights of the vertices in each column, so that lines are level where possible and nothing overlaps.

Every vertex prefers the mean height of its neighbors. Order and minimum distances within a column are constraints.
Pooling adjacent violators finds the least-squares solution in linear time.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_ROUNDS = 4
_MAX_MOVE = 24
_UNLINKED_WEIGHT = 0.01  # a vertex without lines yields to all others


@dataclass(frozen=True, slots=True)
class Link:
    """A line between two vertices. It is level if the right vertex is `drop` below the left one."""

    left: int
    right: int
    drop: int
    weight: int


# For each vertex, one tuple per link: the other vertex, the preferred distance below it, and the weight of the link.
_Pulls = list[list[tuple[int, int, int]]]


def align(columns: Sequence[Sequence[int]], distances: Sequence[Sequence[int]], links: Sequence[Link]) -> list[int]:
    """Return the height of each vertex. `distances[c][i]` is the minimum distance after position i of column c."""
    heights = _initial_heights(columns, distances)
    from_left: _Pulls = [[] for _ in heights]
    from_right: _Pulls = [[] for _ in heights]
    for link in links:
        from_left[link.right].append((link.left, link.drop, link.weight))
        from_right[link.left].append((link.right, -link.drop, link.weight))
    pulls = [left + right for left, right in zip(from_left, from_right, strict=True)]
    weights = [sum(weight for _, _, weight in vertex_pulls) or _UNLINKED_WEIGHT for vertex_pulls in pulls]
    spaced_columns = list(zip(columns, distances, strict=True))
    for column, min_distances in _ROUNDS * [*spaced_columns, *reversed(spaced_columns)]:
        preferred = [_preferred_height(vertex, pulls, weights, heights) for vertex in column]
        new_heights = _settle(preferred, [weights[vertex] for vertex in column], min_distances)
        for vertex, height in zip(column, new_heights, strict=True):
            heights[vertex] = height
    rounded = [round(height) for height in heights]
    # Align with the left neighbors first. Otherwise, a level line on the right could keep a whole chain from moving.
    for column, min_distances in spaced_columns:
        _straighten(column, min_distances, from_left, rounded)
    for column, min_distances in reversed(spaced_columns):
        _straighten(column, min_distances, pulls, rounded)
    return rounded


def _initial_heights(columns: Sequence[Sequence[int]], distances: Sequence[Sequence[int]]) -> list[float]:
    """Return initial heights: each column is packed tightly and centered on 0."""
    heights = [0.0] * sum(map(len, columns))
    for column, min_distances in zip(columns, distances, strict=True):
        height = -sum(min_distances) / 2
        for vertex, distance in zip(column, [*min_distances, 0], strict=True):
            heights[vertex] = height
            height += distance
    return heights


def _preferred_height(vertex: int, pulls: _Pulls, weights: Sequence[float], heights: Sequence[float]) -> float:
    if not pulls[vertex]:
        return heights[vertex]
    total = 0.0
    for other, shift, weight in pulls[vertex]:
        total += weight * (heights[other] + shift)
    return total / weights[vertex]


def _settle(preferred: Sequence[float], weights: Sequence[float], distances: Sequence[int]) -> Iterator[float]:
    """Yield the height of each vertex of a column.

    Vertices that would come too close form a block with minimum distances, at the weighted mean of their preferences.
    """
    blocks: list[tuple[float, float, int]] = []
    offsets: list[int] = []
    offset = 0
    for preferred_height, weight, distance in zip(preferred, weights, [*distances, 0], strict=True):
        height, mass, size = preferred_height - offset, weight, 1
        while blocks and blocks[-1][0] >= height:
            upper_height, upper_mass, upper_size = blocks.pop()
            height = (upper_height * upper_mass + height * mass) / (upper_mass + mass)
            mass, size = mass + upper_mass, size + upper_size
        blocks.append((height, mass, size))
        offsets.append(offset)
        offset += distance
    block_offsets = iter(offsets)
    for height, _, size in blocks:
        for _ in range(size):
            yield height + next(block_offsets)


def _straighten(column: Sequence[int], distances: Sequence[int], pulls: _Pulls, heights: list[int]) -> None:
    """Move each vertex within its free space if more lines become level."""
    for index, vertex in enumerate(column):
        current = heights[vertex]
        top, bottom = current - _MAX_MOVE, current + _MAX_MOVE
        if index:
            top = max(top, heights[column[index - 1]] + distances[index - 1])
        if index + 1 < len(column):
            bottom = min(bottom, heights[column[index + 1]] - distances[index])
        weight_by_height: Counter[int] = Counter({current: 0})
        for other, shift, weight in pulls[vertex]:
            if top <= heights[other] + shift <= bottom:
                weight_by_height[heights[other] + shift] += weight
        heights[vertex] = min(
            weight_by_height, key=lambda height: (-weight_by_height[height], abs(height - current), height)
        )
