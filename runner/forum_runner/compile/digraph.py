"""Algorithms on directed graphs. A graph maps each node to its successors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

Digraph = Mapping[str, Collection[str]]


def reachable(starts: Iterable[str], graph: Digraph) -> set[str]:
    """The nodes that can be reached from the starts by at least one edge."""
    visited: set[str] = set()
    pending = list(starts)
    while pending:
        for node in graph[pending.pop()]:
            if node not in visited:
                visited.add(node)
                pending.append(node)
    return visited


def reverse(graph: Digraph) -> dict[str, list[str]]:
    """The graph with every edge reversed."""
    reversed_graph: dict[str, list[str]] = {node: [] for node in graph}
    for node, successors in graph.items():
        for successor in successors:
            reversed_graph[successor].append(node)
    return reversed_graph


def strongly_connected(graph: Digraph) -> list[set[str]]:
    """The strongly connected components, by Kosaraju's algorithm."""
    finished: list[str] = []
    visited: set[str] = set()
    for start in graph:
        path = [(start, iter(graph[start]))] if start not in visited else []
        visited.add(start)
        while path:
            node, rest = path[-1]
            unvisited = next((successor for successor in rest if successor not in visited), None)
            if unvisited is None:
                finished.append(node)
                path.pop()
            else:
                visited.add(unvisited)
                path.append((unvisited, iter(graph[unvisited])))
    unassigned = reverse(graph)
    components: list[set[str]] = []
    for start in reversed(finished):
        component: set[str] = set()
        pending = [start]
        while pending:
            node = pending.pop()
            if node in unassigned:
                component.add(node)
                pending += unassigned.pop(node)
        if component:
            components.append(component)
    return components


def find_cycle(graph: Digraph) -> list[str]:
    """A cycle that starts and ends with the alphabetically first of its nodes. Every node must have a successor."""
    path: dict[str, int] = {}
    node = min(graph)
    while node not in path:
        path[node] = len(path)
        node = min(graph[node])
    cycle = list(path)[path[node] :]
    start = cycle.index(min(cycle))
    return [*cycle[start:], *cycle[: start + 1]]
