"""The wave plan document."""

import hashlib
import json
from typing import Any

import pytest
import rfc8785

from bundles import ROSTER, as_bytes, bundle_of, compile_files, compile_plan, plan_finding_codes, workflow
from forum_runner.compile.compiler import CompileOptions, check_file, compile_workflow
from forum_runner.finding import exit_code_of
from forum_runner.manifest.workflow import InputValue

RUN = {"agent": "operator", "run": ["true"]}
ASK = {"agent": "critic", "instruction": "Look."}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.requirement("COMPILE-WRITE-001", "COMPILE-WRITE-002")
def test_the_wave_plan_is_canonical_and_contains_its_digest() -> None:
    adapters = ROSTER["adapters"] | {
        "small": {"type": "openai", "base_url": "http://localhost/v1", "model": "ü", "temperature": 0.1}
    }
    files = {"workflow.yaml": workflow({"tasks": {"a": RUN, "b": ASK}}, roster=ROSTER | {"adapters": adapters})}

    result = compile_files(files)

    assert result.wave_plan is not None and result.data is not None, result.findings
    document = json.loads(result.data)
    assert result.data == rfc8785.dumps(document)
    without_digests = {name: value for name, value in document.items() if name not in ("bundle", "digest")}
    assert document["digest"] == sha256(rfc8785.dumps(without_digests))
    raw = as_bytes(files["workflow.yaml"])
    assert document["bundle"] == [{"path": "workflow.yaml", "digest": sha256(raw), "bytes": len(raw)}]


@pytest.mark.requirement("COMPILE-PURE-002")
def test_comments_quotes_and_style_change_only_the_file_digests() -> None:
    plain = workflow({"tasks": {"a": RUN}})
    styled = "# a comment\n" + json.dumps(plain, indent=3).replace('"operator"', "operator")

    first, second = compile_files({"workflow.yaml": plain}), compile_files({"workflow.yaml": styled})

    assert first.wave_plan is not None and second.wave_plan is not None
    assert first.wave_plan["digest"] == second.wave_plan["digest"]
    assert first.wave_plan["bundle"] != second.wave_plan["bundle"]


@pytest.mark.requirement("COMPILE-WRITE-003", "MANIFEST-SCHEMA-002")
def test_each_schema_is_stored_once_under_its_digest_without_outside_references() -> None:
    note: Any = {
        "type": "object",
        "properties": {"kind": {"$ref": "sub/kinds.json#/$defs/kind"}, "next": {"$ref": "#"}},
    }
    kinds: Any = {"$defs": {"kind": {"enum": ["a", "b"]}, "self": {"$ref": "../note.json"}}}
    typed = {**RUN, "output": {"$ref": "note.json"}}
    files = {"workflow.yaml": workflow({"tasks": {"a": typed, "b": typed}}), "note.json": note, "sub/kinds.json": kinds}

    result = compile_files(files)

    assert result.wave_plan is not None, result.findings
    schemas = result.wave_plan["schemas"]
    schema = {
        "$ref": "#/$defs/file:note.json",
        "$defs": {
            "file:note.json": {
                "type": "object",
                "properties": {
                    "kind": {"$ref": "#/$defs/file:sub~1kinds.json/$defs/kind"},
                    "next": {"$ref": "#/$defs/file:note.json"},
                },
            },
            "file:sub/kinds.json": {
                "$defs": {"kind": {"enum": ["a", "b"]}, "self": {"$ref": "#/$defs/file:note.json"}}
            },
        },
    }
    assert schemas == {sha256(rfc8785.dumps(schema)): schema}  # type: ignore[arg-type]
    assert {result.wave_plan["tasks"][name]["output"] for name in ("a", "b")} == set(schemas)
    assert [item["path"] for item in result.wave_plan["bundle"]] == ["note.json", "sub/kinds.json", "workflow.yaml"]


