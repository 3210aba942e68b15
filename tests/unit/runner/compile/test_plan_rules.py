"""Rules for plans that a schema cannot express."""

from typing import Any

import pytest

from bundles import ROSTER, compile_files, compile_plan, finding_codes, plan_finding_codes, plan_manifest, workflow

RUN = {"agent": "operator", "run": ["true"]}
ASK = {"agent": "critic", "instruction": "Look."}


def roster_with_adapter(**adapter: Any) -> dict[str, Any]:
    """Return the usual roster plus an agent `other` with its own adapter."""
    adapters = ROSTER["adapters"] | {"other": {"type": "command", **adapter}}
    return {"adapters": adapters, "agents": ROSTER["agents"] | {"other": {"adapter": "other"}}}


@pytest.mark.requirement("MANIFEST-PLAN-001")
@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ({"instruction": "x"}, ["F208"]),
        (ASK | {"lane": "auto"}, ["F208"]),
        ({"lane": "auto", "instruction": "x"}, []),
        (ASK | {"with": {"a": 1}}, ["F312"]),
        ({"uses": "inner.yaml", "instruction": "x"}, ["F312"]),
        ({"uses": "inner.yaml", "cache": True, "gate": {"question": "?"}}, ["F312", "F312"]),
        ({"uses": "inner.yaml", "matrix": {"a": [1]}}, []),
    ],
)
def test_a_task_has_exactly_one_of_agent_lane_and_uses(task: dict[str, Any], expected: list[str]) -> None:
    files = {"workflow.yaml": workflow({"tasks": {"task": task}}), "inner.yaml": plan_manifest(tasks={"work": RUN})}

    assert finding_codes(files) == expected


@pytest.mark.requirement("MANIFEST-PLAN-002")
@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (ASK | {"needs": ["a", "b"]}, []),
        (ASK | {"needs": ["a", {"task": "b", "as": "a"}]}, ["F305"]),
        (ASK | {"needs": ["a", "a"]}, ["F305"]),
        (ASK | {"needs": ["a", {"task": "a", "edge": "order"}]}, []),
        (ASK | {"needs": [{"task": "a", "as": "x"}], "foreach": {"task": "b", "as": "x", "max": 2}}, ["F305"]),
        (ASK | {"needs": [{"task": "a", "edge": "order", "select": "/x", "max_bytes": 3}]}, ["F304", "F304"]),
        ({"agent": "critic", "instruction": "${{ needs.a }}", "needs": [{"task": "a", "edge": "order"}]}, ["F304"]),
    ],
)
def test_data_edges_of_a_task_have_distinct_names(task: dict[str, Any], expected: list[str]) -> None:
    assert plan_finding_codes({"tasks": {"a": ASK, "b": ASK | {"output": {"type": "array"}}, "task": task}}) == expected


@pytest.mark.requirement("MANIFEST-PLAN-002")
def test_a_bare_task_name_in_needs_is_a_data_edge_of_that_name() -> None:
    plan = compile_plan({"tasks": {"a": RUN, "b": {**RUN, "needs": ["a"]}}})

    assert plan["tasks"]["b"]["needs"] == [{"edge": "data", "as": "a", "from": {"task": "a"}}]


@pytest.mark.requirement("MANIFEST-PLAN-003")
@pytest.mark.parametrize(("expects", "expected"), [({"type": "string"}, []), ({"type": "object"}, ["F407"])])
def test_an_output_without_a_type_is_text(expects: Any, expected: list[str]) -> None:
    assert (
        plan_finding_codes({"tasks": {"a": RUN, "b": {**RUN, "needs": [{"task": "a", "expects": expects}]}}})
        == expected
    )


@pytest.mark.requirement("MANIFEST-PLAN-004")
@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ({"agent": "operator"}, ["F309"]),
        ({"agent": "operator", "instruction": "x"}, ["F309"]),
        ({"agent": "operator", "run": ["${{ inputs.x }}"]}, ["F310"]),
        ({"agent": "critic"}, ["F308"]),
        ({"agent": "critic", "run": ["true"]}, ["F310"]),
        ({"agent": "other"}, ["F308"]),
        ({"agent": "other", "instruction": "x"}, []),
        ({"agent": "other", "run": ["true"]}, ["F310"]),
        ({"lane": "auto", "run": ["true"]}, ["F310"]),
        ({"lane": "auto"}, ["F308"]),
    ],
)
def test_a_program_needs_run_and_an_agent_needs_an_instruction(task: dict[str, Any], expected: list[str]) -> None:
    plan = {"inputs": {"x": {"type": "string"}}, "tasks": {"task": task}}

    assert plan_finding_codes(plan, roster=roster_with_adapter(argv=["true"])) == expected


