"""The area `runs`: the files of a deterministic run, byte for byte."""

from collections.abc import Iterator

from vector_generator.forum_program import ForumProgram
from vector_generator.runs import (
    budgets,
    data,
    delivery,
    errors,
    gates,
    order,
    prompts,
    replies,
    resume,
    reuse,
    secrets,
    timing,
    verdicts,
)
from vector_generator.runs.vector_builder import vector_of
from vector_generator.vector import Vector

CASES = (
    *order.CASES,
    *data.CASES,
    *delivery.CASES,
    *prompts.CASES,
    *replies.CASES,
    *errors.CASES,
    *verdicts.CASES,
    *budgets.CASES,
    *timing.CASES,
    *gates.CASES,
    *reuse.CASES,
    *secrets.CASES,
    *resume.CASES,
)


def vectors(forum: ForumProgram) -> Iterator[Vector]:
    for case in CASES:
        yield vector_of(case, forum)
