"""Compute the positions of boxes and lines, in whole units from the upper left corner."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from forum_runner.graph.alignment import Link, align
from forum_runner.graph.boxes import BoxText, box_text, label_width
from forum_runner.graph.crossings import adjacent_links, untangle
from forum_runner.graph.plan_graph import Graph, GraphEdge, Node
from forum_runner.graph.ports import Ports, find_ports
from forum_runner.graph.routes import RouteMap, map_routes
from forum_runner.model import EdgeKind

_BOX_DISTANCE = 22
_LANE_DISTANCE = 16
_MIN_CURVE_WIDTH = 44
_MAX_CURVE_WIDTH = 110
_CURVE_WIDTH_PER_LINE = 3
_TAIL = 20
_LABELED_TAIL = 36
# Each lane at an end of a line multiplies the line's weight: bends in long lines are the most visible.
_LANE_WEIGHT = 4


@dataclass(frozen=True, slots=True)
class Column:
    """The boxes of one wave. Over the distance `tail` before them, lines are level, so that no line crosses a label."""

    x: int
    width: int
    tail: int


@dataclass(frozen=True, slots=True)
class Box:
    """The box of a task."""

    node: Node
    text: BoxText
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Wire:
    """An edge's line, from its tip back to its start, with alternating level and curved segments."""

    edge: GraphEdge
    points: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Tip:
    """The arrowhead where lines with the same label enter a box."""

    x: int
    y: int
    kind: EdgeKind
    label: str


@dataclass(frozen=True, slots=True)
class Placement:
    """The positions of everything in a drawing, and its size."""

    columns: tuple[Column, ...]
    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    tips: tuple[Tip, ...]
    width: int
    height: int


def place(graph: Graph) -> Placement:
    """Return the positions of all boxes and lines of a graph."""
    routes = map_routes(graph)
    order = untangle(routes)
    ports = find_ports(routes, order)
    texts = [box_text(node) for node in graph.nodes]
    heights = [text.height(ports.count(box)) for box, text in enumerate(texts)]
    middles = _middles(routes, order, ports, heights)
    columns = tuple(_columns(graph, routes, texts))
    return Placement(
        columns=columns,
        boxes=tuple(_boxes(graph, columns, texts, middles, heights)),
        wires=tuple(_wires(routes, columns, ports, middles)),
        tips=tuple(_tips(graph, columns, ports, middles)),
        width=columns[-1].x + columns[-1].width,
        height=max([*middles, *(middles[box] + height // 2 for box, height in enumerate(heights))]),
    )


def _middles(routes: RouteMap, order: Sequence[Sequence[int]], ports: Ports, heights: Sequence[int]) -> list[int]:
    distances = [[_distance(routes, heights, upper, lower) for upper, lower in pairwise(column)] for column in order]
    middles = align(order, distances, list(_level_links(routes, ports)))
    top = min([*middles, *(middles[box] - height // 2 for box, height in enumerate(heights))])
    return [middle - top for middle in middles]


def _distance(routes: RouteMap, heights: Sequence[int], upper: int, lower: int) -> int:
    halves = sum(heights[vertex] // 2 for vertex in (upper, lower) if not routes.is_lane(vertex))
    has_lane = routes.is_lane(upper) or routes.is_lane(lower)
    return halves + (_LANE_DISTANCE if has_lane else _BOX_DISTANCE)


def _level_links(routes: RouteMap, ports: Ports) -> Iterator[Link]:
    for route in routes.routes:
        for left, right in pairwise(route.stops):
            leave = 0 if routes.is_lane(left) else ports.exit(left, route.edge)
            enter = 0 if routes.is_lane(right) else ports.entry(right, route.edge)
            lane_ends = routes.is_lane(left) + routes.is_lane(right)
            yield Link(left, right, drop=leave - enter, weight=_LANE_WEIGHT**lane_ends)


def _columns(graph: Graph, routes: RouteMap, texts: Sequence[BoxText]) -> Iterator[Column]:
    column_of = [index for index, wave in enumerate(graph.waves) for _ in wave]
    labels = [0] * len(graph.waves)
    tails = [0] * len(graph.waves)
    for route in routes.routes:
        column = column_of[route.stops[-1]]
        labels[column] = max(labels[column], label_width(route.edge.label))
        tails[column] = _TAIL
    line_counts = _count_lines_into(routes)
    x, first = 0, 0
    for index, wave in enumerate(graph.waves):
        tail = labels[index] + _LABELED_TAIL if labels[index] else tails[index]
        if index:
            x += tail + min(_MAX_CURVE_WIDTH, _MIN_CURVE_WIDTH + _CURVE_WIDTH_PER_LINE * line_counts[index])
        width = max(text.width for text in texts[first : first + len(wave)])
        yield Column(x, width, tail)
        x, first = x + width, first + len(wave)


def _count_lines_into(routes: RouteMap) -> Counter[int]:
    """Count the lines that enter each column from the column on its left."""
    column_of = {vertex: index for index, column in enumerate(routes.columns) for vertex in column}
    return Counter(column_of[right] for _, right in adjacent_links(routes))


def _boxes(
    graph: Graph, columns: Sequence[Column], texts: Sequence[BoxText], middles: Sequence[int], heights: Sequence[int]
) -> Iterator[Box]:
    for number, node in enumerate(graph.nodes):
        column, height = columns[node.wave], heights[number]
        yield Box(node, texts[number], column.x, middles[number] - height // 2, column.width, height)


def _wires(routes: RouteMap, columns: Sequence[Column], ports: Ports, middles: Sequence[int]) -> Iterator[Wire]:
    column_of = {vertex: columns[index] for index, column in enumerate(routes.columns) for vertex in column}
    for route in routes.routes:
        first, *lanes, last = route.stops
        y = middles[last] + ports.entry(last, route.edge)
        points = [(column_of[last].x, y), (column_of[last].x - column_of[last].tail, y)]
        for lane in reversed(lanes):
            column = column_of[lane]
            points += [(column.x + column.width, middles[lane]), (column.x - column.tail, middles[lane])]
        leave = 0 if routes.is_lane(first) else ports.exit(first, route.edge)
        points.append((column_of[first].x + column_of[first].width, middles[first] + leave))
        yield Wire(route.edge, tuple(points))


def _tips(graph: Graph, columns: Sequence[Column], ports: Ports, middles: Sequence[int]) -> Iterator[Tip]:
    for number, node in enumerate(graph.nodes):
        for (kind, label), offset in ports.entries.get(number, {}).items():
            yield Tip(columns[node.wave].x, middles[number] + offset, kind, label)