@pytest.mark.requirement("MANIFEST-PLAN-005", "MANIFEST-ROSTER-002")
@pytest.mark.parametrize(
    ("escalate", "expected"),
    [(["frontier"], []), (["capable"], ["F014"]), (["cheap"], ["F313"]), (["frontier", "cheap"], ["F313"])],
)
def test_escalation_moves_up_through_tiers_the_agent_has(escalate: list[str], expected: list[str]) -> None:
    task = {"agent": "writer", "instruction": "x", "escalate": escalate}

    assert plan_finding_codes({"tasks": {"task": task}}) == expected


@pytest.mark.requirement("MANIFEST-PLAN-009")
def test_a_routed_task_needs_at_least_one_eligible_agent() -> None:
    shell_only = {"adapters": {"shell": {"type": "command"}}, "agents": {"operator": {"adapter": "shell"}}}

    def codes_for(task: dict[str, Any], **parts: Any) -> list[str]:
        return plan_finding_codes({"tasks": {"task": {"lane": "auto", "instruction": "x"} | task}}, **parts)

    assert codes_for({}) == []
    assert codes_for({}, roster=shell_only) == ["F316"]
    assert codes_for({}, policy={"allow": {"agents": ["operator"]}}) == ["F501"]
    assert codes_for({"escalate": ["frontier"]}) == []
    assert codes_for(
        {"escalate": ["capable", "frontier"]}, roster=ROSTER | {"agents": {"writer": ROSTER["agents"]["writer"]}}
    ) == ["F014"]


@pytest.mark.requirement("MANIFEST-PLAN-006")
def test_a_condition_may_refer_to_any_upstream_task() -> None:
    def codes_for(on: str) -> list[str]:
        last = {**RUN, "needs": [{"task": "b", "edge": "order"}], "when": {"task": on, "output": {"const": "x"}}}
        return plan_finding_codes({"tasks": {"a": RUN, "b": {**RUN, "needs": ["a"]}, "last": last, "beside": RUN}})

    assert [codes_for(on) for on in ("a", "b", "beside", "last", "nowhere")] == [
        [],
        [],
        ["F306"],
        ["F306"],
        ["F013"],
    ]


@pytest.mark.requirement("MANIFEST-PLAN-007")
def test_every_cycle_is_reported_with_its_full_path() -> None:
    needs = {"a": ["b"], "b": ["c"], "c": ["a"], "d": ["d", "a"], "e": ["f"], "f": ["e"], "g": ["a"]}
    result = compile_files({"workflow.yaml": workflow({"tasks": {n: {**RUN, "needs": u} for n, u in needs.items()}})})

    assert [(f.code, f.message) for f in result.findings] == [
        ("F301", "the plan has a cycle: a -> b -> c -> a"),
        ("F302", "task 'd' depends on itself"),
        ("F301", "the plan has a cycle: e -> f -> e"),
    ]


@pytest.mark.requirement("MANIFEST-READ-003")
@pytest.mark.parametrize(
    "tasks",
    [
        "{first: {%s, needs: [second]}, second: {%s}, second: {%s, needs: [first]}}",
        "{first: {%s, needs: [second]}, first: {%s}, second: {%s, needs: [first]}}",
        "{first: {%s, needs: [third]}, second: {%s, needs: [first]}, third: {%s, needs: [second], needs: [second]}}",
        "{first: {%s}, second: {%s}, second: {%s, needs: [second]}}",
    ],
)
def test_a_cycle_is_not_reported_if_a_duplicate_key_may_be_its_cause(tasks: str) -> None:
    header = "apiVersion: forum/v1\nkind: Plan\nmetadata: {name: plan}\n"
    task = "agent: writer, instruction: Write."

    assert finding_codes({"plan.yaml": f"{header}tasks: {tasks % (task, task, task)}\n"}, "plan.yaml") == ["F110"]


@pytest.mark.requirement("MANIFEST-PLAN-007")
def test_a_foreach_edge_can_close_a_cycle() -> None:
    tasks = {
        "a": {**ASK, "foreach": {"task": "b", "as": "x", "max": 1}},
        "b": {**ASK, "needs": ["a"], "output": {"type": "array"}},
    }

    assert plan_finding_codes({"tasks": tasks}) == ["F301"]


@pytest.mark.requirement("MANIFEST-PLAN-007")
def test_a_task_that_no_output_needs_is_a_warning() -> None:
    tasks = {"a": RUN, "b": {**RUN, "needs": ["a"]}, "c": RUN}

    assert plan_finding_codes({"tasks": tasks, "outputs": {"x": "b"}}) == ["F303"]
    assert plan_finding_codes({"tasks": tasks}) == []


@pytest.mark.requirement("MANIFEST-PLAN-008")
def test_an_agent_that_judges_itself_is_a_warning() -> None:
    assert plan_finding_codes({"tasks": {"a": {**ASK, "accept": [{"agent": "critic"}]}}}) == ["F315"]


