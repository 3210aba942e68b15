"""Run one vector: copy its files, send the request, and compare the results."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forum_conformance.suite.case import Case
from forum_conformance.suite.client import Client, Reply
from forum_conformance.suite.difference import Difference, answer_differences
from forum_conformance.suite.expectation import expected_answer
from forum_conformance.suite.output import NotAFile, output_differences, read_output
from forum_conformance.suite.request import own_members, request_for
from forum_conformance.suite.result import VectorOutcome
from forum_conformance.suite.scratch import ScratchCopy, expected_output, scratch_copy
from forum_conformance.suite.vectors import Vectors

_MAX_LISTED_FILES = 10


@dataclass(frozen=True, slots=True)
class VectorRunner:
    vectors: Vectors
    levels: frozenset[int] | None
    """The requested levels of `verify`; None for all."""
    scratch: Path
    """The parent of the copies of vectors."""

    def run(self, case: Case, client: Client) -> VectorOutcome:
        members = own_members(case, self.levels)
        expected = expected_answer(case, self.levels)
        try:
            with scratch_copy(case, self.vectors, self.scratch) as copy:
                reply = client.send(request_for(case, members, folder=copy.folder, output=copy.output))
                differences = tuple(self._differences(case, expected, reply, copy))
        except OSError as error:
            # Programs may do anything to directories, including those of other programs.
            problem = Difference("the suite's own directories", "unchanged", f"unusable: {error.strerror or error}")
            return VectorOutcome(case, members, expected, Reply(None, problem, None, 0, ""), (problem,))
        return VectorOutcome(case, members, expected, reply, differences)

    def skip(self, case: Case) -> VectorOutcome:
        """The outcome of a vector that is not run."""
        return VectorOutcome(case, own_members(case, self.levels), expected_answer(case, self.levels), None, ())

    def _differences(
        self, case: Case, expected: Mapping[str, Any], reply: Reply, copy: ScratchCopy
    ) -> Iterator[Difference]:
        if reply.problem is not None:
            yield reply.problem
        if reply.answer is not None:
            yield from answer_differences(expected, reply.answer)
            # With a different verdict, the vector does not say which output to expect.
            if _has_expected_output(case) and reply.answer["verdict"] == expected["verdict"]:
                yield from self._output_differences(case, copy)
        if changed := copy.changed_files():
            names = ", ".join(changed[:_MAX_LISTED_FILES])
            yield Difference("the vector's files", "as they were", f"changed: {names}")

    def _output_differences(self, case: Case, copy: ScratchCopy) -> list[Difference]:
        try:
            actual = read_output(copy.output)
        except NotAFile as error:
            return [Difference(f"output, {error.place}", "a regular file", error.description)]
        return output_differences(case, expected_output(case, self.vectors), actual)


def _has_expected_output(case: Case) -> bool:
    """Whether the output is known: the vector has it, or the program must refuse and write nothing."""
    return "output" in case.expected or (case.role in ("compile", "run") and case.expected["verdict"] != "valid")
