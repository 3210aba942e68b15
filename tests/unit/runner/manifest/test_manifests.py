"""Manifests are located, checked against their schemas, and assembled into a workflow."""

from pathlib import Path
from typing import Any

import pytest

from bundles import POLICY, ROSTER, as_bytes, compile_files, finding_codes, plan_manifest, workflow
from forum_runner.compile.compiler import check_file
from forum_runner.manifest.bundle import Bundle
from forum_runner.manifest.bundle_files import DiskFiles
from forum_runner.manifest.units import format_duration, format_usd, parse_duration, parse_usd

WORK: dict[str, Any] = {"agent": "operator", "run": ["true"]}
PLAN: dict[str, Any] = {"tasks": {"work": WORK}}
HEAD = {"apiVersion": "forum/v1", "kind": "Workflow", "metadata": {"name": "test"}}
ROSTER_MANIFEST = {"apiVersion": "forum/v1", "kind": "Roster", "metadata": {"name": "team"}, **ROSTER}
POLICY_MANIFEST = {"apiVersion": "forum/v1", "kind": "Policy", "metadata": {"name": "rules"}, **POLICY}


def documents(*manifests: Any) -> bytes:
    return b"\n---\n".join(map(as_bytes, manifests))


def waves(files: dict[str, Any]) -> Any:
    result = compile_files(files)
    assert result.wave_plan is not None, result.findings
    return result.wave_plan["waves"]


@pytest.mark.requirement("MANIFEST-DOC-001")
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"apiVersion": "forum/v2"}, ["F001"]),
        ({"kind": "Workflwo"}, ["F002"]),
        ({"apiVersion": None}, ["F202"]),
        ({"metadata": {}}, ["F203"]),
    ],
)
def test_a_manifest_declares_its_version_kind_and_name(change: dict[str, Any], expected: list[str]) -> None:
    assert finding_codes({"workflow.yaml": workflow(PLAN) | change}) == expected


@pytest.mark.requirement("MANIFEST-DOC-001")
def test_the_finding_for_an_unknown_version_names_the_known_ones() -> None:
    result = compile_files({"workflow.yaml": workflow(PLAN) | {"apiVersion": "forum/v2"}})

    assert result.findings[0].hint == "this version of forum supports 'forum/v1'"


@pytest.mark.requirement("MANIFEST-DOC-001")
@pytest.mark.parametrize("content", ["[1]", "text", "12", "~"])
def test_a_document_that_is_not_a_mapping_is_one_finding(content: str) -> None:
    assert finding_codes({"workflow.yaml": content}) == ["F202"]


@pytest.mark.requirement("MANIFEST-DOC-002", "MANIFEST-WORKFLOW-001")
def test_documents_in_one_file_find_each_other() -> None:
    content = documents(POLICY_MANIFEST, plan_manifest(**PLAN), HEAD, ROSTER_MANIFEST)

    assert waves({"workflow.yaml": content}) == [["work"]]


@pytest.mark.requirement("MANIFEST-DOC-002")
def test_a_name_selects_one_document_of_several() -> None:
    plans = documents(plan_manifest("one", tasks={"a": WORK}), plan_manifest("two", tasks={"b": WORK}))
    main = workflow("plans.yaml#two")  # type: ignore[arg-type]

    assert waves({"workflow.yaml": main, "plans.yaml": plans}) == [["b"]]
    assert finding_codes({"workflow.yaml": workflow("plans.yaml"), "plans.yaml": plans}) == ["F004"]  # type: ignore[arg-type]
    assert finding_codes({"workflow.yaml": workflow("plans.yaml#no"), "plans.yaml": plans}) == ["F005"]  # type: ignore[arg-type]


@pytest.mark.requirement("MANIFEST-DOC-002")
def test_two_plans_next_to_a_workflow_that_names_neither_are_a_finding() -> None:
    content = documents(
        HEAD, ROSTER_MANIFEST, POLICY_MANIFEST, plan_manifest("one", **PLAN), plan_manifest("two", **PLAN)
    )

    assert finding_codes({"workflow.yaml": content}) == ["F004"]


@pytest.mark.requirement("MANIFEST-DOC-002")
def test_an_input_file_must_contain_one_document() -> None:
    plan = PLAN | {"inputs": {"a": {"type": "integer"}}}
    files = {"workflow.yaml": workflow(plan, inputs="in.yaml"), "in.yaml": "a: 1\n---\na: 2\n"}

    assert finding_codes(files) == ["F124"]


