"""Check the suite itself: it must fail programs with known faults and pass a correct one."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from forum_conformance.canonical import digest, form
from forum_conformance.suite.case import Case
from forum_conformance.suite.expectation import LEVELS
from forum_conformance.suite.request import PROTOCOL
from forum_conformance.suite.result import Tried
from forum_conformance.suite.session import Settings, ask_all
from forum_conformance.suite.vectors import CASE, MANIFEST, Vectors


@dataclass(frozen=True, slots=True)
class Known:
    """A program with a known result."""

    name: str
    code: str
    place: str | None
    """The place of the expected failure; None for a correct program."""
    timeout_s: float = 30.0


_ANSWERS = "import sys; print(sys.argv[1])"

KNOWN = (
    Known("silent", "", "standard output"),
    Known("crashing", "import os; os.abort()", "exit status"),
    Known("hanging", "import time; time.sleep(3600)", "time", timeout_s=1.0),
    Known("answering garbage", "print('all is well')", "standard output"),
    Known("answering wrongly", _ANSWERS, "verdict"),
    Known("right", _ANSWERS, None),
)


def is_detected(known: Known) -> bool:
    """Uses its own vector: a broken published vector could hide the fault."""
    with TemporaryDirectory(prefix="forum-conformance-") as folder:
        vectors = _own_vectors(Path(folder))
        (case,) = vectors.cases.values()
        verdict = "invalid" if known.place == "verdict" else "valid"
        answer = json.dumps({"protocol": PROTOCOL, "verdict": verdict})
        tried = _ask((sys.executable, "-c", known.code, answer), known.timeout_s, case, vectors)
    return [difference.place for difference in tried.differences] == ([known.place] if known.place else [])


def _own_vectors(folder: Path) -> Vectors:
    document = {
        "id": "self/check",
        "title": "A valid ledger.",
        "role": "verify",
        "requirements": ["LEDGER-VERIFY-003"],
        "level": 1,
        "request": {"input": "ledger.jsonl"},
        "expected": {"verdict": "valid", "levels": {number: {"status": "ok"} for number in LEVELS}},
        "verified_by": "it is never read",
    }
    files = {f"self/check/{CASE}": json.dumps(document).encode(), "self/check/ledger.jsonl": b""}
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    digests = {name: digest(data) for name, data in files.items()}
    (folder / MANIFEST).write_bytes(form({"format": 1, "files": digests}) + b"\n")
    return Vectors(folder)


def _ask(words: tuple[str, ...], timeout_s: float, case: Case, vectors: Vectors) -> Tried:
    return _ask_with(Settings(words, timeout_s, jobs=1, is_served=False, levels=None), case, vectors)


def _ask_with(settings: Settings, case: Case, vectors: Vectors) -> Tried:
    asked = ask_all([case], vectors, settings, lambda _: None)
    if asked.was_interrupted:
        raise KeyboardInterrupt
    return asked.tried[0]


def first_questions(vectors: Vectors) -> dict[str, Case]:
    """For each role, the smallest positive vector."""
    found: dict[str, Case] = {}
    for case in sorted(vectors.cases.values(), key=lambda case: (vectors.size(case), case.id)):
        if not case.is_negative:
            found.setdefault(case.role, case)
    return found


def ask_first_questions(settings: Settings, questions: Iterable[Case], vectors: Vectors) -> Iterator[Tried]:
    for case in questions:
        yield _ask_with(settings, case, vectors)
