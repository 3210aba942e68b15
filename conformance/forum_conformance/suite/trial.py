"""Ask one vector: copy its files, send the request, and compare the results."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forum_conformance.suite.case import Case
from forum_conformance.suite.client import Client, Reply
from forum_conformance.suite.difference import Difference, answer_differences
from forum_conformance.suite.expectation import expected_answer
from forum_conformance.suite.output import NotAFile, output_differences, read_written
from forum_conformance.suite.request import own_members, request_for
from forum_conformance.suite.result import Tried
from forum_conformance.suite.scratch import Place, expected_output, place_for
from forum_conformance.suite.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Trial:
    vectors: Vectors
    levels: frozenset[int] | None
    """The requested levels of `verify`; None for all."""
    scratch: Path

    def ask(self, case: Case, client: Client) -> Tried:
        members = own_members(case, self.levels)
        expected = expected_answer(case, self.levels)
        try:
            with place_for(case, self.vectors, self.scratch) as place:
                reply = client.ask(request_for(case, members, folder=place.folder, output=place.output))
                differences = tuple(self._differences(case, expected, reply, place))
        except OSError as error:
            # Programs may do anything to directories, including those of others.
            problem = Difference("the suite's own folders", "left alone", f"unusable: {error.strerror or error}")
            return Tried(case, members, expected, Reply(None, problem, None, 0, ""), (problem,))
        return Tried(case, members, expected, reply, differences)

    def unasked(self, case: Case) -> Tried:
        return Tried(case, own_members(case, self.levels), expected_answer(case, self.levels), None, ())

    def _differences(self, case: Case, expected: Mapping[str, Any], reply: Reply, place: Place) -> Iterator[Difference]:
        if reply.problem is not None:
            yield reply.problem
        if reply.answer is not None:
            yield from answer_differences(expected, reply.answer)
            # With another verdict, there is no expectation for what it wrote.
            if _has_expected_output(case) and reply.answer["verdict"] == expected["verdict"]:
                yield from self._output_differences(case, place)
        if changed := place.changed():
            yield Difference("the vector's files", "as they were", f"changed: {', '.join(changed[:10])}")

    def _output_differences(self, case: Case, place: Place) -> list[Difference]:
        try:
            came = read_written(place.output)
        except NotAFile as error:
            return [Difference(f"output, {error.place}", "a plain file", error.came)]
        return output_differences(case, expected_output(case, self.vectors), came)


def _has_expected_output(case: Case) -> bool:
    """A failed compilation and a refused run write nothing."""
    return "output" in case.expected or (case.role in ("compile", "run") and case.expected["verdict"] != "valid")