@pytest.mark.requirement("MANIFEST-ROSTER-001", "MANIFEST-PATH-003")
@pytest.mark.parametrize(
    ("adapter", "expected"),
    [
        ({"type": "x-mine", "settings": {"a": 1}}, []),
        ({"type": "x-mine", "a": 1}, ["F201"]),
        ({"type": "comand"}, ["F204"]),
        ({"type": "command", "cwd": "../up"}, ["F120"]),
        ({"type": "command", "cwd": "/abs"}, ["F120"]),
        ({"type": "command", "cwd": "sub/../other"}, []),
        ({"type": "command", "argv": [""]}, ["F310"]),
        ({"type": "openai"}, ["F203", "F203"]),
        ({"type": "scripted", "argv": ["x"]}, ["F201"]),
        ({"argv": ["x"]}, ["F203"]),
        ({"type": "openai", "base_url": "x", "model": "m"}, ["F205"]),
        ({"type": "openai", "base_url": "http://127.0.0.1/v1", "model": "m", "api_key": "sk-1"}, ["F201"]),
    ],
)
def test_the_adapter_type_determines_its_fields(adapter: dict[str, Any], expected: list[str]) -> None:
    roster = {"adapters": ROSTER["adapters"] | {"own": adapter}, "agents": ROSTER["agents"]}

    assert plan_finding_codes({"tasks": {"a": RUN}}, roster=roster) == expected


@pytest.mark.requirement("MANIFEST-ROSTER-003")
def test_the_wave_plan_contains_adapter_defaults() -> None:
    model = {
        "type": "anthropic",
        "base_url": "http://localhost",
        "model": "m",
        "prices": {"input": "3", "output": "15"},
    }
    roster = {
        "adapters": {"m": model, "s": {"type": "command"}},
        "agents": {"a": {"adapter": "m"}, "b": {"adapter": "s"}},
    }

    plan = compile_plan(
        {"tasks": {"ask": {"agent": "a", "instruction": "x"}, "run": {"agent": "b", "run": ["true"]}}}, roster=roster
    )

    assert plan["adapters"] == {
        "m": {
            **model,
            "max_tokens": 4096,
            "timeout_ms": 120_000,
            "connect_timeout_ms": 10_000,
            "stream": True,
            "structured_output": "json_schema",
            "prices": {"input": 3_000_000, "cached_input": 3_000_000, "output": 15_000_000},
        },
        "s": {
            "type": "command",
            "cwd": ".",
            "env": [],
            "stdin": "text",
            "timeout_ms": 600_000,
            "max_output_bytes": 10_000_000,
        },
    }


@pytest.mark.requirement("MANIFEST-ROSTER-002")
@pytest.mark.parametrize(
    ("agent", "ladder"),
    [
        ({"adapter": "small"}, [("capable", "small")]),
        ({"adapter": "small", "tier": "frontier"}, [("frontier", "small")]),
        ({"adapters": {"frontier": "large", "capable": "small"}}, [("capable", "small")]),
        ({"adapters": {"frontier": "large", "capable": "small"}, "tier": "frontier"}, [("frontier", "large")]),
    ],
)
def test_the_ladder_starts_at_the_agents_tier(agent: dict[str, Any], ladder: list[tuple[str, str]]) -> None:
    roster = {"adapters": ROSTER["adapters"], "agents": {"one": agent}}

    plan = compile_plan({"tasks": {"a": {"agent": "one", "instruction": "x"}}}, roster=roster)

    assert plan["tasks"]["a"]["ladder"] == [{"tier": tier, "adapter": adapter} for tier, adapter in ladder]


@pytest.mark.requirement("MANIFEST-ROSTER-002")
@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ({"adapter": "smal"}, ["F011"]),
        ({"adapters": {"cheap": "smal"}}, ["F011"]),
        ({"adapters": {"cheap": "small"}, "tier": "frontier"}, ["F014"]),
        ({}, ["F208"]),
    ],
)
def test_an_agents_adapters_must_be_in_the_roster(agent: dict[str, Any], expected: list[str]) -> None:
    roster = {"adapters": ROSTER["adapters"], "agents": ROSTER["agents"] | {"one": agent}}

    assert plan_finding_codes({"tasks": {"a": RUN}}, roster=roster) == expected


@pytest.mark.requirement("MANIFEST-ROSTER-002", "COMPILE-PURE-002")
def test_unordered_lists_are_sorted() -> None:
    agents = {"a": {"adapter": "small", "keywords": ["b", "a"]}}

    plan = compile_plan({"tasks": {"t": {"agent": "a", "instruction": "x"}}}, roster=ROSTER | {"agents": agents})

    assert plan["agents"]["a"]["keywords"] == ["a", "b"]
