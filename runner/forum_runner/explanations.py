"""What each code of a finding means, from explanations.md: one section a code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_HEADING = re.compile(r"^## (F[0-9]{3}) (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Explanation:
    code: str
    title: str
    text: str


@cache
def explanations() -> dict[str, Explanation]:
    source = files("forum_runner").joinpath("explanations.md").read_text(encoding="utf-8")
    _, *pieces = _HEADING.split(source)
    triples = zip(pieces[0::3], pieces[1::3], pieces[2::3], strict=True)
    return {code: Explanation(code, title.strip(), text.strip()) for code, title, text in triples}
