"""Results as JSON: the document of conformance-result.schema.json, and the whole of `--json`."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from forum_conformance.results.summary import Tally, tallies
from forum_conformance.suite.result import Result, State

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Edition:
    """The version, vectors and time of a run, so that a third party can reproduce its results."""

    version: str
    manifest_sha256: str
    """The digest of MANIFEST.json, which lists the digest of every file of the vectors."""
    at: str
    """The start time, in UTC."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """The program and the options of a run, so that it can be repeated."""

    entrypoint: str
    options: tuple[str, ...]
    """The options that change the requests, except the selection of vectors."""
    edition: Edition
    levels: frozenset[int] | None = None
    """The requested levels of `verify`; None for all."""

    def again(self, result: Result) -> str:
        case = result.case
        words = ["forum-conformance", "test", "--entrypoint", self.entrypoint, *self.options]
        return shlex.join([*words, "--role", case.role, "--filter", case.id])


def result_document(result: Result, occasion: Occasion) -> dict[str, Any]:
    case, reply = result.case, result.tried.reply
    return {
        "format": FORMAT,
        "id": case.id,
        "title": case.title,
        "role": case.role,
        "level": case.level,
        "requirements": list(case.requirements),
        "state": result.state.value,
        "reason": result.reason,
        "differences": [
            {"place": each.place, "expected": each.expected, "came": each.came} for each in result.tried.differences
        ]
        if result.state is not State.NOT_OFFERED
        else [],
        "request": dict(result.tried.members),
        "expected": dict(result.tried.expected),
        "answer": dict(reply.answer) if reply and reply.answer is not None else None,
        "exit_status": reply.exit_status if reply else None,
        "duration_ms": reply.duration_ms if reply else 0,
        "stderr": reply.stderr if reply else "",
        "again": occasion.again(result),
    }


def json_lines(results: Iterable[Result], occasion: Occasion) -> str:
    return "".join(json.dumps(result_document(result, occasion)) + "\n" for result in results)


def suite_document(
    results: Sequence[Result], occasion: Occasion, found: Sequence[str], *, was_interrupted: bool
) -> dict[str, Any]:
    """`found` are the reasons for not passing."""
    return {
        "format": FORMAT,
        "suite": asdict(occasion.edition),
        "entrypoint": occasion.entrypoint,
        "passed": not found and not was_interrupted,
        "interrupted": was_interrupted,
        "objections": list(found),
        "tallies": [_tally_document(tally) for tally in tallies(results, occasion.levels)],
        "results": [result_document(result, occasion) for result in results],
    }


def _tally_document(tally: Tally) -> dict[str, Any]:
    counts = {state.value: tally.counts[state] for state in State}
    about = {"role": tally.role, "level": tally.level, "other_levels": tally.is_of_other_levels}
    return {**about, "offered": tally.is_offered, "counts": counts}