@pytest.mark.requirement("MANIFEST-DOC-003")
def test_x_fields_have_no_effect() -> None:
    user_fields = {"x-note": {"anything": [1]}}
    policy = POLICY | user_fields | {"allow": POLICY["allow"] | user_fields}
    roster = {
        "adapters": {name: adapter | user_fields for name, adapter in ROSTER["adapters"].items()},
        "agents": {name: agent | user_fields for name, agent in ROSTER["agents"].items()},
    }
    plain = compile_files({"workflow.yaml": workflow(PLAN)})
    annotated = compile_files(
        {
            "workflow.yaml": workflow(
                {"tasks": {"work": WORK | user_fields}, **user_fields}, roster=roster, policy=policy
            )
            | user_fields
        }
    )

    assert plain.wave_plan is not None and annotated.wave_plan is not None, annotated.findings
    assert annotated.wave_plan["digest"] == plain.wave_plan["digest"]


@pytest.mark.requirement("MANIFEST-DOC-003")
def test_a_misspelled_field_is_read_as_the_suggested_one() -> None:
    """One mistake is one finding: the value of the field is still checked, with its location."""
    result = compile_files({"workflow.yaml": workflow({"tasks": {"work": {"agnet": "opertor", "run": ["true"]}}})})

    assert [finding.code for finding in result.findings] == ["F201", "F012"]
    assert [finding.hint for finding in result.findings] == ["did you mean 'agent'?", "did you mean 'operator'?"]


@pytest.mark.requirement("MANIFEST-DOC-003")
def test_a_literal_api_key_is_not_treated_as_a_variable_name() -> None:
    adapter = {"type": "openai", "base_url": "http://127.0.0.1/v1", "model": "m", "api_key": "hunter2"}
    roster = {"adapters": {"m": adapter}, "agents": {"critic": {"adapter": "m"}}}
    plan = {"tasks": {"work": {"agent": "critic", "instruction": "x"}}}

    result = compile_files({"workflow.yaml": workflow(plan, roster=roster)})

    assert [(finding.code, finding.hint) for finding in result.findings] == [("F201", "did you mean 'api_key_env'?")]
    assert "hunter2" not in "".join(finding.message for finding in result.findings)


@pytest.mark.requirement("MANIFEST-DOC-004")
@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ({"agent": 3}, ["F202"]),
        ({"agent": "critic", "instruction": "x", "gate": {}}, ["F211"]),
        ({"agent": "critic", "instruction": "x", "foreach": {"task": "work", "as": "i"}}, ["F212", "F408"]),
        (WORK | {"escalate": ["best"]}, ["F204"]),
        (WORK | {"budget": {"wall": "soon"}}, ["F205"]),
        (WORK | {"budget": {"calls": 0}}, ["F206"]),
        (WORK | {"done_when": []}, ["F207"]),
        ({"agent": "operator", "lane": "auto", "run": ["true"]}, ["F208"]),
        (WORK | {"with": {"a b": 1}}, ["F209"]),
        (WORK | {"accept": [{}]}, ["F208"]),
    ],
)
def test_each_schema_violation_is_one_finding(task: dict[str, Any], expected: list[str]) -> None:
    codes = finding_codes({"workflow.yaml": workflow({"tasks": {"work": WORK, "other": task}})})

    assert [code for code in codes if code != "F312"] == expected


@pytest.mark.requirement("MANIFEST-DOC-004")
def test_an_empty_name_is_one_finding_regardless_of_its_value() -> None:
    assert finding_codes({"workflow.yaml": workflow({"tasks": {"work": WORK, "": {"nedds": 1, "agent": 3}}})}) == [
        "F209"
    ]
    assert finding_codes({"workflow.yaml": workflow(PLAN) | {"": 1}}) == ["F201"]


@pytest.mark.requirement("MANIFEST-DOC-004")
def test_a_list_with_a_duplicate_is_a_finding() -> None:
    assert finding_codes({"workflow.yaml": workflow(PLAN, policy={"allow": {"commands": ["true", "true"]}})}) == [
        "F210"
    ]


@pytest.mark.requirement("MANIFEST-PATH-001")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("sub/../plan.yaml", []),
        ("./plan.yaml", []),
        ("none.yaml", ["F101"]),
        ("../plan.yaml", ["F120"]),
        ("sub/../../plan.yaml", ["F120"]),
        ("https://example.com/plan.yaml", ["F122"]),
        ("file:///plan.yaml", ["F122"]),
        ("/plan.yaml", ["F122"]),
        ("sub\\plan.yaml", ["F122"]),
        ("forum:default/policy.yaml", ["F122"]),
        ("./forum:default/policy.yaml", ["F122"]),
    ],
)
def test_paths_must_stay_inside_the_bundle(path: str, expected: list[str]) -> None:
    files = {"workflow.yaml": workflow(path), "plan.yaml": plan_manifest(**PLAN)}  # type: ignore[arg-type]

    assert finding_codes(files) == expected


