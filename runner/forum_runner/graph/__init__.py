"""Draw a wave plan as text, Mermaid, Graphviz DOT or SVG."""

from enum import StrEnum

from forum_runner.errors import UsageError
from forum_runner.graph.plan_graph import build_graph
from forum_runner.wave_plan.wave_plan_reader import WavePlan

__all__ = ["GraphFormat", "render"]


class GraphFormat(StrEnum):
    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


def render(plan: WavePlan, format: GraphFormat) -> str:
    """Return the drawing, which ends with a newline."""
    if format not in list(GraphFormat):
        raise UsageError(f"unknown format '{format}'; formats: {', '.join(GraphFormat)}")
    graph = build_graph(plan)
    # Import only the requested format: text output does not need the SVG layout code.
    match format:
        case GraphFormat.TEXT:
            from forum_runner.graph.ascii import draw
        case GraphFormat.MERMAID:
            from forum_runner.graph.mermaid import draw
        case GraphFormat.DOT:
            from forum_runner.graph.dot import draw
        case GraphFormat.SVG:
            from forum_runner.graph.svg import draw
    return draw(graph)
