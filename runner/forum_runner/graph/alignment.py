"""Compute the heights of the vertices in each column, so that lines are level where possible and nothing overlaps.

Every vertex prefers the mean height of its neighbours. Order and minimum distances within a column are constraints.
Pooling adjacent violators finds the least-squares solution in linear time.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_ROUNDS = 4
_REACH = 24
_IDLE_WEIGHT = 0.01


@dataclass(frozen=True, slots=True)
class Link:
    """A line that is level if its right vertex is `drop` below its left one. A heavier link has more influence."""

    left: int
    right: int
    drop: int
    weight: int


# For each vertex: (other vertex, preferred distance below it, weight), once per link.
_Pulls = list[list[tuple[int, int, int]]]


def align(columns: Sequence[Sequence[int]], distances: Sequence[Sequence[int]], links: Sequence[Link]) -> list[int]:
    """Return the height of each vertex; `distances[c][i]` is the minimum from position i of column c to the next."""
    heights = _stacked(columns, distances)
    from_left: _Pulls = [[] for _ in heights]
    from_right: _Pulls = [[] for _ in heights]
    for link in links:
        from_left[link.right].append((link.left, link.drop, link.weight))
        from_right[link.left].append((link.right, -link.drop, link.weight))
    pulls = [left + right for left, right in zip(from_left, from_right, strict=True)]
    weights = [sum(weight for _, _, weight in vertex_pulls) or _IDLE_WEIGHT for vertex_pulls in pulls]
    ahead = list(zip(columns, distances, strict=True))
    for column, least in _ROUNDS * [*ahead, *reversed(ahead)]:
        wishes = [_preferred_height(vertex, pulls, weights, heights) for vertex in column]
        settled = _settle(wishes, [weights[vertex] for vertex in column], least)
        for vertex, height in zip(column, settled, strict=True):
            heights[vertex] = height
    rounded = [round(height) for height in heights]
    # Align with the left neighbours first: a level line on the right could otherwise hold back a whole chain.
    for column, least in ahead:
        _straighten(column, least, from_left, rounded)
    for column, least in reversed(ahead):
        _straighten(column, least, pulls, rounded)
    return rounded


def _stacked(columns: Sequence[Sequence[int]], distances: Sequence[Sequence[int]]) -> list[float]:
    """Return initial heights: each column is packed tightly and centred on 0."""
    heights = [0.0] * sum(map(len, columns))
    for column, least in zip(columns, distances, strict=True):
        height = -sum(least) / 2
        for vertex, distance in zip(column, [*least, 0], strict=True):
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


def _settle(wishes: Sequence[float], weights: Sequence[float], distances: Sequence[int]) -> Iterator[float]:
    """Place blocks of vertices at minimum distance, each block at the weighted mean of its preferred heights."""
    blocks: list[tuple[float, float, int]] = []
    offsets: list[int] = []
    offset = 0
    for wish, weight, distance in zip(wishes, weights, [*distances, 0], strict=True):
        height, mass, size = wish - offset, weight, 1
        while blocks and blocks[-1][0] >= height:
            upper_height, upper_mass, upper_size = blocks.pop()
            height = (upper_height * upper_mass + height * mass) / (upper_mass + mass)
            mass, size = mass + upper_mass, size + upper_size
        blocks.append((height, mass, size))
        offsets.append(offset)
        offset += distance
    places = iter(offsets)
    for height, _, size in blocks:
        for _ in range(size):
            yield height + next(places)


def _straighten(column: Sequence[int], distances: Sequence[int], pulls: _Pulls, heights: list[int]) -> None:
    """Move each vertex within its free room if the move makes more lines level."""
    for index, vertex in enumerate(column):
        here = heights[vertex]
        top, bottom = here - _REACH, here + _REACH
        if index:
            top = max(top, heights[column[index - 1]] + distances[index - 1])
        if index + 1 < len(column):
            bottom = min(bottom, heights[column[index + 1]] - distances[index])
        level: Counter[int] = Counter({here: 0})
        for other, shift, weight in pulls[vertex]:
            if top <= heights[other] + shift <= bottom:
                level[heights[other] + shift] += weight
        heights[vertex] = min(level, key=lambda height: (-level[height], abs(height - here), height))
