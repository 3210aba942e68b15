"""Plans used by other plans, as they appear in the wave plan."""

from typing import Any

import pytest

from bundles import compile_files, finding_codes, plan_manifest, workflow

RUN = {"agent": "operator", "run": ["true"]}
ASK = {"agent": "critic", "instruction": "Look."}
INNER = plan_manifest(
    inputs={"text": {"type": "string"}},
    tasks={
        "read": {"agent": "critic", "instruction": "Read ${{ inputs.text }}."},
        "check": {**RUN, "needs": ["read"]},
        "other": RUN,
    },
    outputs={"answer": "read", "part": {"task": "check"}},
)


def compile_with_inner_plan(tasks: dict[str, Any], inner: Any = INNER, **body: Any) -> Any:
    result = compile_files({"workflow.yaml": workflow({"tasks": tasks, **body}), "inner.yaml": inner})
    assert [f for f in result.findings if f.code not in ("F303", "F311")] == []
    assert result.wave_plan is not None
    return result.wave_plan


def order_edges(*ids: str) -> list[dict[str, str]]:
    return [{"edge": "order", "task": id_} for id_ in ids]


@pytest.mark.requirement("COMPILE-UNFOLD-001", "COMPILE-UNFOLD-002")
def test_a_used_plan_is_inlined_between_its_upstream_and_downstream_tasks() -> None:
    plan = compile_with_inner_plan(
        {
            "first": RUN,
            "use": {"uses": "inner.yaml", "with": {"text": "x"}, "needs": [{"task": "first", "edge": "order"}]},
            "last": {**RUN, "needs": [{"task": "use", "edge": "order"}]},
        }
    )

    assert {id_: task.get("needs", []) for id_, task in plan["tasks"].items()} == {
        "first": [],
        "use/read": order_edges("first"),
        "use/check": [{"edge": "data", "as": "read", "from": {"task": "use/read"}}],
        "use/other": order_edges("first"),
        "last": order_edges("use/check", "use/other"),
    }
    assert plan["waves"] == [["first"], ["use/other", "use/read"], ["use/check"], ["last"]]


@pytest.mark.requirement("COMPILE-UNFOLD-002")
def test_a_nested_plan_runs_after_the_upstream_tasks_of_the_outer_plan() -> None:
    middle = plan_manifest("middle", tasks={"go": {"uses": "inner.yaml", "with": {"text": "x"}}})
    files = {
        "workflow.yaml": workflow(
            {"tasks": {"first": RUN, "use": {"uses": "middle.yaml", "needs": [{"task": "first", "edge": "order"}]}}}
        ),
        "middle.yaml": middle,
        "inner.yaml": INNER,
    }

    result = compile_files(files)

    assert result.wave_plan is not None, result.findings
    assert result.wave_plan["tasks"]["use/go/read"]["needs"] == order_edges("first")


@pytest.mark.requirement("COMPILE-UNFOLD-003")
def test_the_value_of_a_used_plan_is_an_object_with_its_outputs() -> None:
    tasks = {
        "use": {"uses": "inner.yaml", "with": {"text": "x"}},
        "all": {**ASK, "needs": ["use"]},
        "part": {**ASK, "needs": [{"task": "use", "select": "/answer"}]},
    }

    plan = compile_with_inner_plan(tasks)

    outputs = {"answer": {"task": "use/read"}, "part": {"task": "use/check"}}
    assert plan["tasks"]["all"]["needs"][0]["from"] == {"object": outputs}
    assert plan["tasks"]["part"]["needs"][0]["from"] == {"task": "use/read"}


@pytest.mark.requirement("COMPILE-UNFOLD-003", "COMPILE-WRITE-007")
def test_a_pointer_into_a_used_plan_is_appended_to_the_pointer_of_its_output() -> None:
    typed = {"type": "object", "properties": {"a": {"type": "object"}}}
    inner = plan_manifest(
        tasks={
            "get": {**ASK, "output": typed},
            "many": {**ASK, "output": typed, "matrix": {"n": [1, 2]}},
            "each": {**ASK, "output": typed, "foreach": {"task": "many", "as": "i", "max": 3}},
        },
        outputs={"one": {"task": "get", "select": "/a"}, "all": "many", "rest": {"task": "each", "select": "/a"}},
    )
    edges = {"b": "/one/b", "c": "/all/1/a", "d": "/rest/0/z"}
    tasks = {"use": {"uses": "inner.yaml"}} | {
        n: {**ASK, "needs": [{"task": "use", "select": s}]} for n, s in edges.items()
    }

    plan = compile_with_inner_plan(tasks, inner)

    assert {name: plan["tasks"][name]["needs"][0]["from"] for name in edges} == {
        "b": {"task": "use/get", "select": "/a/b"},
        "c": {"task": "use/many[n=2]", "select": "/a"},
        "d": {"each": "use/each", "item": "/a", "select": "/0/z"},
    }


