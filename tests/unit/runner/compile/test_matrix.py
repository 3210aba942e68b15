"""Matrices and foreach in the wave plan."""

from typing import Any

import pytest

from bundles import compile_plan, plan_finding_codes
from forum_runner.compile import matrix
from forum_runner.model import Task

ASK = {"agent": "critic", "instruction": "Look."}


def order_edges(*ids: str) -> list[dict[str, str]]:
    return [{"edge": "order", "task": id_} for id_ in ids]


@pytest.mark.requirement("COMPILE-MATRIX-001")
def test_a_matrix_becomes_one_task_per_combination() -> None:
    task = {
        **ASK,
        "instruction": "In ${{ matrix.lang }}: ${{ matrix.n }}",
        "matrix": {"n": [2, 10], "lang": ["de", "a b/ü"]},
    }

    tasks = compile_plan({"tasks": {"say": task}})["tasks"]

    assert {id_: task["instruction"] for id_, task in tasks.items()} == {
        "say[lang=a%20b%2F%C3%BC,n=10]": ["In a b/ü: 10"],
        "say[lang=a%20b%2F%C3%BC,n=2]": ["In a b/ü: 2"],
        "say[lang=de,n=10]": ["In de: 10"],
        "say[lang=de,n=2]": ["In de: 2"],
    }
    assert tasks["say[lang=de,n=2]"]["matrix"] == {"lang": "de", "n": 2}


@pytest.mark.requirement("COMPILE-MATRIX-001")
@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ({}, ["F701"]),
        ({"a": []}, ["F701"]),
        ({"a": [1, "1"]}, ["F703"]),
        ({"a": ["true", True]}, ["F703"]),
        ({"a": list(range(1000))}, []),
        ({"a": list(range(501)), "b": [1, 2]}, ["F702"]),
    ],
)
def test_a_matrix_needs_distinct_values_and_at_most_1000_instances(axes: Any, expected: list[str]) -> None:
    assert plan_finding_codes({"tasks": {"say": {**ASK, "matrix": axes}}}) == expected


@pytest.mark.requirement("COMPILE-MATRIX-001")
def test_instance_ids_are_sorted_as_text() -> None:
    origin: Any = None
    task = Task(origin, "t", matrix={"n": (10, 9, 2)})

    assert [suffix for suffix, _ in matrix.instances(task)] == ["[n=10]", "[n=2]", "[n=9]"]


@pytest.mark.requirement("COMPILE-MATRIX-002", "COMPILE-WRITE-007")
def test_an_edge_from_a_matrix_delivers_a_list_unless_it_selects_one_instance() -> None:
    say = {**ASK, "matrix": {"lang": ["de", "en"], "n": [1, 2]}, "output": {"type": "object"}}
    plan = compile_plan(
        {
            "tasks": {
                "say": say,
                "all": {**ASK, "needs": [{"task": "say", "select": "/x"}]},
                "some": {**ASK, "needs": [{"task": "say", "matrix": {"n": 2}}]},
                "one": {
                    **ASK,
                    "matrix": {"lang": ["de", "en"]},
                    "needs": [{"task": "say", "matrix": {"lang": "${{ matrix.lang }}", "n": 1}}],
                },
                "after": {**ASK, "needs": [{"task": "say", "edge": "order", "matrix": {"lang": "de"}}]},
            }
        }
    )

    def source(task: str) -> Any:
        return plan["tasks"][task]["needs"][0]["from"]

    names = ["say[lang=de,n=1]", "say[lang=de,n=2]", "say[lang=en,n=1]", "say[lang=en,n=2]"]
    assert source("all") == {"list": [{"task": name, "select": "/x"} for name in names]}
    assert source("some") == {"list": [{"task": names[1]}, {"task": names[3]}]}
    assert source("one[lang=en]") == {"task": "say[lang=en,n=1]"}
    assert plan["tasks"]["after"]["needs"] == order_edges(*names[:2])


