"""Check the suite itself (it must fail programs with known faults and pass a correct one), and run single vectors."""

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
from forum_conformance.suite.result import VectorOutcome
from forum_conformance.suite.session import Settings, run_vectors
from forum_conformance.suite.vectors import CASE, MANIFEST, Vectors


@dataclass(frozen=True, slots=True)
class KnownProgram:
    """A program whose result is known."""

    name: str
    code: str
    place: str | None
    """The place of the expected failure; None for a correct program."""
    timeout_s: float = 30.0


_PRINT_ANSWER = "import sys; print(sys.argv[1])"

KNOWN_PROGRAMS = (
    KnownProgram("silent", "", "standard output"),
    KnownProgram("crashing", "import os; os.abort()", "exit status"),
    KnownProgram("hanging", "import time; time.sleep(3600)", "time", timeout_s=1.0),
    KnownProgram("answering garbage", "print('all is well')", "standard output"),
    KnownProgram("answering wrongly", _PRINT_ANSWER, "verdict"),
    KnownProgram("right", _PRINT_ANSWER, None),
)


def is_judged_correctly(program: KnownProgram) -> bool:
    """Whether the suite finds exactly the known fault of the program.

    Uses its own vector: a broken published vector could hide the fault.
    """
    with TemporaryDirectory(prefix="forum-conformance-") as folder:
        vectors = _own_vectors(Path(folder))
        (case,) = vectors.cases.values()
        verdict = "invalid" if program.place == "verdict" else "valid"
        answer = json.dumps({"protocol": PROTOCOL, "verdict": verdict})
        command = (sys.executable, "-c", program.code, answer)
        settings = Settings(command, program.timeout_s, jobs=1, is_served=False, levels=None)
        outcome = _run_one(settings, case, vectors)
    return [difference.place for difference in outcome.differences] == ([program.place] if program.place else [])


def _own_vectors(folder: Path) -> Vectors:
    document = {
        "id": "self/check",
        "title": "A valid ledger.",
        "role": "verify",
        "requirements": ["LEDGER-VERIFY-003"],
        "level": 1,
        "request": {"input": "ledger.jsonl"},
        "expected": {"verdict": "valid", "levels": {number: {"status": "ok"} for number in LEVELS}},
        "verified_by": "nobody: the suite does not read this member",
    }
    files = {f"self/check/{CASE}": json.dumps(document).encode(), "self/check/ledger.jsonl": b""}
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    digests = {name: digest(data) for name, data in files.items()}
    (folder / MANIFEST).write_bytes(form({"format": 1, "files": digests}) + b"\n")
    return Vectors(folder)


def _run_one(settings: Settings, case: Case, vectors: Vectors) -> VectorOutcome:
    result = run_vectors([case], vectors, settings, lambda _: None)
    if result.was_interrupted:
        raise KeyboardInterrupt
    return result.outcomes[0]


def smallest_vectors(vectors: Vectors) -> dict[str, Case]:
    """For each role, the smallest positive vector."""
    smallest: dict[str, Case] = {}
    for case in sorted(vectors.cases.values(), key=lambda case: (vectors.size(case), case.id)):
        if not case.is_negative:
            smallest.setdefault(case.role, case)
    return smallest


def run_one_by_one(settings: Settings, cases: Iterable[Case], vectors: Vectors) -> Iterator[VectorOutcome]:
    """Run each vector in its own session, so that each starts a new process even if the program serves requests."""
    for case in cases:
        yield _run_one(settings, case, vectors)