@pytest.mark.requirement("COMPILE-UNFOLD-003")
def test_a_pointer_to_an_unknown_output_of_a_used_plan_is_a_finding() -> None:
    tasks = {
        "use": {"uses": "inner.yaml", "with": {"text": "x"}},
        "part": {**ASK, "needs": [{"task": "use", "select": "/anwser"}]},
    }

    assert finding_codes({"workflow.yaml": workflow({"tasks": tasks}), "inner.yaml": INNER}) == ["F303", "F406"]


@pytest.mark.requirement("COMPILE-UNFOLD-004", "MANIFEST-TEXT-003")
def test_a_used_plan_accepts_input_values_of_every_type() -> None:
    inner = plan_manifest(
        inputs={"a": {}, "b": {"default": [1]}, "c": {"type": "string"}},
        tasks={"say": {**ASK, "instruction": "${{ inputs.a }} ${{ inputs.b }} ${{ inputs.c }}"}},
    )
    use = {
        "uses": "inner.yaml",
        "matrix": {"n": [7]},
        "with": {"a": {"x": "${{ inputs.k }}", "y": ["${{ matrix.n }}"]}, "c": "n=${{ matrix.n }}, $${{"},
    }

    plan = compile_with_inner_plan({"use": use}, inner, inputs={"k": {"default": True}})

    assert plan["tasks"]["use[n=7]/say"]["instruction"] == ['{"x":true,"y":[7]} [1] n=7, ${{']


@pytest.mark.requirement("COMPILE-UNFOLD-004")
def test_edge_data_reaches_the_inner_tasks_that_refer_to_it() -> None:
    tasks = {
        "get": RUN,
        "use": {"uses": "inner.yaml", "needs": ["get"], "with": {"text": "${{ needs.get }}"}},
    }

    plan = compile_with_inner_plan(tasks)

    read = plan["tasks"]["use/read"]
    assert read["instruction"] == ["Read ", {"need": "inputs.text"}, "."]
    edge = read["needs"][1]
    assert (edge["as"], edge["from"], len(edge["expects"])) == ("inputs.text", {"task": "get"}, 1)
    assert plan["tasks"]["use/other"]["needs"] == order_edges("get")


@pytest.mark.requirement("COMPILE-UNFOLD-004", "COMPILE-WRITE-006")
def test_expects_and_max_bytes_of_an_edge_apply_inside_the_used_plan() -> None:
    need = {"task": "get", "expects": {"minLength": 5}, "max_bytes": 10}

    plan = compile_with_inner_plan(
        {"get": RUN, "use": {"uses": "inner.yaml", "needs": [need], "with": {"text": "${{ needs.get }}"}}}
    )

    edge = plan["tasks"]["use/read"]["needs"][1]
    assert edge["max_bytes"] == 10
    assert edge["expects"] == sorted(edge["expects"])
    assert [plan["schemas"][name] for name in edge["expects"]].count({"minLength": 5}) == 1
    assert len(edge["expects"]) == 2


@pytest.mark.requirement("COMPILE-UNFOLD-004")
@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ({}, ["F706"]),
        ({"with": {"text": "x", "more": 1}}, ["F707"]),
        ({"with": {"text": 3}}, ["F017"]),
        ({"with": {"text": "${{ inputs.count }}"}}, ["F017"]),
        ({"with": {"text": "${{ needs.list }}"}, "needs": ["list"]}, ["F407"]),
        ({"with": {"text": "x"}, "needs": ["list"]}, ["F311"]),
        ({"with": {"text": "a ${{ needs.list }}"}, "needs": ["list"]}, ["F314"]),
    ],
)
def test_arguments_must_match_the_inputs_of_the_used_plan(use: dict[str, Any], expected: list[str]) -> None:
    body = {
        "inputs": {"count": {"type": "integer", "default": 3}},
        "tasks": {"list": {**RUN, "output": {"type": "array"}}, "use": {"uses": "inner.yaml", **use}},
    }
    codes = finding_codes({"workflow.yaml": workflow(body), "inner.yaml": INNER})

    assert [code for code in codes if code != "F303"] == expected