@pytest.mark.requirement("COMPILE-WRITE-003")
def test_identical_schema_files_with_different_references_stay_separate() -> None:
    typed = {**RUN, "output": {"properties": {"s": {"$ref": "a/x.json"}, "i": {"$ref": "b/x.json"}}}}
    files = {"workflow.yaml": workflow({"tasks": {"t": typed}})} | {
        f"{folder}/{name}.json": content
        for folder, kind in (("a", "string"), ("b", "integer"))
        for name, content in (("x", {"$ref": "y.json"}), ("y", {"type": kind}))
    }

    result = compile_files(files)

    assert result.wave_plan is not None, result.findings
    definitions = next(iter(result.wave_plan["schemas"].values()))["$defs"]
    assert definitions["file:a/y.json"] == {"type": "string"}
    assert definitions["file:b/y.json"] == {"type": "integer"}


@pytest.mark.requirement("MANIFEST-SCHEMA-001")
@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "strng"}, ["F401"]),
        ({"minimum": "x"}, ["F401"]),
        ({"pattern": "("}, ["F401"]),
        ({"properties": {"a": {"typ": "string"}}}, ["F402"]),
        ({"x-note": 1}, []),
        ({"$id": "https://example.com/x"}, ["F403"]),
        ({"$anchor": "x"}, ["F403"]),
        ({"$defs": {"file:x": True}}, ["F403"]),
        ({"description": "${{ inputs.x }}"}, ["F019"]),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, ["F403"]),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, []),
        ({"properties": {"typ": True}}, []),
        (True, []),
    ],
)
def test_user_schemas_are_checked(schema: Any, expected: list[str]) -> None:
    assert plan_finding_codes({"tasks": {"a": {**RUN, "output": schema}}}) == expected


