"""Heights for the vertices of each column, so that lines run level where they can and nothing touches.

Every vertex is drawn to the heights of its neighbours; within a column the order and the distances hold. The heights
that come closest to all wishes, in squares, are found by pooling adjacent violators, which is linear.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_ROUNDS = 4
_REACH = 24
_IDLE_WEIGHT = 0.01


@dataclass(frozen=True, slots=True)
class Link:
    """A line that is level if its right end stands `drop` below its left one; the heavier, the more it matters."""

    left: int
    right: int
    drop: int
    weight: int


# For each vertex what its links ask of it: to stand so far below another vertex, and how much that matters.
_Pulls = list[list[tuple[int, int, int]]]


def align(columns: Sequence[Sequence[int]], distances: Sequence[Sequence[int]], links: Sequence[Link]) -> list[int]:
    """The height of each vertex, by its number; `distances[c][i]` is the least from place i of column c to the next."""
    heights = _stacked(columns, distances)
    from_left: _Pulls = [[] for _ in heights]
    from_right: _Pulls = [[] for _ in heights]
    for link in links:
        from_left[link.right].append((link.left, link.drop, link.weight))
        from_right[link.left].append((link.right, -link.drop, link.weight))
    pulls = [left + right for left, right in zip(from_left, from_right, strict=True)]
    weights = [sum(weight for _, _, weight in asked) or _IDLE_WEIGHT for asked in pulls]
    ahead = list(zip(columns, distances, strict=True))
    for column, least in _ROUNDS * [*ahead, *reversed(ahead)]:
        wishes = [_wish(vertex, pulls, weights, heights) for vertex in column]
        settled = _settle(wishes, [weights[vertex] for vertex in column], least)
        for vertex, height in zip(column, settled, strict=True):
            heights[vertex] = height
    rounded = [round(height) for height in heights]
    # First to the left alone, so that what is level on the right does not hold back a whole chain.
    for column, least in ahead:
        _straighten(column, least, from_left, rounded)
    for column, least in reversed(ahead):
        _straighten(column, least, pulls, rounded)
    return rounded


def _stacked(columns: Sequence[Sequence[int]], distances: Sequence[Sequence[int]]) -> list[float]:
    """Each column packed, and centred on 0."""
    heights = [0.0] * sum(map(len, columns))
    for column, least in zip(columns, distances, strict=True):
        height = -sum(least) / 2
        for vertex, distance in zip(column, [*least, 0], strict=True):
            heights[vertex] = height
            height += distance
    return heights


def _wish(vertex: int, pulls: _Pulls, weights: Sequence[float], heights: Sequence[float]) -> float:
    if not pulls[vertex]:
        return heights[vertex]
    total = 0.0
    for other, shift, weight in pulls[vertex]:
        total += weight * (heights[other] + shift)
    return total / weights[vertex]


def _settle(wishes: Sequence[float], weights: Sequence[float], distances: Sequence[int]) -> Iterator[float]:
    """A block is a run of vertices that stand as close as they may: it goes where its members' wishes balance."""
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
    """Moves what has room to move, and only if more lines are level after it than before."""
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