@pytest.mark.requirement("MANIFEST-DOC-002")
def test_a_hash_in_a_path_is_part_of_it_unless_a_name_follows() -> None:
    files = {"workflow.yaml": workflow("d #1/plan.yaml#inner"), "d #1/plan.yaml": plan_manifest(**PLAN)}  # type: ignore[arg-type]

    assert waves(files) == [["work"]]
    assert waves(files | {"workflow.yaml": workflow("d #1/plan.yaml")}) == [["work"]]  # type: ignore[arg-type]


@pytest.mark.requirement("MANIFEST-PATH-001")
def test_paths_are_relative_to_the_file_that_contains_them() -> None:
    used = {"use": {"uses": "../other.yaml"}}
    files = {
        "workflow.yaml": workflow("sub/plan.yaml"),  # type: ignore[arg-type]
        "sub/plan.yaml": plan_manifest("outer", tasks=used),
        "other.yaml": plan_manifest("inner", **PLAN),
    }

    assert waves(files) == [["use/work"]]


@pytest.mark.requirement("MANIFEST-PATH-001")
def test_a_symlink_may_point_inside_the_bundle_and_not_outside(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "plan.yaml").write_bytes(as_bytes(plan_manifest(**PLAN)))
    (root / "real.yaml").write_bytes(as_bytes(plan_manifest(**PLAN)))
    (root / "inside.yaml").symlink_to("real.yaml")
    (root / "outside.yaml").symlink_to("../plan.yaml")
    (root / "loop.yaml").symlink_to("loop.yaml")

    codes = {}
    for name in ("inside", "outside", "loop"):
        (root / "workflow.yaml").write_bytes(as_bytes(workflow(f"{name}.yaml")))  # type: ignore[arg-type]
        result = check_file(Bundle(DiskFiles(root)), "workflow.yaml", None, {})
        codes[name] = [finding.code for finding in result.findings]

    assert codes == {"inside": [], "outside": ["F121"], "loop": ["F103"]}


@pytest.mark.requirement("MANIFEST-PATH-002", "MANIFEST-WORKFLOW-001")
def test_omitted_parts_are_the_defaults() -> None:
    plan = {"tasks": {"work": {"agent": "operator", "run": ["git", "version"]}}}
    omitted = compile_files({"workflow.yaml": HEAD | {"plan": plan}})
    named = compile_files({"workflow.yaml": HEAD | {"plan": plan, "roster": "default", "policy": "default"}})

    assert omitted.wave_plan is not None and named.wave_plan is not None, omitted.findings
    assert [item["path"] for item in omitted.wave_plan["bundle"]] == [
        "forum:default/policy.yaml",
        "forum:default/roster.yaml",
        "workflow.yaml",
    ]
    assert omitted.wave_plan["digest"] == named.wave_plan["digest"]


@pytest.mark.requirement("MANIFEST-WORKFLOW-001")
@pytest.mark.parametrize(("change", "expected"), [({"plan": "default"}, ["F005"]), ({"script": "default"}, ["F005"])])
def test_there_is_no_default_plan_or_script(change: dict[str, Any], expected: list[str]) -> None:
    assert finding_codes({"workflow.yaml": workflow(PLAN) | change}) == expected


@pytest.mark.requirement("MANIFEST-WORKFLOW-001")
def test_a_workflow_without_a_plan_is_a_finding() -> None:
    assert finding_codes({"workflow.yaml": HEAD}) == ["F203"]


@pytest.mark.requirement("MANIFEST-WORKFLOW-002", "MANIFEST-INPUT-001")
def test_inputs_may_be_inline_or_in_a_file() -> None:
    plan = PLAN | {"inputs": {"a": {"type": "integer", "default": 1}}}

    def value(inputs: Any) -> Any:
        result = compile_files({"workflow.yaml": workflow(plan, inputs=inputs), "in.json": {"a": 3}})
        assert result.wave_plan is not None, result.findings
        return result.wave_plan["inputs"]["a"]["value"]

    assert [value({"a": 2}), value("in.json"), value("default"), value({})] == [2, 3, 1, 1]


