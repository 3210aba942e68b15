"""Results as JSON: the document of conformance-result.schema.json, and the document of `--json`."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from forum_conformance.results.summary import Tally, tallies
from forum_conformance.suite.result import Result, State

FORMAT = 1


@dataclass(frozen=True, slots=True)
class SuiteVersion:
    """The version, vectors and time of a suite run, so that a third party can reproduce its results."""

    version: str
    manifest_sha256: str
    """The digest of MANIFEST.json, which lists the digest of every file of the vectors."""
    at: str
    """The start time, in UTC."""


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """The program and the options of a suite run, so that it can be repeated."""

    entrypoint: str
    options: tuple[str, ...]
    """The options that change the requests, except the selection of vectors."""
    suite: SuiteVersion
    levels: frozenset[int] | None = None
    """The requested levels of `verify`; None for all."""

    def rerun_command(self, result: Result) -> str:
        """The command that runs only this vector."""
        case = result.case
        words = ["forum-conformance", "test", "--entrypoint", self.entrypoint, *self.options]
        return shlex.join([*words, "--role", case.role, "--filter", case.id])


def result_document(result: Result, suite_run: SuiteRun) -> dict[str, Any]:
    case, reply = result.case, result.outcome.reply
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
            {"place": difference.place, "expected": difference.expected, "came": difference.actual}
            for difference in result.outcome.differences
        ]
        if result.state is not State.NOT_OFFERED
        else [],
        "request": dict(result.outcome.members),
        "expected": dict(result.outcome.expected),
        "answer": dict(reply.answer) if reply and reply.answer is not None else None,
        "exit_status": reply.exit_status if reply else None,
        "duration_ms": reply.duration_ms if reply else 0,
        "stderr": reply.stderr if reply else "",
        "again": suite_run.rerun_command(result),
    }


def json_lines(results: Iterable[Result], suite_run: SuiteRun) -> str:
    return "".join(json.dumps(result_document(result, suite_run)) + "\n" for result in results)


def suite_document(
    results: Sequence[Result], suite_run: SuiteRun, objections: Sequence[str], *, was_interrupted: bool
) -> dict[str, Any]:
    """The document of `--json`. `objections` are the reasons for not passing."""
    return {
        "format": FORMAT,
        "suite": asdict(suite_run.suite),
        "entrypoint": suite_run.entrypoint,
        "passed": not objections and not was_interrupted,
        "interrupted": was_interrupted,
        "objections": list(objections),
        "tallies": [_tally_document(tally) for tally in tallies(results, suite_run.levels)],
        "results": [result_document(result, suite_run) for result in results],
    }


def _tally_document(tally: Tally) -> dict[str, Any]:
    counts = {state.value: tally.counts[state] for state in State}
    subject = {"role": tally.role, "level": tally.level, "other_levels": tally.is_of_other_levels}
    return {**subject, "offered": tally.is_offered, "counts": counts}