@pytest.mark.requirement("COMPILE-MATRIX-002")
def test_conditions_foreach_and_outputs_also_select_instances() -> None:
    say = {**ASK, "matrix": {"lang": ["de", "en"]}, "output": {"type": "array"}}
    after = {**ASK, "matrix": {"lang": ["de", "en"]}, "needs": [{"task": "say", "edge": "order"}]}
    after["when"] = {"task": "say", "matrix": {"lang": "${{ matrix.lang }}"}, "output": {"minItems": 1}}
    each = {**ASK, "foreach": {"task": "say", "matrix": {"lang": "en"}, "as": "item", "max": 3}}
    outputs = {"de": {"task": "say", "matrix": {"lang": "de"}}, "all": "after", "each": "each"}

    plan = compile_plan({"tasks": {"say": say, "after": after, "each": each}, "outputs": outputs})

    assert plan["tasks"]["after[lang=de]"]["when"][0]["from"] == {"task": "say[lang=de]"}
    assert plan["tasks"]["each"]["foreach"]["from"] == {"task": "say[lang=en]"}
    assert plan["outputs"]["de"] == {"task": "say[lang=de]"}
    wrong = {"de": {"task": "say", "matrix": {"lang": "fr"}}}
    assert plan_finding_codes({"tasks": {"say": say}, "outputs": wrong}) == ["F307"]
    wrong = {"de": {"task": "say", "matrix": {"lang": "${{ inputs.x }}"}}}
    assert plan_finding_codes({"tasks": {"say": say}, "outputs": wrong}) == ["F020"]


@pytest.mark.requirement("COMPILE-MATRIX-002")
@pytest.mark.parametrize("selection", [{"lnag": "de"}, {"lang": "fr"}, {"lang": "${{ matrix.lang }}", "x": 1}])
def test_a_matrix_selection_must_name_existing_axes_and_values(selection: dict[str, Any]) -> None:
    say = {**ASK, "matrix": {"lang": ["de"]}}
    other = {**ASK, "matrix": {"lang": ["de"]}, "needs": [{"task": "say", "matrix": selection}]}

    assert plan_finding_codes({"tasks": {"say": say, "other": other}}) == ["F307"]


@pytest.mark.requirement("COMPILE-FOREACH-001", "COMPILE-TYPE-004")
def test_a_foreach_is_a_template_whose_outputs_are_a_list() -> None:
    find = {**ASK, "output": {"type": "object", "properties": {"items": {"type": "array"}}}}
    each = {
        **ASK,
        "foreach": {"task": "find", "select": "/items", "as": "item", "max": 7},
        "output": {"type": "object"},
    }
    tasks = {"find": find, "each": each, "sum": {**ASK, "needs": [{"task": "each", "select": "/x"}]}}

    plan = compile_plan({"tasks": tasks})

    assert plan["tasks"]["each"]["foreach"] == {"from": {"task": "find", "select": "/items"}, "as": "item", "max": 7}
    assert plan["tasks"]["sum"]["needs"] == [{"edge": "data", "as": "each", "from": {"each": "each", "item": "/x"}}]
    assert plan["waves"] == [["find"], ["each"], ["sum"]]


@pytest.mark.requirement("COMPILE-TYPE-004")
def test_a_foreach_over_a_value_that_is_not_a_list_is_a_finding() -> None:
    each = {**ASK, "foreach": {"task": "find", "as": "item", "max": 7}}

    assert plan_finding_codes({"tasks": {"find": ASK, "each": each}}) == ["F408"]


@pytest.mark.requirement("COMPILE-FOREACH-001")
def test_a_task_cannot_have_both_foreach_and_matrix() -> None:
    find = {**ASK, "output": {"type": "array"}}
    each = {**ASK, "foreach": {"task": "find", "as": "item", "max": 7}, "matrix": {"a": [1]}}

    assert plan_finding_codes({"tasks": {"find": find, "each": each}}) == ["F704"]
