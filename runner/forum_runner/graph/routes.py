"""Route each edge through the columns between its two tasks.

A vertex is a position in a column: a task's box (numbered from 0, in the order of the graph's nodes) or a lane, where
lines pass between the boxes of a wave. All edges of one kind that leave a task share lanes: the longest edge draws the
whole line, and the others start where they branch off.
"""

from collections import defaultdict
from dataclasses import dataclass

from forum_runner.graph.plan_graph import Graph, GraphEdge
from forum_runner.model import EdgeKind

# A drawing may have this many lanes for each task, and in addition a fixed number.
_LANES_PER_TASK = 1
_BASE_LANES = 2000


@dataclass(frozen=True, slots=True)
class EdgeRoute:
    """The vertices that the line of one edge connects, ending at the box of its downstream task."""

    edge: GraphEdge
    stops: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RouteMap:
    """The routes of all edges, and the vertices of each column."""

    box_count: int
    columns: tuple[tuple[int, ...], ...]
    routes: tuple[EdgeRoute, ...]

    def is_lane(self, vertex: int) -> bool:
        return vertex >= self.box_count


def map_routes(graph: Graph) -> RouteMap:
    nodes = graph.nodes
    number = {node.id: index for index, node in enumerate(nodes)}
    wave_of = {node.id: node.wave for node in nodes}
    columns = [[number[node.id] for node in wave] for wave in graph.waves]
    routes: list[EdgeRoute] = []
    # The number of lanes can reach tasks times waves. Beyond the limit, edges are straight and pass behind boxes.
    remaining_lanes = _LANES_PER_TASK * len(nodes) + _BASE_LANES
    next_lane = len(nodes)
    for edges in _edges_by_exit(graph, wave_of):
        upstream, first_wave = number[edges[0].upstream], wave_of[edges[0].upstream] + 1
        lane_count = max(0, wave_of[edges[0].downstream] - first_wave)
        if lane_count > remaining_lanes:
            routes.extend(EdgeRoute(edge, (upstream, number[edge.downstream])) for edge in edges)
            continue
        lanes = range(next_lane, next_lane + lane_count)
        for wave, lane in enumerate(lanes, start=first_wave):
            columns[wave].append(lane)
        remaining_lanes -= lane_count
        next_lane += lane_count
        trunk = (upstream, *lanes)
        routes.append(EdgeRoute(edges[0], (*trunk, number[edges[0].downstream])))
        for edge in edges[1:]:
            branch = trunk[max(0, wave_of[edge.downstream] - first_wave)]
            routes.append(EdgeRoute(edge, (branch, number[edge.downstream])))
    return RouteMap(len(nodes), tuple(map(tuple, columns)), tuple(routes))


def _edges_by_exit(graph: Graph, wave_of: dict[str, int]) -> list[list[GraphEdge]]:
    """Group edges by upstream task and kind, longest first; sort groups by the number of lanes they need."""

    def reach(edge: GraphEdge) -> int:
        return wave_of[edge.downstream] - wave_of[edge.upstream]

    exits: defaultdict[tuple[str, EdgeKind], list[GraphEdge]] = defaultdict(list)
    for edge in sorted(graph.edges, key=reach, reverse=True):
        exits[edge.upstream, edge.kind].append(edge)
    return sorted(exits.values(), key=lambda edges: reach(edges[0]))
