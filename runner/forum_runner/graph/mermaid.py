"""Draw a graph as a Mermaid flowchart: one subgraph per wave, order edges dotted."""

import re
from collections.abc import Iterator

from forum_runner.graph.labels import printable
from forum_runner.graph.plan_graph import Graph, Node
from forum_runner.model import EdgeKind

# Between letters or digits, these characters have no meaning in Mermaid or in the Markdown of its labels. All other
# characters are written as character codes, which Mermaid decodes after parsing.
_CHARACTER = re.compile(r"[A-Za-z0-9]|(?<=[A-Za-z0-9])(?:, |[ ,/=_-])(?=[A-Za-z0-9])|(?P<special>.)")


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
    # Link the waves: otherwise tasks without dependencies are drawn at the left, whatever their wave.
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
    return _CHARACTER.sub(lambda m: f"#{ord(m.group())};" if m["special"] else m.group(), printable(text))
