"""Compute the size of a task's box and the text that fits into it.

User text uses a fixed-width font, so its width is known without loading the font.
"""

from dataclasses import dataclass

from forum_runner.graph.labels import cells, printable, shorten
from forum_runner.graph.plan_graph import Node, TaskMark

# The width of one fixed-width character, for each kind of text.
ID_CELL = 7.9
PERFORMER_CELL = 6.7
MARK_CELL = 5.8
LABEL_CELL = 6.4

PADDING = 14
MARK_PADDING = 6
MARK_GAP = 5
PORT_PITCH = 16

_MIN_WIDTH = 120
_MAX_WIDTH = 248
_MAX_LABEL_CELLS = 22
_HEIGHT = 50
_MARKS_HEIGHT = 22


@dataclass(frozen=True, slots=True)
class BoxText:
    title: str
    performer: str
    marks: tuple[TaskMark, ...]

    @property
    def width(self) -> int:
        """The width of the box around this text."""
        marks = sum(mark_width(mark) + MARK_GAP for mark in self.marks) - MARK_GAP
        text = max(cells(self.title) * ID_CELL, cells(self.performer) * PERFORMER_CELL, marks)
        return max(_MIN_WIDTH, round(text) + 2 * PADDING)

    def height(self, port_count: int) -> int:
        """Return the height of the box around this text, with room for `port_count` ports on one side."""
        text = _HEIGHT + (_MARKS_HEIGHT if self.marks else 0)
        return max(text, (port_count + 1) * PORT_PITCH)


def box_text(node: Node) -> BoxText:
    room = _MAX_WIDTH - 2 * PADDING
    return BoxText(
        title=shorten(printable(node.id), int(room / ID_CELL)),
        performer=shorten(printable(node.performer), int(room / PERFORMER_CELL)),
        marks=node.marks,
    )


def mark_width(mark: TaskMark) -> int:
    return round(len(mark) * MARK_CELL) + 2 * MARK_PADDING


def label_text(label: str) -> str:
    return shorten(printable(label), _MAX_LABEL_CELLS)


def label_width(label: str) -> int:
    return round(cells(label_text(label)) * LABEL_CELL)
