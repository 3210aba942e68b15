"""Verifiers for mutants: the judge, or a program that implements the protocol."""

import queue
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from forum_conformance.judge import ALL_LEVELS, Given, NoLedger, judge
from forum_conformance.mutation.engine import CAUGHT, Mutant
from forum_conformance.mutation.scoring import Ask, VerifierReply
from forum_conformance.suite.client import Client, Reply
from forum_conformance.suite.request import ALWAYS, PROTOCOL

__all__ = ["ALL_LEVELS", "UNSUPPORTED", "by_program", "by_the_judge", "detected_at_levels"]

UNSUPPORTED = "it answers 'unsupported'"


def by_the_judge(levels: frozenset[int]) -> Ask:
    def ask(run_dir: Path, checkpoint: Path | None) -> VerifierReply:
        given = Given(checkpoint=checkpoint.read_bytes() if checkpoint else None)
        try:
            return VerifierReply(judge(run_dir, levels=levels, given=given).verdict.value)
        except NoLedger as error:
            return VerifierReply(None, str(error))

    return ask


def by_program(clients: Sequence[Client], levels: frozenset[int]) -> Ask:
    """Each process handles one request at a time."""
    idle: queue.SimpleQueue[Client] = queue.SimpleQueue()
    for each in clients:
        idle.put(each)

    def ask(run_dir: Path, checkpoint: Path | None) -> VerifierReply:
        request: dict[str, Any] = {
            "protocol": PROTOCOL,
            "id": "mutants/one",
            "role": "verify",
            "input": str(run_dir),
            "levels": sorted(levels | ALWAYS),
        }
        if checkpoint:
            request["checkpoint"] = str(checkpoint)
        client = idle.get()
        try:
            return _said(client.ask(request))
        finally:
            idle.put(client)

    return ask


def _said(reply: Reply) -> VerifierReply:
    if reply.problem or reply.answer is None:
        problem_text = f"{reply.problem.place}: {reply.problem.came}" if reply.problem else "nothing came"
        return VerifierReply(None, problem_text, reply.stderr)
    verdict = reply.answer["verdict"]
    return VerifierReply(None, UNSUPPORTED, reply.stderr) if verdict == "unsupported" else VerifierReply(verdict)


def detected_at_levels(made: Iterable[Mutant], levels: frozenset[int], work_dir: Path) -> Iterator[Mutant]:
    """The mutants that the judge rejects at these levels."""
    ask = by_the_judge(levels)
    for mutant in made:
        run_dir = mutant.apply(work_dir / f"seen-{mutant.name}")
        try:
            is_seen = ask(run_dir, None).verdict in CAUGHT
        finally:
            shutil.rmtree(run_dir)
        if is_seen:
            yield mutant