@pytest.mark.requirement("COMPILE-UNFOLD-005")
def test_a_condition_on_a_used_plan_applies_to_each_of_its_tasks() -> None:
    inner = plan_manifest(
        tasks={"a": RUN, "b": {**RUN, "needs": ["a"], "when": {"task": "a", "output": {"const": "y"}}}}
    )
    use = {
        "uses": "inner.yaml",
        "needs": [{"task": "lint", "edge": "order"}],
        "when": {"task": "lint", "output": {"const": "x"}},
    }

    plan = compile_with_inner_plan({"lint": RUN, "use": use}, inner)

    sources = {id_: [c["from"] for c in plan["tasks"][id_].get("when", [])] for id_ in ("use/a", "use/b")}
    assert sources == {"use/a": [{"task": "lint"}], "use/b": [{"task": "lint"}, {"task": "use/a"}]}


@pytest.mark.requirement("COMPILE-UNFOLD-001")
def test_plans_that_use_each_other_are_a_finding() -> None:
    loop = plan_manifest("loop", tasks={"again": {"uses": "workflow.yaml"}})
    self_use = plan_manifest("self", tasks={"again": {"uses": "#self"}})

    assert finding_codes({"plan.yaml": self_use}, "plan.yaml") == ["F705"]
    files = {
        "a.yaml": plan_manifest("a", tasks={"b": {"uses": "b.yaml"}}),
        "b.yaml": plan_manifest("b", tasks={"a": {"uses": "a.yaml"}}),
    }
    assert finding_codes(files, "a.yaml") == ["F705"]
    assert finding_codes({"workflow.yaml": workflow({"tasks": {"x": RUN}}), "p.yaml": loop}, "p.yaml") == ["F005"]


@pytest.mark.requirement("COMPILE-UNFOLD-001")
def test_a_plan_with_too_many_tasks_is_rejected_before_it_is_expanded() -> None:
    files: dict[str, Any] = {"p0.yaml": plan_manifest("p0", tasks={"work": RUN})}
    for level in range(1, 13):
        tasks = {f"t{n}": {"uses": f"p{level - 1}.yaml"} for n in range(10)}
        files[f"p{level}.yaml"] = plan_manifest(f"p{level}", tasks=tasks)
    files["workflow.yaml"] = workflow("p12.yaml")  # type: ignore[arg-type]

    assert finding_codes(files) == ["F708"]


@pytest.mark.requirement("COMPILE-UNFOLD-001")
def test_plans_may_be_nested_16_levels_deep() -> None:
    def codes_at_depth(depth: int) -> list[str]:
        files: dict[str, Any] = {"p1.yaml": plan_manifest("p1", tasks={"work": RUN})}
        for level in range(2, depth + 1):
            files[f"p{level}.yaml"] = plan_manifest(f"p{level}", tasks={"t": {"uses": f"p{level - 1}.yaml"}})
        return finding_codes(files, f"p{depth}.yaml")

    assert (codes_at_depth(16), codes_at_depth(17)) == ([], ["F709"])


@pytest.mark.requirement("COMPILE-UNFOLD-005", "COMPILE-LAYER-003")
def test_a_task_runs_after_every_task_in_its_conditions() -> None:
    inner = plan_manifest(tasks={"a": RUN, "b": RUN, "c": {**RUN, "needs": ["b"]}}, outputs={"first": "a", "last": "c"})
    need = {"task": "use", "select": "/first"}
    t = {**ASK, "needs": [need], "when": {"task": "use", "select": "/last", "output": {"const": "x"}}}

    plan = compile_with_inner_plan({"use": {"uses": "inner.yaml"}, "t": t}, inner)

    assert plan["waves"] == [["use/a", "use/b"], ["use/c"], ["t"]]
    assert plan["tasks"]["t"]["needs"][0] == {"edge": "order", "task": "use/c"}


