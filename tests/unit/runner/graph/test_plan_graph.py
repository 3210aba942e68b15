"""The graph of nodes and edges read from a wave plan."""

from typing import Any

from forum_runner.graph.plan_graph import Graph, GraphEdge, Node, TaskMark, build_graph
from forum_runner.model import EdgeKind
from unit.runner.graph.plans import GATE, condition, read_plan


def graph_of(tasks: dict[str, Any], waves: list[list[str]]) -> Graph:
    metadata = {"name": "notes", "description": "Writes notes."}
    return build_graph(read_plan({"metadata": metadata, "tasks": tasks, "waves": waves}))


def data_edge(source: dict[str, Any], name: str) -> dict[str, Any]:
    return {"edge": "data", "from": source, "as": name}


def edges_into_last(*needs: dict[str, Any], **fields: Any) -> tuple[GraphEdge, ...]:
    tasks = {"a": {}, "b": {}, "last": {"needs": list(needs), **fields}}
    return graph_of(tasks, [["a", "b"], ["last"]]).edges


def test_a_wave_plan_becomes_nodes_and_edges() -> None:
    tasks = {
        "log": {"agent": "operator"},
        "draft": {"lane": "auto", "gate": GATE, "needs": [data_edge({"task": "log"}, "commits")]},
    }

    assert graph_of(tasks, [["log"], ["draft"]]) == Graph(
        name="notes",
        description="Writes notes.",
        waves=(
            (Node("log", wave=0, agent="operator"),),
            (Node("draft", wave=1, lane="auto", marks=(TaskMark.GATE,)),),
        ),
        edges=(GraphEdge("log", "draft", EdgeKind.DATA, "commits"),),
    )


def test_the_sources_of_a_nested_value_are_found() -> None:
    value = {"object": {"x": {"list": [{"task": "b", "select": "/n"}, {"object": {"y": {"each": "a"}}}]}}}

    assert edges_into_last(data_edge(value, "v")) == (
        GraphEdge("a", "last", EdgeKind.DATA, "v"),
        GraphEdge("b", "last", EdgeKind.DATA, "v"),
    )


def test_the_source_of_a_foreach_is_a_data_edge() -> None:
    edges = edges_into_last(foreach={"from": {"task": "a"}, "as": "item", "max": 3})

    assert edges == (GraphEdge("a", "last", EdgeKind.DATA, "item"),)


def test_a_condition_is_a_mark_and_not_an_edge() -> None:
    assert edges_into_last(when=[{"from": {"task": "a"}, "matches": "0" * 64}]) == ()


def test_edges_of_the_same_kind_between_two_tasks_are_merged() -> None:
    edges = edges_into_last(
        {"edge": "order", "task": "a"},
        data_edge({"task": "a"}, "y"),
        data_edge({"task": "a"}, "x"),
        data_edge({"task": "a"}, "x"),
    )

    assert edges == (GraphEdge("a", "last", EdgeKind.DATA, "x, y"), GraphEdge("a", "last", EdgeKind.ORDER))


def test_marks_have_a_fixed_order() -> None:
    fields = {
        "allow_failure": True,
        "foreach": {"from": {"list": []}, "as": "x", "max": 1},
        "when": [condition("a")],
        "gate": GATE,
    }
    graph = graph_of({"a": fields}, [["a"]])

    assert graph.nodes[0].marks == (TaskMark.GATE, TaskMark.WHEN, TaskMark.FOREACH, TaskMark.ALLOW_FAILURE)
