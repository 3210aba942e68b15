"""Draw a graph as a self-contained SVG: waves as columns, tasks as boxes."""

from collections import Counter
from collections.abc import Iterator
from html import escape

from forum_runner.graph.boxes import MARK_GAP, PADDING, label_text, label_width, mark_width
from forum_runner.graph.labels import cells, printable, shorten
from forum_runner.graph.placement import Box, Column, Placement, Tip, Wire, place
from forum_runner.graph.plan_graph import Graph
from forum_runner.graph.stylesheet import ROOT_CLASS, stylesheet
from forum_runner.model import EdgeKind

_MARGIN = 24
_HEAD = 72
_BAND_PADDING = 12
_BAND_HEAD = 36
_MAX_NAME_CELLS = 48
_NAME_CELL = 10.5
_SUMMARY_CELL = 6.6
_LEGEND_ITEM_WIDTH = 84
_TIP_LENGTH = 8
_MARK_HEIGHT = 16


def draw(graph: Graph) -> str:
    placement = place(graph)
    inset = _MARGIN + _BAND_PADDING
    width = max(placement.width + 2 * inset, _head_width(graph))
    height = _HEAD + _BAND_HEAD + placement.height + inset
    size = f'width="{width}" height="{height}"'
    view = f'viewBox="0 0 {width} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{ROOT_CLASS}" role="img" {size} {view}>',
        f"<title>{_text(graph.name)}</title>",
        f"<desc>{_text(_description(graph))}</desc>",
        f"<style>{stylesheet()}</style>",
        f'<rect class="page" {size}/>',
        *_head(graph),
        f'<g transform="translate({inset} {_HEAD + _BAND_HEAD})">',
        *_body(placement),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _description(graph: Graph) -> str:
    kinds = Counter(edge.kind for edge in graph.edges)
    edges = " and ".join(f"{kinds[kind]} {kind}" for kind in EdgeKind)
    return " ".join(filter(None, [graph.description, f"{graph.summary}; edges: {edges}."]))


def _head_width(graph: Graph) -> int:
    name = cells(_name(graph)) * _NAME_CELL
    return 2 * _MARGIN + max(round(name), _legend_x(graph) + 2 * _LEGEND_ITEM_WIDTH)


def _name(graph: Graph) -> str:
    return shorten(printable(graph.name), _MAX_NAME_CELLS)


def _legend_x(graph: Graph) -> int:
    return round(len(graph.summary) * _SUMMARY_CELL) + 20


def _head(graph: Graph) -> Iterator[str]:
    yield f'<g transform="translate({_MARGIN} 34)">'
    yield f'<text class="name sans">{_text(_name(graph))}</text>'
    yield f'<text class="summary sans" y="22">{graph.summary}</text>'
    for index, kind in enumerate(EdgeKind):
        yield f'<g class="legend" transform="translate({_legend_x(graph) + index * _LEGEND_ITEM_WIDTH} 18)">'
        yield f'<line class="edge {kind}" x1="24" x2="0"/>'
        yield _tip_shape(Tip(30, 0, kind, ""))
        yield f'<text class="summary sans" x="38" y="4">{kind}</text>'
        yield "</g>"
    yield "</g>"


def _body(placement: Placement) -> Iterator[str]:
    """Draw boxes last, so that lines pass behind them."""
    for index, column in enumerate(placement.columns):
        yield from _band(index, column, placement.height)
    yield from map(_wire, placement.wires)
    for tip in placement.tips:
        yield from _tip(tip)
    for box in placement.boxes:
        yield from _box(box)


def _band(index: int, column: Column, height: int) -> Iterator[str]:
    x, width = column.x - _BAND_PADDING, column.width + 2 * _BAND_PADDING
    height += _BAND_HEAD + _BAND_PADDING
    yield f'<rect class="band" x="{x}" y="{-_BAND_HEAD}" width="{width}" height="{height}" rx="10"/>'
    yield f'<text class="wave sans" x="{column.x + column.width // 2}" y="-14">wave {index + 1}</text>'


def _wire(wire: Wire) -> str:
    (x, y), *rest = wire.points
    # Draw from the tip backwards, so that the dashes of lines that share a tip coincide.
    path = [f"M{x - _TIP_LENGTH + 2} {y}"]
    for index, (next_x, next_y) in enumerate(rest):
        if index % 2 == 0:
            path.append(f"H{next_x}")
        else:
            bend = (x + next_x) // 2
            path.append(f"C{bend} {y} {bend} {next_y} {next_x} {next_y}")
        x, y = next_x, next_y
    edge = wire.edge
    title = f"{edge.upstream} \N{RIGHTWARDS ARROW} {edge.downstream}: {edge.label or edge.kind}"
    return f'<path class="edge {edge.kind}" d="{"".join(path)}"><title>{_text(title)}</title></path>'


def _tip(tip: Tip) -> Iterator[str]:
    yield _tip_shape(tip)
    if tip.label:
        x, width = tip.x - 16, label_width(tip.label)
        yield f'<rect class="plate" x="{x - width - 4}" y="{tip.y - 7}" width="{width + 7}" height="14"/>'
        yield f'<text class="label" x="{x}" y="{tip.y + 4}">{_text(label_text(tip.label))}</text>'


def _tip_shape(tip: Tip) -> str:
    back = tip.x - _TIP_LENGTH
    return f'<polygon class="tip {tip.kind}" points="{tip.x},{tip.y} {back},{tip.y - 4} {back},{tip.y + 4}"/>'


def _box(box: Box) -> Iterator[str]:
    x = PADDING
    yield f'<g class="task" transform="translate({box.x} {box.y})"><title>{_text(box.node.id)}</title>'
    yield f'<rect class="box" width="{box.width}" height="{box.height}" rx="8"/>'
    first_line = 21 + (box.height - box.text.height(0)) // 2
    yield f'<text class="id" x="{x}" y="{first_line}">{_text(box.text.title)}</text>'
    yield f'<text class="performer" x="{x}" y="{first_line + 18}">{_text(box.text.performer)}</text>'
    for mark in box.text.marks:
        width = mark_width(mark)
        yield (
            f'<g class="mark {mark}" transform="translate({x} {first_line + 27})">'
            f'<rect width="{width}" height="{_MARK_HEIGHT}" rx="{_MARK_HEIGHT // 2}"/>'
            f'<text x="{width / 2:g}" y="11">{mark}</text></g>'
        )
        x += width + MARK_GAP
    yield "</g>"


def _text(text: str) -> str:
    return escape(printable(text))
