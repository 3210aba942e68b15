"""Checks each handwritten expectation against the judge and `forum`, and creates the vectors."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from forum_conformance.judge import OutsideEvidence, judge
from forum_conformance.note import read_checkpoint, read_public_key
from vector_generator.forum_program import ForumProgram
from vector_generator.ledgers.case import LEVELS, Case
from vector_generator.vector import Vector
from vector_generator.vector_files import BadVector

VERIFIED_BY = (
    "the findings, with code and seq, are written by hand from the specification; the judge reports exactly these, and"
    " `forum` gives this answer"
)
_COMPARED = ("verdict", "codes", "first_bad_seq")
_PATHS = ("checkpoint", "key", "pin")


def vectors_of(area: str, cases: Iterable[Case], forum: ForumProgram) -> Iterator[Vector]:
    """The vectors of the cases, in order; raises for a case whose expectation is wrong."""
    for case in cases:
        folder = forum.fresh_folder()
        _write_files(case, folder)
        for program, answer, expected in (
            ("the judge", _judge_answer(case, folder), _expected(case)),
            ("forum", _forum_answer(case, folder, forum), _compared(case.expected())),
        ):
            if answer != expected:
                raise BadVector(f"{area}/{case.name}", f"{program} reports {answer} instead of {expected}")
        yield _vector(area, case)


def _write_files(case: Case, folder: Path) -> None:
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _statuses(case: Case) -> list[str]:
    levels = case.expected()["levels"]
    return [levels[str(level)]["status"] for level in LEVELS]


def _expected(case: Case) -> dict[str, Any]:
    return {"findings": frozenset(case.findings), "levels": _statuses(case)}


def _judge_answer(case: Case, folder: Path) -> dict[str, Any]:
    members = case.request_members
    report = judge(
        folder / case.request["input"],
        evidence=OutsideEvidence(
            expected_head=members.get("expect_head"),
            checkpoint=case.files[members["checkpoint"]] if "checkpoint" in members else None,
            key=read_public_key(case.files[members["key"]].decode()) if "key" in members else None,
            pin=read_checkpoint(case.files[members["pin"]]) if "pin" in members else None,
        ),
    )
    return {
        "findings": frozenset((finding.code, finding.seq) for finding in report.findings.items),
        "levels": [level.status.value for level in report.levels],
    }


def _forum_answer(case: Case, folder: Path, forum: ForumProgram) -> dict[str, Any]:
    paths = {name: folder / value for name, value in case.request.items() if name in ("input", *_PATHS)}
    return _compared(forum.ask("verify", **{**case.request, **paths}))


def _compared(answer: dict[str, Any]) -> dict[str, Any]:
    """The compared members of an answer or an expectation."""
    levels = {level: item if isinstance(item, str) else item["status"] for level, item in answer["levels"].items()}
    return {**{name: answer[name] for name in _COMPARED}, "levels": levels}


def _vector(area: str, case: Case) -> Vector:
    return Vector(
        id=f"{area}/{case.name}",
        title=case.title,
        role="verify",
        requirements=case.requirements,
        request=case.request,
        expected=case.expected(),
        verified_by=VERIFIED_BY,
        level=case.level,
        derived_from=case.derived_from,
        mutation=case.mutation,
        files=case.files,
    )
