"""Draw a graph for terminals and logs: waves from top to bottom, one line per task, ASCII only."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from forum_runner.graph.plan_graph import Graph, GraphEdge, Node
from forum_runner.model import EdgeKind

WIDTH = 80
_MAX_ID_COLUMN = 30
_MAX_PERFORMER_COLUMN = 16
_MARGIN = "  "


def draw(graph: Graph) -> str:
    # The edges are sorted by their downstream task.
    edges = {task_id: list(group) for task_id, group in groupby(graph.edges, lambda edge: edge.downstream)}
    id_column = _column(_MAX_ID_COLUMN, (node.id for node in graph.nodes))
    performer_column = _column(_MAX_PERFORMER_COLUMN, (node.performer for node in graph.nodes))
    lines = [f"{_ascii(graph.name)}: {graph.summary}"]
    for index, wave in enumerate(graph.waves):
        lines += ["", f"wave {index + 1}"]
        for node in wave:
            lines += _task_lines(node, edges.get(node.id, []), id_column, performer_column)
    return "\n".join(lines) + "\n"


def _task_lines(node: Node, edges: list[GraphEdge], id_column: int, performer_column: int) -> Iterator[str]:
    task_id = _ascii(node.id)
    start = _MARGIN + task_id.ljust(id_column)
    if len(task_id) > id_column:
        yield start
        start = _MARGIN + " " * id_column
    start += _MARGIN + _ascii(node.performer).ljust(performer_column)
    yield from _wrap(start, list(_remarks(node, edges)))


def _remarks(node: Node, edges: list[GraphEdge]) -> Iterator[str]:
    if node.marks:
        yield f"[{', '.join(node.marks)}]"
    for position, edge in enumerate(edges, start=1):
        yield _need(edge) + (";" if position < len(edges) else "")


def _need(edge: GraphEdge) -> str:
    upstream = _ascii(edge.upstream)
    return f"{upstream} -> {_ascii(edge.label)}" if edge.kind is EdgeKind.DATA else f"after {upstream}"


def _wrap(start: str, remarks: list[str]) -> Iterator[str]:
    """Break lines between remarks only, so that ids stay searchable. Indent long remarks less."""
    widest = max(map(len, remarks), default=0)
    indent = " " * max(2 * len(_MARGIN), min(len(start), WIDTH - len(_MARGIN) - widest))
    line, gap = start, _MARGIN
    for remark in remarks:
        if len(line) + len(gap) + len(remark) > WIDTH:
            yield line.rstrip()
            line, gap = indent, _MARGIN
        line += gap + remark
        gap = " "
    yield line.rstrip()


def _column(limit: int, texts: Iterable[str]) -> int:
    return min(limit, max(len(_ascii(text)) for text in texts))


def _ascii(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")
