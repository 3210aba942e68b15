"""The reader of YAML and JSON: values, locations and limits."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from bundles import bundle_of
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.bundle import Bundle
from forum_runner.manifest.bundle_files import MAX_FILE_BYTES, DiskFiles
from forum_runner.manifest.yaml_reader import read_yaml

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def value_of(text: str, name: str = "file.yaml") -> Any:
    documents, findings = read_yaml(name, text)
    assert findings == []
    return documents[0].value


def findings_in(content: bytes | str, name: str = "file.yaml") -> list[tuple[str, int, int]]:
    bundle = bundle_of({name: content})
    bundle.open_path(name)
    return [(finding.code, finding.place.line, finding.place.column) for finding in bundle.findings]


@pytest.mark.requirement("MANIFEST-READ-002")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("1_000", "1_000"),
        ("0b1", "0b1"),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("+12", 12),
        ("0" * 5000 + "7", 7),
        ("0x" + "0" * 30 + "f", 15),
        ("0e5", 0),
        ("0.0", 0),
        ("-0", 0),
        ("1e3", 1000),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1),
        ("1.e2x", "1.e2x"),
        ("true", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("~", None),
        ("Null", None),
        ("", None),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("! 12", "12"),
        ("!!int 12", 12),
        ("!!float 1", 1),
        ("!!null ~", None),
        ("=", "="),
    ],
)
def test_scalars_follow_the_core_schema(text: str, value: Any) -> None:
    assert value_of(f"key: {text}") == {"key": value}
    assert type(value_of(f"key: {text}")["key"]) is type(value)


@pytest.mark.requirement("MANIFEST-READ-002")
def test_a_yaml_1_1_directive_changes_nothing() -> None:
    assert value_of("%YAML 1.1\n---\nkey: no\n") == {"key": "no"}


@pytest.mark.requirement("MANIFEST-READ-001")
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", [("F107", 1, 1)]),
        (b"# only a comment\n", [("F107", 1, 1)]),
        (b"\xef\xbb\xbfa: 1\n", [("F106", 1, 1)]),
        (b"a: 1\nb: \xff\n", [("F105", 2, 4)]),
        ("a: 1\nb: ä\N{BELL}x\n".replace("\N{BELL}", "\x07").encode(), [("F119", 2, 5)]),
        (b"a: \x00\n", [("F119", 1, 4)]),
    ],
)
def test_bytes_that_are_not_text_are_findings(content: bytes, expected: list[tuple[str, int, int]]) -> None:
    assert findings_in(content) == expected


@pytest.mark.requirement("MANIFEST-READ-001")
def test_each_reason_a_file_cannot_be_opened_has_its_own_finding(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "huge.yaml").write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    bundle = Bundle(DiskFiles(tmp_path))

    for name in ("none.yaml", "folder", "fifo", "huge.yaml", "folder/none.yaml", "a\0b", "n" * 300):
        bundle.open_path(name)

    assert [finding.code for finding in bundle.findings] == ["F101", "F102", "F103", "F104", "F101", "F103", "F103"]


@pytest.mark.requirement("MANIFEST-READ-003")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", [("F110", 3, 1)]),
        ("a: {b: 1, b: 2}\n", [("F110", 1, 11)]),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", [("F111", 3, 3)]),
        ("1: a\n", [("F116", 1, 1)]),
        ("null: a\n", [("F116", 1, 1)]),
        ("? [a]\n: b\n", [("F116", 1, 3)]),
        ("a: !!binary aGk=\n", [("F117", 1, 4)]),
        ("a: !!python/object:x.y {}\n", [("F117", 1, 4)]),
        ("a: !!int x\n", [("F117", 1, 4)]),
        ("a: !own [1]\n", [("F117", 1, 4)]),
        ("a: *nobody\n", [("F113", 1, 4)]),
        ("a: &a [*a]\n", [("F114", 1, 8)]),
        ("a:\n\tb: 1\n", [("F109", 2, 1)]),
        ("a: [1\n", [("F108", 2, 1)]),
        ("a: b: c\n", [("F108", 1, 5)]),
        ("a: 'x\n", [("F108", 2, 1)]),
    ],
)
def test_ambiguous_yaml_is_rejected_with_its_location(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert findings_in(text) == expected


@pytest.mark.requirement("MANIFEST-READ-003")
def test_a_quoted_merge_key_is_a_key_like_any_other() -> None:
    assert value_of("'<<': 1") == {"<<": 1}


@pytest.mark.requirement("MANIFEST-READ-002")
@pytest.mark.parametrize("name", ["file.yaml", "file.json"])
def test_only_line_feeds_and_carriage_returns_break_lines(name: str) -> None:
    text = '{"a": "x\x85y\u2028z\u2029\ue000",\r\n "b": 1,\r "a": 2}'

    documents, findings = read_yaml(name, text)

    assert documents[0].value["b"] == 1
    assert [(f.code, f.place.line, f.place.column) for f in findings] == [("F110", 3, 2)]
    assert value_of('{"a": "x\x85y\u2028z\u2029\ue000"}', name) == {"a": "x\x85y\u2028z\u2029\ue000"}


@pytest.mark.requirement("MANIFEST-READ-001")
def test_empty_documents_are_ignored() -> None:
    documents, findings = read_yaml("file.yaml", "---\n---\na: 1\n---\n# nothing\n---\n")

    assert [document.value for document in documents] == [{"a": 1}]
    assert findings == []


def test_a_key_that_is_not_a_string_is_one_finding_and_dropped() -> None:
    documents, findings = read_yaml("file.yaml", "a: 1\n? {b: c}\n: d\n2: e\n")

    assert documents[0].value == {"a": 1}
    assert [finding.code for finding in findings] == ["F116", "F116"]
    assert value_of('{"\\u0000": 1}') == {"\0": 1}


def test_an_error_does_not_hide_later_errors() -> None:
    assert findings_in("a: 1\na: 2\n1: x\nb: !own x\n") == [("F110", 2, 1), ("F116", 3, 1), ("F117", 4, 4)]


def test_documents_before_a_syntax_error_are_still_read() -> None:
    documents, findings = read_yaml("file.yaml", "a: 1\n---\nb: [\n")

    assert [document.value for document in documents] == [{"a": 1}]
    assert [finding.code for finding in findings] == ["F108"]


@pytest.mark.requirement("MANIFEST-READ-004")
@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_rejected_without_a_crash(opening: str) -> None:
    text = opening * 200_000

    assert [code for code, _, _ in findings_in(text)] == ["F115"]


@pytest.mark.requirement("MANIFEST-READ-004")
def test_nesting_of_64_levels_is_read() -> None:
    assert findings_in("[" * 64 + "]" * 64) == []
    assert [code for code, _, _ in findings_in("[" * 65 + "]" * 65)] == ["F115"]


@pytest.mark.requirement("MANIFEST-READ-004")
def test_nesting_through_aliases_counts() -> None:
    lines = ["a0: &a0 [1]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 70)]

    assert [code for code, _, _ in findings_in("\n".join(lines))] == ["F115"]


@pytest.mark.requirement("MANIFEST-READ-004")
def test_an_alias_bomb_is_rejected() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]

    assert [code for code, _, _ in findings_in("\n".join(lines))] == ["F112"]


@pytest.mark.requirement("MANIFEST-READ-004")
def test_the_alias_limit_depends_on_the_length_of_the_text() -> None:
    def text(length: int) -> str:
        return f"a: &a {'x' * length}\nb: [{', '.join(['*a'] * 2000)}]\n"

    assert findings_in(text(99)) == []
    assert [code for code, _, _ in findings_in(text(100_000))] == ["F112"]


@pytest.mark.requirement("MANIFEST-READ-005")
@pytest.mark.parametrize(
    "number",
    [
        "9007199254740992",
        "-9007199254740992",
        "1e400",
        "1e16",
        "1e-400",
        "9007199254740993.0",
        "0x" + "f" * 30,
        ".inf",
        "-.INF",
        ".nan",
        "9" * 5000,
    ],
)
def test_numbers_that_json_cannot_represent_are_rejected(number: str) -> None:
    assert findings_in(f"a: {number}\n") == [("F118", 1, 4)]


@pytest.mark.requirement("MANIFEST-READ-005")
def test_the_largest_integers_are_read() -> None:
    assert value_of("[9007199254740991, -9007199254740991]") == [2**53 - 1, 1 - 2**53]


@pytest.mark.requirement("MANIFEST-READ-006")
@given(JSON)
def test_written_json_is_read_back_unchanged(value: Any) -> None:
    text = json.dumps({"value": value})
    assume(len(max(text.split('"'), key=len)) <= 1000)  # YAML limits the length of keys to 1,024 characters

    assert value_of(text, "file.json") == {"value": value}


@pytest.mark.requirement("MANIFEST-READ-006")
def test_json_indented_with_tabs_is_read() -> None:
    assert value_of('{\n\t"a": [\n\t\t1\n\t]\n}', "file.json") == {"a": [1]}


@pytest.mark.requirement("MANIFEST-READ-006")
def test_a_lone_surrogate_is_rejected() -> None:
    assert [code for code, _, _ in findings_in('{"a": "\\ud800"}', "file.json")] == ["F108"]


PLAIN = st.recursive(
    st.booleans() | st.integers(-1000, 1000) | st.text("abc \n'\"#:-", max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_every_value_has_a_location(value: Any) -> None:
    text = yaml.safe_dump({"root": value}, default_flow_style=None)
    document = read_yaml("file.yaml", text)[0][0]
    lines = text.splitlines()

    def visit(item: Any, path: tuple[Any, ...]) -> None:
        place = document.origin(*path).place()
        assert 1 <= place.line <= len(lines)
        if isinstance(item, bool | int):
            assert lines[place.line - 1][place.column - 1 : place.end_column - 1] == str(item).lower()
        children = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        for key, child in children:
            visit(child, (*path, key))

    visit(document.value, ())


def test_a_message_is_one_printable_line() -> None:
    finding = ManifestFinding("F201", read_yaml("f", "a")[0][0].origin().place(), "a\nb\x1b[31m\u2028" + "x" * 1000)

    assert finding.message.startswith("a\ufffdb\ufffd[31m\ufffdxxx")
    assert len(finding.message) == 500
