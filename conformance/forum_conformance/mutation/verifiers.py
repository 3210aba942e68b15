"""Verifiers for mutants: the judge, or a program that implements the protocol."""

import queue
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from forum_conformance.judge import ALL_LEVELS, NoLedger, OutsideEvidence, judge
from forum_conformance.mutation.engine import CAUGHT_VERDICTS, Mutant
from forum_conformance.mutation.scoring import VerifierReply, Verify
from forum_conformance.suite.client import Client, Reply
from forum_conformance.suite.difference import Difference
from forum_conformance.suite.request import ALWAYS_CHECKED, PROTOCOL

__all__ = ["ALL_LEVELS", "UNSUPPORTED", "detected_at_levels", "judge_verifier", "program_verifier"]

UNSUPPORTED = "it answers 'unsupported'"


def judge_verifier(levels: frozenset[int]) -> Verify:
    def verify(run_dir: Path, checkpoint: Path | None) -> VerifierReply:
        evidence = OutsideEvidence(checkpoint=checkpoint.read_bytes() if checkpoint else None)
        try:
            return VerifierReply(judge(run_dir, levels=levels, evidence=evidence).verdict.value)
        except NoLedger as error:
            return VerifierReply(None, str(error))

    return verify


def program_verifier(clients: Sequence[Client], levels: frozenset[int]) -> Verify:
    """A verifier that sends each request to an idle client; a client handles one request at a time."""
    idle: queue.SimpleQueue[Client] = queue.SimpleQueue()
    for client in clients:
        idle.put(client)

    def verify(run_dir: Path, checkpoint: Path | None) -> VerifierReply:
        request: dict[str, Any] = {
            "protocol": PROTOCOL,
            "id": "mutants/one",
            "role": "verify",
            "input": str(run_dir),
            "levels": sorted(levels | ALWAYS_CHECKED),
        }
        if checkpoint:
            request["checkpoint"] = str(checkpoint)
        client = idle.get()
        try:
            return _verifier_reply(client.send(request))
        finally:
            idle.put(client)

    return verify


def _problem_text(problem: Difference) -> str:
    if problem.place == "process":
        return f"its process {problem.actual}"
    return f"{problem.place}: {problem.actual}"


def _verifier_reply(reply: Reply) -> VerifierReply:
    if reply.problem or reply.answer is None:
        return VerifierReply(None, _problem_text(reply.problem) if reply.problem else "no answer", reply.stderr)
    verdict = reply.answer["verdict"]
    return VerifierReply(None, UNSUPPORTED, reply.stderr) if verdict == "unsupported" else VerifierReply(verdict)


def detected_at_levels(mutants: Iterable[Mutant], levels: frozenset[int], work_dir: Path) -> Iterator[Mutant]:
    """The mutants that the judge rejects at these levels."""
    verify = judge_verifier(levels)
    for mutant in mutants:
        run_dir = mutant.apply(work_dir / f"preview-{mutant.name}")
        try:
            is_detected = verify(run_dir, None).verdict in CAUGHT_VERDICTS
        finally:
            shutil.rmtree(run_dir)
        if is_detected:
            yield mutant