@pytest.mark.requirement("MANIFEST-INPUT-001")
@pytest.mark.parametrize(
    ("inputs", "expected"), [({"b": 1}, ["F015"]), ({"a": "x"}, ["F017"]), ("workflow.yaml", None)]
)
def test_inputs_must_be_declared_and_match_their_schema(inputs: Any, expected: list[str] | None) -> None:
    plan = PLAN | {"inputs": {"a": {"type": "integer", "default": 1}}}
    codes = finding_codes({"workflow.yaml": workflow(plan, inputs=inputs)})

    assert codes == expected if expected is not None else set(codes) == {"F015"}


@pytest.mark.requirement("MANIFEST-INPUT-001")
def test_a_default_must_match_its_own_schema() -> None:
    assert finding_codes(
        {"workflow.yaml": workflow(PLAN | {"inputs": {"a": {"type": "integer", "default": "x"}}})}
    ) == ["F017"]


@pytest.mark.requirement("MANIFEST-SECRET-001")
def test_a_manifest_must_not_contain_a_secret() -> None:
    secret: dict[str, Any] = {"inputs": {"key": {"type": "string", "secret": True}}}
    inner = plan_manifest(tasks={"work": WORK}, **secret)
    default = {"inputs": {"key": {"type": "string", "secret": True, "default": "x"}}}

    assert finding_codes({"workflow.yaml": workflow(PLAN | default)}) == ["F018"]
    assert finding_codes({"workflow.yaml": workflow(PLAN | secret, inputs={"key": "x"})}) == ["F018"]
    used = {"tasks": {"use": {"uses": "inner.yaml", "with": {"key": "x"}}}}
    assert finding_codes({"workflow.yaml": workflow(used), "inner.yaml": inner}) == ["F018"]


@pytest.mark.requirement("MANIFEST-SCRIPT-001")
def test_a_script_must_name_existing_tasks_and_agents() -> None:
    listed = WORK | {"output": {"type": "array"}}
    each = WORK | {"foreach": {"task": "listed", "as": "x", "max": 2}}
    plan = {"tasks": {"work": WORK, "many": WORK | {"matrix": {"n": [1, 2]}}, "listed": listed, "each": each}}

    def answer_codes(**answer: str) -> list[str]:
        return finding_codes({"workflow.yaml": workflow(plan, script={"answers": [{"output": "x", **answer}]})})

    assert answer_codes(task="work", agent="operator") == []
    assert answer_codes(task="many[n=1]") == []
    assert answer_codes(task="many[n=3]") == ["F013"]
    assert answer_codes(task="work[n=1]") == ["F013"]
    assert answer_codes(task="nowhere/work") == ["F013"]
    assert answer_codes(task="work[") == ["F013"]
    assert answer_codes(task="each[0]") == []
    assert answer_codes(task="work[0]") == ["F013"]
    assert answer_codes(task="wrok") == ["F013"]
    assert answer_codes(agent="opertor") == ["F012"]


@pytest.mark.requirement("MANIFEST-UNIT-001")
def test_durations_are_converted_to_milliseconds() -> None:
    durations = {"0s": 0, "250ms": 250, "90s": 90_000, "2m": 120_000, "24h": 86_400_000, "1d": 86_400_000}

    assert {text: parse_duration(text) for text in durations} == durations
    assert [format_duration(ms) for ms in (0, 1500, 90_000, 86_400_000)] == ["0ms", "1500ms", "90s", "1d"]


@pytest.mark.requirement("MANIFEST-UNIT-001")
@pytest.mark.parametrize("duration", ["1", "1.5s", "-1s", "1 s", "01s", "1w", "1234567s"])
def test_invalid_durations_are_rejected(duration: str) -> None:
    assert finding_codes({"workflow.yaml": workflow({"tasks": {"work": WORK | {"budget": {"wall": duration}}}})}) == [
        "F205"
    ]


@pytest.mark.requirement("MANIFEST-UNIT-002")
def test_amounts_of_money_are_exact() -> None:
    amounts = {
        "0": 0,
        "0.1": 100_000,
        "0.10": 100_000,
        "12.000001": 12_000_001,
        "999999999.999999": 999_999_999_999_999,
    }

    assert {text: parse_usd(text) for text in amounts} == amounts
    assert [format_usd(amount) for amount in (0, 100_000, 12_000_001)] == ["$0.00", "$0.10", "$12.000001"]


@pytest.mark.requirement("MANIFEST-UNIT-002")
@pytest.mark.parametrize(
    ("money", "expected"), [(0.1, ["F202"]), (1, ["F202"]), ("1.1234567", ["F205"]), ("$1", ["F205"])]
)
def test_invalid_amounts_of_money_are_rejected(money: Any, expected: list[str]) -> None:
    assert (
        finding_codes({"workflow.yaml": workflow({"tasks": {"work": WORK | {"budget": {"usd": money}}}})}) == expected
    )
