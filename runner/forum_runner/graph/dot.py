"""Draw a graph in Graphviz DOT: one rank per wave, order edges dashed."""

from collections.abc import Iterator

from forum_runner.graph.labels import printable
from forum_runner.graph.plan_graph import Graph, Node
from forum_runner.model import EdgeKind


def draw(graph: Graph) -> str:
    lines = [
        f"digraph {_quote(graph.name)} {{",
        "  rankdir=LR;",
        '  node [shape=box, style=rounded, fontname="Helvetica"];',
        '  edge [fontname="Helvetica", fontsize=10];',
        *_waves(graph),
        *_edges(graph),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _waves(graph: Graph) -> Iterator[str]:
    for index, wave in enumerate(graph.waves):
        yield "  {"
        yield "    rank=same;"
        yield f'    "wave {index + 1}" [shape=plaintext];'
        for node in wave:
            yield f"    {_quote(node.id)} [label={_quote(*_label_lines(node))}];"
        yield "  }"
    # Chain the headings to fix the ranks: otherwise tasks without dependencies move to the leftmost rank.
    for index in range(1, len(graph.waves)):
        yield f'  "wave {index}" -> "wave {index + 1}" [style=invis];'


def _edges(graph: Graph) -> Iterator[str]:
    for edge in graph.edges:
        style = "style=dashed" if edge.kind is EdgeKind.ORDER else f"label={_quote(edge.label)}"
        yield f"  {_quote(edge.upstream)} -> {_quote(edge.downstream)} [{style}];"


def _label_lines(node: Node) -> Iterator[str]:
    yield node.id
    if node.performer:
        yield node.performer
    if node.marks:
        yield f"[{', '.join(node.marks)}]"


def _quote(*lines: str) -> str:
    return '"' + r"\n".join(map(_escape, lines)) + '"'


def _escape(text: str) -> str:
    # Graphviz decodes HTML entities in every label, so ampersands must be escaped.
    return printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
