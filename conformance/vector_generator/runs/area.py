"""The area `runs`: the files of a deterministic run, byte for byte."""

from collections.abc import Iterator

from vector_generator.forum_program import ForumProgram
from vector_generator.runs import (
    budgets,
    data,
    errors,
    handover,
    order,
    people,
    prompts,
    replies,
    resuming,
    reuse,
    time,
    verdicts,
)
from vector_generator.runs.making import vector_of
from vector_generator.vector import Vector

CASES = (
    *order.CASES,
    *data.CASES,
    *handover.CASES,
    *prompts.CASES,
    *replies.CASES,
    *errors.CASES,
    *verdicts.CASES,
    *budgets.CASES,
    *time.CASES,
    *people.CASES,
    *reuse.CASES,
    *resuming.CASES,
)


def vectors(forum: ForumProgram) -> Iterator[Vector]:
    for case in CASES:
        yield vector_of(case, forum)