@pytest.mark.requirement("MANIFEST-SCHEMA-002")
@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("#/$defs/a", []),
        ("other.json", []),
        ("other.json#/$defs/b", []),
        ("#/$defs/none", ["F405"]),
        ("#/allOf/00", ["F405"]),
        ("#/allOf/" + "0" * 5000, ["F405"]),
        ("other.json#/$defs/none", ["F405"]),
        ("#anchor", ["F405"]),
        ("none.json", ["F101"]),
        ("../other.json", ["F404"]),
        ("https://example.com/schema.json", ["F404"]),
        ("#/$defs/loop", ["F123"]),
        ("loop.json", ["F123"]),
    ],
)
def test_schema_references_must_resolve_inside_the_bundle(ref: str, expected: list[str]) -> None:
    schema = {"$ref": ref, "$defs": {"a": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"}}}
    if ref != "#/$defs/loop":
        del schema["$defs"]["loop"]  # type: ignore[attr-defined]
    files = {
        "workflow.yaml": workflow({"tasks": {"a": {**RUN, "output": schema}}}),
        "other.json": {"$defs": {"b": {"type": "string"}}},
        "loop.json": {"$ref": "back.json"},
        "back.json": {"$ref": "loop.json"},
    }

    codes = [f.code for f in compile_files(files).findings]

    assert sorted(set(codes)) == expected


@pytest.mark.requirement("COMPILE-WRITE-004")
def test_only_reachable_agents_and_adapters_are_written() -> None:
    by_agent = compile_plan({"tasks": {"a": {"agent": "writer", "instruction": "x", "accept": [{"agent": "critic"}]}}})
    escalating = compile_plan({"tasks": {"a": {"agent": "writer", "instruction": "x", "escalate": ["frontier"]}}})
    policy = {"allow": {"agents": ["writer", "critic"], "adapters": ["small", "large"]}}
    routed = compile_plan({"tasks": {"a": {"lane": "auto", "instruction": "x"}}}, policy=policy)

    def reachable(plan: Any) -> Any:
        return {name: agent["adapters"] for name, agent in plan["agents"].items()}, sorted(plan["adapters"])

    assert reachable(by_agent) == ({"critic": {"capable": "small"}, "writer": {"cheap": "small"}}, ["small"])
    assert reachable(escalating) == ({"writer": {"cheap": "small", "frontier": "large"}}, ["large", "small"])
    both = {"critic": {"capable": "small"}, "writer": {"cheap": "small", "frontier": "large"}}
    assert reachable(routed) == (both, ["large", "small"])
    narrow = {"allow": {"adapters": ["small"]}}
    restricted = compile_plan({"tasks": {"a": {"lane": "auto", "instruction": "x"}}}, policy=narrow)
    assert reachable(restricted) == ({"critic": {"capable": "small"}, "writer": {"cheap": "small"}}, ["small"])
    escalating_task = {"lane": "auto", "instruction": "x", "escalate": ["frontier"]}
    assert plan_finding_codes({"tasks": {"a": escalating_task}}, policy=narrow) == ["F502"]


@pytest.mark.requirement("COMPILE-WRITE-005", "COMPILE-INPUT-003", "MANIFEST-TEXT-001", "MANIFEST-TEXT-002")
def test_texts_are_split_into_parts_with_known_values_filled_in() -> None:
    plan = {
        "inputs": {"v": {"default": "1"}, "n": {"default": {"b": 1, "a": [True]}}, "key": {"secret": True}},
        "tasks": {
            "up": RUN,
            "a": {
                "agent": "operator",
                "run": [
                    "true",
                    "v${{inputs.v}}.${{  inputs.n  }}",
                    "${{ inputs.key }}",
                    "${{ run.id }}",
                    "$${{ x }} $$${{ y }}",
                    "",
                ],
                "needs": ["up"],
                "gate": {"question": "Go with ${{ needs.up }}${{ inputs.v }}?"},
            },
        },
    }

    task = compile_plan(plan)["tasks"]["a"]

    assert task["run"] == [
        ["true"],
        ['v1.{"a":[true],"b":1}'],
        [{"secret": "key"}],
        [{"run": "id"}],
        ["${{ x }} $${{ y }}"],
        [],
    ]
    assert task["gate"]["question"] == ["Go with ", {"need": "up"}, "1?"]


@pytest.mark.requirement("MANIFEST-TEXT-001", "MANIFEST-TEXT-003")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${{ inputs.x }}", ["F020"]),
        ("${{ matrix.x }}", ["F020"]),
        ("${{ needs.x }}", ["F020"]),
        ("${{ run.name }}", ["F020"]),
        ("${{ env.HOME }}", ["F019"]),
        ("${{ inputs.a.b }}", ["F019"]),
        ("${{ inputs.a || 1 }}", ["F019"]),
        ("${{ }}", ["F019"]),
        ("${{ inputs.a", ["F019"]),
        ("$ {{ inputs.a }} and {{ x }} and $x", []),
    ],
)
def test_references_must_name_an_existing_value(text: str, expected: list[str]) -> None:
    assert plan_finding_codes({"tasks": {"a": {"agent": "critic", "instruction": text}}}) == expected


@pytest.mark.requirement("MANIFEST-TEXT-001")
def test_an_unclosed_reference_is_reported_where_it_starts() -> None:
    plan = {
        "inputs": {"x": {"default": "1"}},
        "tasks": {"a": {**ASK, "instruction": "use ${{ inputs.x }} and ${{ inputs.x"}},
    }
    text = json.dumps(workflow(plan))

    finding = compile_files({"workflow.yaml": text}).findings[0]

    assert (finding.code, finding.place.column) == ("F019", text.rindex("${{") + 1)


@pytest.mark.requirement("COMPILE-WRITE-006")
def test_edges_and_checks_are_written_in_a_fixed_order() -> None:
    last = {
        **ASK,
        "needs": ["z", {"task": "b", "edge": "order"}, {"task": "a", "edge": "order"}, {"task": "a", "as": "m"}],
        "accept": [
            {"agent": "writer"},
            {"command": ["true", "1"]},
            {"schema": {"minLength": 1}},
            {"command": ["true", "2"]},
        ],
    }

    task = compile_plan({"tasks": {"a": RUN, "b": RUN, "z": RUN, "last": last}})["tasks"]["last"]

    assert [edge.get("task") or edge["as"] for edge in task["needs"]] == ["a", "b", "m", "z"]
    assert [next(iter(check)) for check in task["accept"]] == ["schema", "command", "command", "agent"]
    assert [check["command"][1] for check in task["accept"][1:3]] == [["1"], ["2"]]
    assert sorted(task) == ["accept", "agent", "instruction", "ladder", "needs"]


