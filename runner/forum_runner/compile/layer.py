"""Layering: the earliest wave that every edge allows, then cut to what may run side by side."""

from collections.abc import Iterable, Mapping


def layer(upstreams: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Waves before the cut: a task stands one after the latest of its upstreams, sorted by id inside a wave.

    The edges must be free of loops.
    """
    waiting: dict[str, int] = {}
    downstreams: dict[str, list[str]] = {task: [] for task in upstreams}
    for task, needed in upstreams.items():
        unique = set(needed)
        waiting[task] = len(unique)
        for upstream in unique:
            downstreams[upstream].append(task)
    wave = sorted(task for task, count in waiting.items() if count == 0)
    waves = []
    while wave:
        waves.append(wave)
        following = []
        for task in wave:
            for downstream in downstreams[task]:
                waiting[downstream] -= 1
                if waiting[downstream] == 0:
                    following.append(downstream)
        wave = sorted(following)
    return waves


def cut(waves: Iterable[list[str]], max_parallel: int) -> list[list[str]]:
    """No wave wider than `max_parallel`: a wider one becomes several, in the order of the ids."""
    return [wave[i : i + max_parallel] for wave in waves for i in range(0, len(wave), max_parallel)]
