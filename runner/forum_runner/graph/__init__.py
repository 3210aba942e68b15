"""Draws a wave plan: as text, as Mermaid or Graphviz source, or as a picture."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from forum_runner.graph.plan_graph import read_graph

__all__ = ["GraphFormat", "render"]


class GraphFormat(StrEnum):
    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


def render(wave_plan: Mapping[str, Any], format: GraphFormat) -> str:
    """The same plan gives the same text, whatever the order of its keys; the last line is ended."""
    graph = read_graph(wave_plan)
    # Each format is imported when it is asked for: a log of text need not load what lays out pictures.
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
