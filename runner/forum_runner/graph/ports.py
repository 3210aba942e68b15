"""Compute the ports of boxes: the points where lines enter and leave.

Data edges enter at one port per label, order edges at one shared port. Each edge kind leaves through one port.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from forum_runner.graph.boxes import PORT_PITCH
from forum_runner.graph.plan_graph import GraphEdge
from forum_runner.graph.routes import RouteMap
from forum_runner.model import EdgeKind

_Key = tuple[EdgeKind, str]
_Sides = defaultdict[int, dict[_Key, list[float]]]


@dataclass(frozen=True, slots=True)
class Ports:
    """The offset of each port from the middle of its box, by box number."""

    entries: dict[int, dict[_Key, int]]
    exits: dict[int, dict[_Key, int]]

    def entry(self, box: int, edge: GraphEdge) -> int:
        return self.entries[box][edge.kind, edge.label]

    def exit(self, box: int, edge: GraphEdge) -> int:
        return self.exits[box][edge.kind, ""]

    def count(self, box: int) -> int:
        return max(len(self.entries.get(box, ())), len(self.exits.get(box, ())))


def find_ports(routes: RouteMap, columns: Sequence[Sequence[int]]) -> Ports:
    """Return the ports, sorted by the position of the other end so that lines do not cross in front of a box."""
    relative_height = {vertex: (index + 0.5) / len(column) for column in columns for index, vertex in enumerate(column)}
    entries: _Sides = defaultdict(dict)
    exits: _Sides = defaultdict(dict)
    for route in routes.routes:
        first, second, previous, last = (*route.stops[:2], *route.stops[-2:])
        entries[last].setdefault((route.edge.kind, route.edge.label), []).append(relative_height[previous])
        if not routes.is_lane(first):
            exits[first].setdefault((route.edge.kind, ""), []).append(relative_height[second])
    return Ports(
        entries={box: _offsets(heights) for box, heights in entries.items()},
        exits={box: _offsets(heights) for box, heights in exits.items()},
    )


def _offsets(heights: dict[_Key, list[float]]) -> dict[_Key, int]:
    order = sorted(heights, key=lambda key: (fsum(heights[key]) / len(heights[key]), key))
    return {key: (2 * index - len(order) + 1) * PORT_PITCH // 2 for index, key in enumerate(order)}
