"""Assigns each task to the earliest wave that its edges allow, and splits waves to fit `max_parallel`."""

from collections.abc import Iterable, Mapping

from forum_runner.compile.digraph import reverse


def layer(upstreams: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The waves before splitting. Each task is one wave after its latest upstream task; each wave is sorted by id.

    The edges must have no cycles.
    """
    needed = {task: set(others) for task, others in upstreams.items()}
    downstreams = reverse(needed)
    unfinished = {task: len(others) for task, others in needed.items()}
    wave = sorted(task for task, count in unfinished.items() if count == 0)
    waves = []
    while wave:
        waves.append(wave)
        next_wave = []
        for task in wave:
            for downstream in downstreams[task]:
                unfinished[downstream] -= 1
                if unfinished[downstream] == 0:
                    next_wave.append(downstream)
        wave = sorted(next_wave)
    return waves


def split_waves(waves: Iterable[list[str]], max_parallel: int) -> list[list[str]]:
    """Splits waves larger than `max_parallel`, in the order of the ids."""
    return [wave[i : i + max_parallel] for wave in waves for i in range(0, len(wave), max_parallel)]
