"""Assigns tasks to waves: each to the earliest wave that its edges allow, then split to fit `max_parallel`."""

from collections.abc import Iterable, Mapping

from forum_runner.compile.digraph import reverse


def layer(upstreams: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Waves before splitting: a task is one wave after its latest upstream; waves are sorted by id.

    The edges must have no cycles.
    """
    needed = {task: set(others) for task, others in upstreams.items()}
    downstreams = reverse(needed)
    missing = {task: len(others) for task, others in needed.items()}
    wave = sorted(task for task, count in missing.items() if count == 0)
    waves = []
    while wave:
        waves.append(wave)
        following = []
        for task in wave:
            for downstream in downstreams[task]:
                missing[downstream] -= 1
                if missing[downstream] == 0:
                    following.append(downstream)
        wave = sorted(following)
    return waves


def split(waves: Iterable[list[str]], max_parallel: int) -> list[list[str]]:
    """Splits waves larger than `max_parallel`, in the order of the ids."""
    return [wave[i : i + max_parallel] for wave in waves for i in range(0, len(wave), max_parallel)]