@pytest.mark.requirement("COMPILE-INPUT-001")
def test_command_line_inputs_override_the_workflow_which_overrides_the_plan() -> None:
    plan = {"inputs": {n: {"type": "string", "default": "plan"} for n in "abc"}, "tasks": {"t": RUN}}
    files = {"workflow.yaml": workflow(plan, inputs={"a": "workflow", "b": "workflow"})}

    result = compile_files(files, inputs={"a": "command"})

    assert result.wave_plan is not None, result.findings
    values = {name: item["value"] for name, item in result.wave_plan["inputs"].items()}
    assert values == {"a": "command", "b": "workflow", "c": "plan"}


@pytest.mark.requirement("COMPILE-INPUT-001")
@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "1.10", "1.10"),
        ({"type": ["string", "integer"]}, "3", "3"),
        ({"type": "integer"}, "3", 3),
        ({"type": "boolean"}, "true", True),
        ({"type": "array"}, "[1, a]", [1, "a"]),
        ({"type": "object"}, "{a: 1}", {"a": 1}),
    ],
)
def test_input_text_is_converted_to_the_type_in_the_schema(schema: Any, text: str, value: Any) -> None:
    bundle = bundle_of({"workflow.yaml": workflow({"inputs": {"x": schema}, "tasks": {"t": RUN}})})
    inputs = {"x": InputValue(text, is_text=True)}

    result = compile_workflow(bundle, "workflow.yaml", None, CompileOptions(inputs, require_all_inputs=True))

    assert result.wave_plan is not None, result.findings
    assert result.wave_plan["inputs"]["x"]["value"] == value


@pytest.mark.requirement("COMPILE-INPUT-002")
def test_an_input_without_a_value_can_be_checked_but_not_compiled() -> None:
    files = {
        "workflow.yaml": workflow(
            {"inputs": {"x": {"type": "string"}}, "tasks": {"t": {**RUN, "run": ["true", "${{ inputs.x }}"]}}}
        )
    }

    assert [f.code for f in compile_files(files).findings] == ["F016"]
    assert check_file(bundle_of(files), "workflow.yaml", None, {}).findings == ()


@pytest.mark.requirement("COMPILE-FIND-001", "COMPILE-FIND-002", "COMPILE-FIND-003")
def test_all_findings_are_reported_in_order_and_an_error_yields_no_plan() -> None:
    tasks = {
        "c": {"agent": "nobody"},
        "b": {"agent": "operator", "run": ["rm"]},
        "a": {"agnt": "critic"},
        "d": ASK | {"cache": 1},
    }
    plan = {"tasks": tasks, "outputs": {"x": "c"}}

    result = compile_files({"workflow.yaml": json.dumps(workflow(plan), indent=1)})

    locations = [(f.place.line, f.place.column, f.code) for f in result.findings]
    assert locations == sorted(locations)
    assert {"F012", "F201", "F202", "F503", "F303"} <= {code for _, _, code in locations}
    assert (result.wave_plan, result.data) == (None, None)
    assert exit_code_of(result.findings) == 2


@pytest.mark.requirement("COMPILE-FIND-003")
def test_warnings_alone_still_yield_a_plan_and_exit_code_0() -> None:
    result = compile_files({"workflow.yaml": workflow({"tasks": {"a": RUN, "b": RUN}, "outputs": {"x": "a"}})})

    assert [(f.code, str(f.severity)) for f in result.findings] == [("F303", "warning")]
    assert result.wave_plan is not None
    assert exit_code_of(result.findings) == 0
