"""Placement of boxes and lines in a drawing."""

from collections.abc import Iterator
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forum_runner.graph.alignment import Link, align
from forum_runner.graph.boxes import ID_CELL, PADDING, PERFORMER_CELL, box_text
from forum_runner.graph.crossings import untangle
from forum_runner.graph.labels import cells, printable, shorten
from forum_runner.graph.placement import Placement, Wire, place
from forum_runner.graph.plan_graph import Graph, GraphEdge, Node, TaskMark
from forum_runner.graph.routes import EdgeRoute, map_routes
from forum_runner.model import EdgeKind

without_deadline = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def graph_of(waves: list[list[str]], edges: list[GraphEdge]) -> Graph:
    nodes = tuple(tuple(Node(task_id, wave, "agent") for task_id in ids) for wave, ids in enumerate(waves))
    return Graph("graph", "", nodes, tuple(edges))


def order_edge(upstream: str, downstream: str) -> GraphEdge:
    return GraphEdge(upstream, downstream, EdgeKind.ORDER)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    waves = [[f"{wave}.{place}" for place in range(size)] for wave, size in enumerate(sizes)]
    pairs = [
        (upstream, downstream)
        for wave, ids in enumerate(waves)
        for downstream in ids
        for earlier in waves[:wave]
        for upstream in earlier
    ]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20)) if pairs else []
    kinds = draw(st.lists(st.sampled_from(EdgeKind), min_size=len(chosen), max_size=len(chosen)))
    labels = draw(st.lists(st.sampled_from(["", "text", "commits"]), min_size=len(chosen), max_size=len(chosen)))
    return graph_of(
        waves,
        [
            GraphEdge(*pair, kind, label if kind is EdgeKind.DATA else "")
            for pair, kind, label in zip(chosen, kinds, labels, strict=True)
        ],
    )


def horizontal_segments(wire: Wire) -> Iterator[tuple[int, int, int]]:
    """Yield (left, right, y) of each segment except the one that ends at the wire's own box."""
    points = wire.points[2:-1]
    for (right, y), (left, _) in zip(points[::2], points[1::2], strict=True):
        yield left, right, y


def crosses_a_box(placement: Placement, left: int, right: int, y: int) -> bool:
    return any(
        box.x < right and left < box.x + box.width and box.y <= y <= box.y + box.height for box in placement.boxes
    )


@without_deadline
@given(graphs())
def test_boxes_do_not_touch(graph: Graph) -> None:
    boxes = sorted(place(graph).boxes, key=lambda box: (box.x, box.y))

    assert all(upper.x < lower.x or upper.y + upper.height < lower.y for upper, lower in pairwise(boxes))


@without_deadline
@given(graphs())
def test_a_line_that_skips_a_wave_runs_between_its_boxes(graph: Graph) -> None:
    placement = place(graph)

    assert not any(
        crosses_a_box(placement, *segment) for wire in placement.wires for segment in horizontal_segments(wire)
    )


@without_deadline
@given(graphs())
def test_curves_stay_between_the_columns(graph: Graph) -> None:
    placement = place(graph)
    columns = placement.columns
    gaps = [(left.x + left.width, right.x - right.tail) for left, right in pairwise(columns)]

    for wire in placement.wires:
        for (right, _), (left, _) in zip(wire.points[1::2], wire.points[2::2], strict=True):
            assert (left, right) in gaps


@without_deadline
@given(graphs())
def test_everything_is_inside_the_image(graph: Graph) -> None:
    placement = place(graph)
    ys = [y for wire in placement.wires for _, y in wire.points]

    assert min([*ys, *(box.y for box in placement.boxes)]) >= 0
    assert max([*ys, *(box.y + box.height for box in placement.boxes)]) <= placement.height
    assert max(box.x + box.width for box in placement.boxes) == placement.width


@without_deadline
@given(st.text(max_size=80), st.text(max_size=80), st.sets(st.sampled_from(TaskMark)))
def test_text_fits_its_box(task_id: str, agent: str, marks: set[TaskMark]) -> None:
    text = box_text(Node(task_id, 0, agent, marks=tuple(sorted(marks))))

    room = text.width - 2 * PADDING + 1
    assert cells(text.title) * ID_CELL <= room
    assert cells(text.performer) * PERFORMER_CELL <= room


def test_edges_from_the_same_task_share_lanes() -> None:
    edges = [order_edge("a", "c"), order_edge("a", "d")]
    graph = graph_of([["a"], ["b"], ["c"], ["d"]], edges)

    routes = map_routes(graph)

    assert routes.routes == (EdgeRoute(edges[1], (0, 4, 5, 3)), EdgeRoute(edges[0], (4, 2)))
    assert routes.columns == ((0,), (1, 4), (2, 5), (3,))


def test_the_number_of_lanes_does_not_grow_with_tasks_times_waves() -> None:
    ids = [f"{number:03}" for number in range(200)]
    edges = [order_edge(upstream, downstream) for downstream in ids[100:] for upstream in ids[:100]]

    routes = map_routes(graph_of([[task_id] for task_id in ids], edges))

    assert sum(map(len, routes.columns)) <= 2 * len(ids) + 2000
    assert sorted((route.edge for route in routes.routes), key=str) == sorted(edges, key=str)


def test_boxes_are_reordered_to_avoid_crossings() -> None:
    graph = graph_of(
        [["a", "b", "c"], ["x", "y", "z"]], [order_edge("a", "z"), order_edge("b", "y"), order_edge("c", "x")]
    )

    above, below = untangle(map_routes(graph))

    partner = {0: 5, 1: 4, 2: 3}
    assert [partner[vertex] for vertex in above] == list(below)


def test_a_chain_is_drawn_as_a_straight_line() -> None:
    placement = place(graph_of([["a"], ["b"], ["c", "d"]], [order_edge("a", "b"), order_edge("b", "d")]))

    assert {y for wire in placement.wires for _, y in wire.points} == {placement.wires[0].points[0][1]}


def test_minimum_distances_are_kept_when_all_boxes_prefer_the_same_height() -> None:
    heights = align([[0], [1, 2, 3]], [[], [10, 20]], [Link(0, vertex, 0, 1) for vertex in (1, 2, 3)])

    assert [heights[2] - heights[1], heights[3] - heights[2]] == [10, 20]


def test_text_is_shortened_in_the_middle() -> None:
    assert shorten("abcdefghij", 10) == "abcdefghij"
    assert shorten("abcdefghijk", 10) == "abcde\u2026hijk"


@without_deadline
@given(st.text(), st.integers(1, 30))
def test_shortened_text_fits(text: str, max_cells: int) -> None:
    assert cells(shorten(text, max_cells)) <= max_cells


def test_wide_characters_take_two_cells() -> None:
    assert cells("ab\u6f22\u5b57") == 6


def test_unprintable_characters_are_replaced() -> None:
    assert printable("a\x00\x1b\u202e\ud800\uffffb") == "a" + 5 * "\ufffd" + "b"
