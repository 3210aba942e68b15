"""A graph as a Mermaid flowchart: a subgraph for each wave, order edges dotted."""

import re
from collections.abc import Iterator

from forum_runner.graph.labels import printable
from forum_runner.graph.plan_graph import Graph, Node
from forum_runner.model import EdgeKind

# Between two letters or digits these signs mean nothing, neither to Mermaid nor to the Markdown in its labels;
# every other sign is written as its code, which Mermaid puts in place after it has read both.
_SIGN = re.compile(r"[A-Za-z0-9]|(?<=[A-Za-z0-9])(?:, |[ ,/=_-])(?=[A-Za-z0-9])|(?P<special>.)")


def draw(graph: Graph) -> str:
    names = {node.id: f"n{index}" for index, node in enumerate(graph.nodes)}
    return "\n".join(["flowchart LR", *_waves(graph, names), *_edges(graph, names)]) + "\n"


def _waves(graph: Graph, names: dict[str, str]) -> Iterator[str]:
    for index, wave in enumerate(graph.waves):
        yield f'  subgraph w{index}["wave {index + 1}"]'
        yield "    direction LR"
        for node in wave:
            yield f'    {names[node.id]}["{_node_label(node)}"]'
        yield "  end"
    # A task that needs nothing would else be drawn at the left, whatever its wave.
    for index in range(1, len(graph.waves)):
        yield f"  w{index - 1} ~~~ w{index}"


def _edges(graph: Graph, names: dict[str, str]) -> Iterator[str]:
    for edge in graph.edges:
        line = "-.->" if edge.kind is EdgeKind.ORDER else "-->"
        label = f'|"{_escape(edge.label)}"|' if edge.label else ""
        yield f"  {names[edge.upstream]} {line}{label} {names[edge.downstream]}"


def _node_label(node: Node) -> str:
    parts = (node.id, node.performer, ", ".join(node.marks))
    return "<br/>".join(_escape(part) for part in parts if part)


def _escape(text: str) -> str:
    return _SIGN.sub(lambda sign: f"#{ord(sign.group())};" if sign["special"] else sign.group(), printable(text))
