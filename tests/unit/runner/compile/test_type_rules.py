"""Type checks that need only schemas, before any value exists."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_runner.compile.type_rules import NoTarget, Type, incompatibility, select

CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}


@pytest.mark.requirement("COMPILE-TYPE-001")
@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"type": "string"}, {"string"}),
        ({"type": "number"}, {"integer", "fraction"}),
        ({"type": ["null", "integer"]}, {"null", "integer"}),
        ({"const": 1}, {"integer"}),
        ({"const": True}, {"boolean"}),
        ({"enum": ["a", 1.5, None]}, {"string", "fraction", "null"}),
        ({"type": "string", "enum": ["a", 1]}, {"string"}),
        ({"allOf": [{"type": ["string", "null"]}, {"type": ["null", "array"]}]}, {"null"}),
        ({"anyOf": [{"type": "string"}, {"const": 3}]}, {"string", "integer"}),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "array"}}}, {"array"}),
        (False, set()),
        ({"minimum": 3}, {"null", "boolean", "object", "array", "string", "integer", "fraction"}),
    ],
)
def test_kinds_come_from_type_const_enum_and_their_combinations(schema: Any, kinds: set[str]) -> None:
    assert Type.of(schema).kinds() == kinds


@pytest.mark.requirement("COMPILE-TYPE-001")
def test_a_recursive_schema_does_not_loop_forever() -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#"}}}
    loop = {"anyOf": [{"$ref": "#"}, {"type": "string"}]}

    assert isinstance(select(Type.of(tree), "/child/child/child"), Type)
    assert "string" in Type.of(loop).kinds()


@pytest.mark.requirement("COMPILE-TYPE-002")
@pytest.mark.parametrize(
    ("schema", "path", "can_have_target"),
    [
        ({"type": "string"}, "/a", False),
        ({"type": "string"}, "", True),
        (CLOSED, "/a", True),
        (CLOSED, "/b", False),
        (CLOSED, "/a/b", False),
        (CLOSED | {"patternProperties": {"^b": True}}, "/b", True),
        ({"type": "object"}, "/b/c/0", True),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "/b/c", False),
        ({"type": "array", "items": CLOSED}, "/0/a", True),
        ({"type": "array", "items": CLOSED}, "/0/b", False),
        ({"type": "array"}, "/a", False),
        ({"type": "array"}, "/-", False),
        ({"type": "array"}, "/01", False),
        ({"type": "array", "maxItems": 2}, "/2", False),
        ({"type": "array", "prefixItems": [True], "items": False}, "/1", False),
        ({"type": ["array", "object"]}, "/x", True),
        ({"type": ["object", "null"], "additionalProperties": False}, "/x", False),
        ({}, "/x/y", True),
        (
            {"type": "object", "properties": {"a/b~": {"type": "string"}}, "additionalProperties": False},
            "/a~1b~0",
            True,
        ),
    ],
)
def test_a_pointer_is_accepted_unless_it_can_never_have_a_target(schema: Any, path: str, can_have_target: bool) -> None:
    assert isinstance(select(Type.of(schema), path), Type) is can_have_target


@pytest.mark.requirement("COMPILE-TYPE-003")
@pytest.mark.parametrize(
    ("delivered", "expected", "are_compatible"),
    [
        ({"type": "string"}, {"type": "array"}, False),
        ({"type": "integer"}, {"type": "number"}, True),
        ({"type": "number"}, {"type": "integer"}, True),
        ({"const": 1.5}, {"type": "integer"}, False),
        ({"enum": ["a", "b"]}, {"const": "c"}, False),
        ({"enum": ["a", "b"]}, {"enum": ["b", "c"]}, True),
        ({"const": True}, {"const": 1}, False),
        ({"allOf": [{"enum": [1, 2]}, {"enum": [2, 3]}]}, {"const": 1}, False),
        ({"allOf": [{"enum": [1, 2]}, {"enum": [2, 3]}]}, {"const": 3}, False),
        ({"allOf": [{"enum": [1, 2]}, {"enum": [2, 3]}]}, {"const": 2}, True),
        ({"type": "object"}, {"required": ["a"]}, True),
        (CLOSED, {"type": "object", "required": ["b"]}, False),
        (CLOSED, {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}, False),
        (CLOSED, {"type": "object", "properties": {"a": {"type": "integer"}}}, True),
        ({"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {"type": "integer"}}, True),
        ({}, {"type": "string"}, True),
    ],
)
def test_types_are_compatible_unless_they_can_never_agree(delivered: Any, expected: Any, are_compatible: bool) -> None:
    assert (incompatibility("log", Type.of(delivered), Type.of(expected)) is None) is are_compatible


@pytest.mark.parametrize(
    ("schema", "path", "message"),
    [
        ({"type": "string"}, "/a", "'/a' does not exist in the output of 'log': the output is a string"),
        (CLOSED, "/a/0", "'/a/0' does not exist in the output of 'log': '/a' is a string"),
        (CLOSED, "/b/c", "'/b' does not exist in the output of 'log': the output has no property 'b'"),
        (
            {"type": "array", "items": {"type": "array", "maxItems": 1}},
            "/0/1",
            "'/0/1' does not exist in the output of 'log': '/0' has at most 1 item",
        ),
        (
            {"type": "array"},
            "/first",
            "'/first' does not exist in the output of 'log': the output is a list, and 'first' is not an index",
        ),
        ({"type": "number"}, "/a", "'/a' does not exist in the output of 'log': the output is a number"),
    ],
)
def test_the_reason_names_the_value_that_cannot_contain_the_target(schema: Any, path: str, message: str) -> None:
    found = select(Type.of(schema), path)

    assert isinstance(found, NoTarget)
    assert found.sentence("the output of 'log'") == message


@pytest.mark.parametrize(
    ("delivered", "expected", "message"),
    [
        ({"type": "string"}, {"type": "array"}, "'log' delivers a string, but a list is expected"),
        ({"const": 1.5}, {"type": "integer"}, "'log' delivers a non-integer number, but an integer is expected"),
        ({"type": "null"}, {"type": ["number", "string"]}, "'log' delivers null, but a number or a string is expected"),
        (False, {"type": "string"}, "'log' delivers no value, but a string is expected"),
        ({"enum": ["a", "b"]}, {"const": "c"}, "'log' can deliver none of the expected values"),
        (CLOSED, {"type": "object", "required": ["b"]}, "'log' never delivers '/b', which is required"),
        (
            {"type": "object", "properties": {"x": CLOSED}},
            {"required": ["x"], "type": "object", "properties": {"x": {"required": ["b"], "type": "object"}}},
            "'log' never delivers '/x/b', which is required",
        ),
        (
            CLOSED,
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}},
            "'log' delivers a string at '/a', but an integer is expected",
        ),
    ],
)
def test_an_incompatibility_is_a_whole_sentence(delivered: Any, expected: Any, message: str) -> None:
    assert incompatibility("log", Type.of(delivered), Type.of(expected)) == message


@pytest.mark.requirement("COMPILE-TYPE-002", "COMPILE-TYPE-003")
def test_a_record_of_types_is_a_closed_object() -> None:
    record = Type.record({"a": Type.of({"$ref": "#/$defs/t", "$defs": {"t": {"type": "string"}}})})

    assert isinstance(select(record, "/b"), NoTarget)
    selected = select(record, "/a")
    assert isinstance(selected, Type) and selected.kinds() == {"string"}
    assert Type.list_of(record, 2).kinds() == {"array"}
    assert isinstance(select(Type.list_of(record, 2), "/2"), NoTarget)


SCHEMAS = st.recursive(
    st.sampled_from(
        [True, {}, {"type": "string"}, {"type": "integer"}, {"type": "null"}, {"const": 1}, {"enum": ["a", 2]}]
    ),
    lambda inner: st.one_of(
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
        st.builds(lambda a, b: {"allOf": [a, b]}, inner, inner),
        st.builds(lambda a: {"type": "array", "items": a}, inner),
        st.builds(
            lambda a, r, c: {"type": "object", "properties": {"a": a}, "required": r, "additionalProperties": c},
            inner,
            st.sampled_from([[], ["a"], ["b"]]),
            st.booleans(),
        ),
    ),
    max_leaves=5,
)
VALUES = st.recursive(
    st.sampled_from([None, True, 1, 2, 1.5, "a", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=5,
)


@pytest.mark.requirement("COMPILE-TYPE-003")
@given(SCHEMAS, SCHEMAS, VALUES)
def test_no_value_matches_two_incompatible_types(first: Any, second: Any, value: Any) -> None:
    if incompatibility("log", Type.of(first), Type.of(second)) is not None:
        both = jsonschema.Draft202012Validator({"allOf": [first, second]})

        assert not both.is_valid(value)
