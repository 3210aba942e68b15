"""Run the suite against the wrong implementations and collect the vectors that detect each of them."""

import ast
import os
import re
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from forum_conformance.suite.case import Case
from forum_conformance.suite.result import assign_states
from forum_conformance.suite.selection import select
from forum_conformance.suite.session import Settings, run_vectors
from forum_conformance.suite.vectors import Vectors, default_folder

FOLDER = Path(__file__).parent
CAUGHT_FILE = FOLDER / "caught.json"
# These fail before they read the request: one vector of each role is enough, and all of them would take long.
NEVER_ANSWER = ("crashes", "hangs")
_NOT_PROGRAMS = ("__main__", "detection")
_BREAKS = re.compile(r"(?P<fault>.+)\n\nBreaks (?P<breaks>.+)\. Roles: (?P<roles>[a-z, ]+)\.", re.DOTALL)
_TIMEOUT_S = 60.0
_SHORT_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class WrongImplementation:
    """A program that deliberately breaks one requirement; its docstring is the description."""

    name: str
    fault: str
    """The fault, in one sentence."""
    breaks: str
    """The requirement that it breaks, or `the protocol`."""
    roles: tuple[str, ...]
    """The roles whose vectors the suite runs."""

    @property
    def command(self) -> tuple[str, ...]:
        return sys.executable, str(FOLDER / f"{self.name}.py")


def wrong_implementations() -> list[WrongImplementation]:
    names = sorted(path.stem for path in FOLDER.glob("*.py"))
    return [_read_implementation(name) for name in names if name not in _NOT_PROGRAMS]


def _read_implementation(name: str) -> WrongImplementation:
    docstring = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))) or ""
    match = _BREAKS.fullmatch(docstring)
    if match is None:
        raise ValueError(
            f"the docstring of {name}.py must describe the fault, then say 'Breaks REQUIREMENT. Roles: ROLES.'"
        )
    return WrongImplementation(
        name, " ".join(match["fault"].split()), match["breaks"], tuple(match["roles"].split(", "))
    )


def detecting_vectors(wrong: WrongImplementation) -> Any:
    """The ids of the vectors that a program fails; if it never answers, the roles that it fails completely."""
    cases = cases_of(wrong.roles)
    if wrong.name not in NEVER_ANSWER:
        return failed_ids(wrong.command, cases)
    sample = {case.role: case for case in cases}
    ids = failed_ids(wrong.command, sample.values(), timeout_s=_SHORT_TIMEOUT_S)
    return {"all": sorted(role for role, case in sample.items() if case.id in ids)}


def cases_of(roles: Collection[str]) -> list[Case]:
    return select(_vectors().cases.values(), roles, ())


@cache
def _vectors() -> Vectors:
    return Vectors(default_folder())


def failed_ids(command: tuple[str, ...], cases: Collection[Case], *, timeout_s: float = _TIMEOUT_S) -> list[str]:
    settings = Settings(command=command, timeout_s=timeout_s, jobs=os.cpu_count() or 1, is_served=True, levels=None)
    session = run_vectors(list(cases), _vectors(), settings, lambda _: None)
    return [result.case.id for result in assign_states(session.outcomes, {}) if result.state.is_bad]


def table() -> str:
    """The rows of the README's table."""
    return "".join(
        f"| `{wrong.name}` | {wrong.fault} | {wrong.breaks} | {', '.join(wrong.roles)} |\n"
        for wrong in wrong_implementations()
    )
