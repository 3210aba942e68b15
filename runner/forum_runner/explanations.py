"""Loads the explanations of finding codes: F codes from explanations.md, L codes from ledger_explanations.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_SOURCES = ("explanations.md", "ledger_explanations.md")
_HEADING = re.compile(r"^## ([FL][0-9]{3}) (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of one finding code, in Markdown."""

    code: str
    title: str
    text: str


@cache
def explanations() -> dict[str, Explanation]:
    """All explanations by code."""
    return {item.code: item for name in _SOURCES for item in _read_sections(name)}


def _read_sections(name: str) -> Iterator[Explanation]:
    source = files("forum_runner").joinpath(name).read_text(encoding="utf-8")
    _, *parts = _HEADING.split(source)
    for code, title, text in zip(parts[0::3], parts[1::3], parts[2::3], strict=True):
        yield Explanation(code, title.strip(), text.strip())