@pytest.mark.requirement("COMPILE-UNFOLD-003")
@pytest.mark.parametrize(
    ("select", "expected"), [("/all/1", []), ("/all/2", ["F406"]), ("/each/2", []), ("/each/3", ["F406"])]
)
def test_an_index_beyond_the_last_instance_is_a_finding(select: str, expected: list[str]) -> None:
    inner = plan_manifest(
        tasks={
            "list": {**ASK, "output": {"type": "array"}},
            "m": {**ASK, "matrix": {"n": [1, 2]}},
            "e": {**ASK, "foreach": {"task": "list", "as": "i", "max": 3}},
        },
        outputs={"all": "m", "each": "e"},
    )
    body = {"tasks": {"use": {"uses": "inner.yaml"}}, "outputs": {"x": {"task": "use", "select": select}}}

    assert finding_codes({"workflow.yaml": workflow(body), "inner.yaml": inner}) == expected


@pytest.mark.requirement("COMPILE-UNFOLD-004")
def test_max_bytes_of_an_edge_applies_through_two_nested_plans() -> None:
    middle = plan_manifest(
        "middle",
        inputs={"t": {"type": "string"}},
        tasks={"go": {"uses": "inner.yaml", "with": {"text": "${{ inputs.t }}"}}},
    )
    use = {"uses": "middle.yaml", "needs": [{"task": "get", "max_bytes": 7}], "with": {"t": "${{ needs.get }}"}}
    files = {"workflow.yaml": workflow({"tasks": {"get": RUN, "use": use}}), "middle.yaml": middle, "inner.yaml": INNER}

    result = compile_files(files)

    assert result.wave_plan is not None, result.findings
    assert result.wave_plan["tasks"]["use/go/read"]["needs"][1]["max_bytes"] == 7


@pytest.mark.requirement("COMPILE-UNFOLD-002")
def test_the_source_of_a_foreach_is_not_a_final_task_of_a_used_plan() -> None:
    inner = plan_manifest(
        tasks={
            "list": {**ASK, "output": {"type": "array"}},
            "each": {**ASK, "foreach": {"task": "list", "as": "i", "max": 3}},
        }
    )

    plan = compile_with_inner_plan(
        {"use": {"uses": "inner.yaml"}, "last": {**RUN, "needs": [{"task": "use", "edge": "order"}]}}, inner
    )

    assert plan["tasks"]["last"]["needs"] == order_edges("use/each")


@pytest.mark.requirement("MANIFEST-SECRET-001")
def test_edge_data_cannot_fill_a_secret_input() -> None:
    inner = plan_manifest(inputs={"key": {"secret": True}}, tasks={"t": {**ASK, "instruction": "${{ inputs.key }}"}})
    use = {"uses": "inner.yaml", "needs": ["get"], "with": {"key": "${{ needs.get }}"}}

    assert finding_codes({"workflow.yaml": workflow({"tasks": {"get": RUN, "use": use}}), "inner.yaml": inner}) == [
        "F018"
    ]


@pytest.mark.requirement("COMPILE-UNFOLD-001")
def test_exponentially_many_outputs_are_rejected_before_they_are_created() -> None:
    files: dict[str, Any] = {"p0.yaml": plan_manifest("p0", tasks={"t": RUN}, outputs={f"o{n}": "t" for n in range(9)})}
    for level in range(1, 12):
        uses = {"t": {"uses": f"p{level - 1}.yaml"}}
        files[f"p{level}.yaml"] = plan_manifest(f"p{level}", tasks=uses, outputs={f"o{n}": "t" for n in range(9)})
    files["workflow.yaml"] = workflow("p11.yaml")  # type: ignore[arg-type]

    assert finding_codes(files) == ["F708"]


@pytest.mark.requirement("COMPILE-BUDGET-003")
def test_a_plan_used_many_times_is_counted_once() -> None:
    files: dict[str, Any] = {"p0.yaml": plan_manifest("p0", tasks={"t": RUN})}
    for level in range(1, 15):
        tasks = {f"t{n}": {"uses": f"p{level - 1}.yaml"} for n in range(10)}
        files[f"p{level}.yaml"] = plan_manifest(f"p{level}", tasks=tasks)
    files["workflow.yaml"] = workflow({"tasks": {"use": {"uses": "p14.yaml", "matrix": {"a": []}}}})

    assert finding_codes(files) == ["F701"]


@pytest.mark.requirement("COMPILE-UNFOLD-001")
def test_a_wave_plan_with_too_much_text_is_rejected() -> None:
    task = {"agent": "critic", "instruction": "x" * 900_000, "matrix": {"n": list(range(200))}}

    assert finding_codes({"workflow.yaml": workflow({"tasks": {"t": task}})}) == ["F708"]
