"""Explains the codes of findings: F codes in explanations.md, L codes in ledger_explanations.md."""

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
    code: str
    title: str
    text: str


@cache
def explanations() -> dict[str, Explanation]:
    return {item.code: item for name in _SOURCES for item in _sections(name)}


def _sections(name: str) -> Iterator[Explanation]:
    source = files("forum_runner").joinpath(name).read_text(encoding="utf-8")
    _, *pieces = _HEADING.split(source)
    for code, title, text in zip(pieces[0::3], pieces[1::3], pieces[2::3], strict=True):
        yield Explanation(code, title.strip(), text.strip())
