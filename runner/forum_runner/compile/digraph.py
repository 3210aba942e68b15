"""Algorithms on directed graphs, which map each node to the nodes that its edges lead to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

Digraph = Mapping[str, Collection[str]]


def reachable(starts: Iterable[str], graph: Digraph) -> set[str]:
    """The nodes that a path leads to; a start is one of them only if a path leads back to it."""
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        for node in graph[waiting.pop()]:
            if node not in found:
                found.add(node)
                waiting.append(node)
    return found


def reverse(graph: Digraph) -> dict[str, list[str]]:
    reversed_graph: dict[str, list[str]] = {node: [] for node in graph}
    for node, others in graph.items():
        for other in others:
            reversed_graph[other].append(node)
    return reversed_graph


def strongly_connected(graph: Digraph) -> list[set[str]]:
    """The strongly connected components, by Kosaraju's algorithm."""
    finished: list[str] = []
    seen: set[str] = set()
    for start in graph:
        path = [(start, iter(graph[start]))] if start not in seen else []
        seen.add(start)
        while path:
            node, rest = path[-1]
            following = next((other for other in rest if other not in seen), None)
            if following is None:
                finished.append(node)
                path.pop()
            else:
                seen.add(following)
                path.append((following, iter(graph[following])))
    unplaced = reverse(graph)
    components: list[set[str]] = []
    for start in reversed(finished):
        component: set[str] = set()
        waiting = [start]
        while waiting:
            node = waiting.pop()
            if node in unplaced:
                component.add(node)
                waiting += unplaced.pop(node)
        if component:
            components.append(component)
    return components


def cycle_in(graph: Digraph) -> list[str]:
    """A cycle that starts and ends with its first node by name. Every node must have an edge."""
    path: dict[str, int] = {}
    node = min(graph)
    while node not in path:
        path[node] = len(path)
        node = min(graph[node])
    cycle = list(path)[path[node] :]
    start = cycle.index(min(cycle))
    return [*cycle[start:], *cycle[: start + 1]]
