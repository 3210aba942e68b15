"""Reports of results in every format."""

import json
import re
from collections import Counter
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from forum_conformance.results.badges import badge_files
from forum_conformance.results.document import SuiteRun, SuiteVersion, json_lines, suite_document
from forum_conformance.results.expected_failures import expected_failures_text
from forum_conformance.results.html import results_html
from forum_conformance.results.junit import results_junit
from forum_conformance.results.summary import find_objections
from forum_conformance.results.text import results_text
from forum_conformance.schemas import schema
from forum_conformance.suite.case import parse_case
from forum_conformance.suite.client import Reply
from forum_conformance.suite.difference import Difference
from forum_conformance.suite.result import Result, State, VectorOutcome, abandoned_difference, assign_states
from suites.tiny_set import verify_case
from unit.conformance.suite.cases import DIFFERENCE, outcome_of, reply

HOSTILE = "\x1b[31m\x00\ud800<script>alert(1)</script>&]]>\ufffe"
HOSTILE_IN_JSON = "\\u001b[31m\\u0000<U+D800><script>alert(1)</script>&]]><U+FFFE>"
RERUN_COMMAND = "forum-conformance test --entrypoint './verifier --quiet' --serve --role verify --filter ledger/bad"
SUITE_VERSION = SuiteVersion("1.2.3", "ab" * 32, "2026-01-02T03:04:05Z")
SUITE_RUN = SuiteRun("./verifier --quiet", ("--serve",), SUITE_VERSION)


def ledger(name: str, level: int, *differences: Difference) -> VectorOutcome:
    case = parse_case(verify_case(f"ledger/{name}", level=level), {})
    answer = {"protocol": 1, "verdict": "valid", "message": HOSTILE}
    return VectorOutcome(case, {"input": "run"}, {"verdict": "valid"}, Reply(answer, None, 0, 7, HOSTILE), differences)


def results() -> list[Result]:
    """Return one result of each state."""
    refused = reply(None, status=33, problem=DIFFERENCE)
    outcomes = [
        ledger("good", 1),
        ledger("bad", 2, Difference("codes", '["L201"]', HOSTILE)),
        ledger("known", 3, DIFFERENCE),
        ledger("better", 4),
        outcome_of("canonical/no", "canonicalize", reply("unsupported"), DIFFERENCE),
        outcome_of("proofs/a", "prove", refused, DIFFERENCE),
        outcome_of("proofs/b", "prove", None),
    ]
    return assign_states(outcomes, {"ledger/known": "bodies are not read", "ledger/better": "seals are not read"})


STATES = Counter(
    ["passed", "failed", "expected failure", "unexpected pass", "unsupported", "not offered", "not offered"]
)


def test_the_results_are_one_of_each_state() -> None:
    assert Counter(result.state.value for result in results()) == STATES


def test_each_line_of_jsonl_matches_its_schema() -> None:
    validator = jsonschema.Draft202012Validator(schema("conformance-result.schema.json"))

    lines = json_lines(results(), SUITE_RUN).splitlines()

    documents = [json.loads(line) for line in lines]
    for document in documents:
        validator.validate(document)
    assert [document["id"] for document in documents] == sorted(document["id"] for document in documents)
    assert documents[1] == {
        "format": 1,
        "id": "ledger/bad",
        "title": "The title of ledger/bad.",
        "role": "verify",
        "level": 2,
        "requirements": ["LEDGER-LINE-005"],
        "state": "failed",
        "reason": None,
        "differences": [{"place": "codes", "expected": '["L201"]', "came": HOSTILE}],
        "request": {"input": "run"},
        "expected": {"verdict": "valid"},
        "answer": {"protocol": 1, "verdict": "valid", "message": HOSTILE},
        "exit_status": 0,
        "duration_ms": 7,
        "stderr": HOSTILE,
        "again": RERUN_COMMAND,
    }


def test_the_whole_document_counts_by_role_and_level() -> None:
    objections = find_objections(results(), ())

    document = suite_document(results(), SUITE_RUN, objections, was_interrupted=False)

    assert (document["passed"], document["objections"]) == (False, objections)
    assert document["suite"] == {"version": "1.2.3", "manifest_sha256": "ab" * 32, "at": "2026-01-02T03:04:05Z"}
    tallies = {(tally["role"], tally["level"]): tally["counts"]["passed"] for tally in document["tallies"]}
    assert tallies == {
        ("canonicalize", None): 0,
        ("verify", None): 1,
        ("verify", 1): 1,
        ("verify", 2): 0,
        ("verify", 3): 0,
        ("verify", 4): 0,
        ("prove", None): 0,
    }


def test_text_shows_the_request_the_difference_the_requirement_and_the_command_to_run_it_again() -> None:
    bad = [result for result in results() if result.case.id == "ledger/bad"]

    assert results_text(bad, SUITE_RUN, find_objections(bad, ()), total=1).splitlines() == [
        "failed ledger/bad: The title of ledger/bad.",
        '  request     verify {"input": "run"}',
        "  differs     codes",
        '              expected ["L201"]',
        "              got      <U+001B>[31m<U+0000><U+D800><script>alert(1)</script>&]]><U+FFFE>",
        f'  answer      {{"protocol": 1, "verdict": "valid", "message": "{HOSTILE_IN_JSON}"}}',
        "  required by LEDGER-LINE-005, docs/spec/ledger.md",
        "  stderr      <U+001B>[31m<U+0000><U+D800><script>alert(1)</script>&]]><U+FFFE>",
        f"  run again   {RERUN_COMMAND}",
        "",
        "                      passed  failed  unsupported  expected failures",
        "verify                     0       1            0                  0",
        "  level 2 chain            0       1            0                  0",
        "not passed: 1 vector failed",
    ]


def test_text_counts_every_role() -> None:
    *_, heading, canonicalize, verify, one, two, three, four, prove, conclusion = results_text(
        results(), SUITE_RUN, find_objections(results(), ()), total=7
    ).splitlines()

    assert [re.split(r"  +", line.strip()) for line in (canonicalize, verify, one, two, three, four, prove)] == [
        ["canonicalize", "0", "0", "1", "0"],
        ["verify", "1", "2", "0", "1"],
        ["level 1 bytes", "1", "0", "0", "0"],
        ["level 2 chain", "0", "1", "0", "0"],
        ["level 3 bodies", "0", "0", "0", "1"],
        ["level 4 semantics", "0", "1", "0", "0"],
        ["prove", "not offered"],
    ]
    assert heading.split() == ["passed", "failed", "unsupported", "expected", "failures"]
    assert conclusion.startswith("not passed: 1 vector failed; 1 vector unsupported; ")


@pytest.mark.parametrize(
    ("ids", "total", "conclusion"),
    [
        (["ledger/good"], 1, "passed: 1 of 1 vectors"),
        (
            ["ledger/good", "ledger/known", "proofs/a", "proofs/b"],
            4,
            "passed: 1 of 4 vectors, 1 failed as expected, 2 of roles that are not offered",
        ),
        (["ledger/good"], 9, "interrupted: 1 of 9 vectors were run"),
    ],
)
def test_the_last_line_of_text_is_the_conclusion(ids: list[str], total: int, conclusion: str) -> None:
    selected = [result for result in results() if result.case.id in ids]

    assert results_text(selected, SUITE_RUN, find_objections(selected, ()), total=total).splitlines()[-1] == conclusion


def test_junit_has_a_suite_per_area_and_skips_expected_failures() -> None:
    top = ElementTree.fromstring(results_junit(results(), SUITE_RUN))  # noqa: S314 - our own

    suites = {suite.get("name"): suite.attrib for suite in top}
    assert top.attrib == {
        "name": "forum-conformance",
        "tests": "7",
        "failures": "3",
        "errors": "0",
        "skipped": "3",
        "time": "0.042",
    }
    assert {name: (suite["tests"], suite["failures"], suite["skipped"]) for name, suite in suites.items()} == {
        "canonical": ("1", "1", "0"),
        "ledger": ("4", "2", "1"),
        "proofs": ("2", "0", "2"),
    }
    cases = {f"{case.get('classname')}.{case.get('name')}": case for case in top.iter("testcase")}
    assert len(cases) == 7
    failure = cases["forum.ledger.bad"].find("failure")
    assert failure is not None and failure.get("message") == "failed: codes is not as expected"
    assert failure.text and "required by LEDGER-LINE-005, docs/spec/ledger.md" in failure.text
    skipped = [case.find("skipped") for case in (cases["forum.ledger.known"], cases["forum.proofs.b"])]
    assert [element.get("message") for element in skipped if element is not None] == [
        "expected failure: bodies are not read",
        "the role prove is not offered",
    ]


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def states(self, tag: str) -> list[str | None]:
        return [attributes.get("data-state") for name, attributes in self.elements if name == tag]


def page(selected: list[Result], total: int = 7) -> Page:
    return Page(results_html(selected, SUITE_RUN, find_objections(selected, ()), total=total))


def test_the_page_is_well_formed_with_every_vector_and_a_filter_per_state() -> None:
    parsed = page(results())

    assert parsed.open == []
    assert Counter(parsed.states("details")) == STATES
    assert parsed.states("button") == ["", *State]


def test_the_page_expands_failures() -> None:
    opened = [attributes["data-state"] for tag, attributes in page(results()).elements if "open" in attributes]

    assert sorted(filter(None, opened)) == ["failed", "unexpected pass", "unsupported"]


def test_the_page_is_self_contained_and_escapes_output_of_the_program() -> None:
    text = results_html(results(), SUITE_RUN, [], total=7)
    parsed = Page(text)

    assert [tag for tag, _ in parsed.elements if tag in ("script", "link", "img", "iframe")] == ["script"]
    assert not {"src", "href"} & {name for _, attributes in parsed.elements for name in attributes}
    assert "http://" not in text and "https://" not in text
    assert "\x1b" not in text and "\x00" not in text
    text.encode()


def test_the_page_reports_an_interruption() -> None:
    assert any("Interrupted: 1 of 7 vectors were run." in text for text in page(results()[1:2]).texts)


def test_the_page_shows_the_time_and_the_version_of_the_suite() -> None:
    text = "".join(page(results()).texts)

    assert "Run at 2026-01-02T03:04:05Z with forum-conformance 1.2.3" in text
    assert "ab" * 32 in text


def test_the_page_can_be_searched() -> None:
    searches = [attributes["type"] for tag, attributes in page(results()).elements if tag == "input"]

    assert searches == ["search"]
    assert 'search.addEventListener("input", show)' in results_html(results(), SUITE_RUN, [], total=7)


def test_many_failures_are_shortened_to_a_line_each() -> None:
    many = assign_states([ledger(f"v{number:03}", 2, DIFFERENCE) for number in range(300)], {})

    lines = results_text(many, SUITE_RUN, find_objections(many, ()), total=300).splitlines()

    assert sum(line.startswith("  run again") for line in lines) == 20
    assert sum(line.startswith("failed ledger/") for line in lines) == 220
    assert "failed ledger/v020: verdict" in lines
    assert "and 80 more; --jsonl FILE and --html FILE write all of them in full" in lines
    assert lines[-1] == "not passed: 300 vectors failed"


def test_vectors_that_were_not_run_are_reported_once() -> None:
    difference = abandoned_difference(DIFFERENCE, 20)
    many = assign_states([outcome_of(f"ledger/v{number}", "verify", None, difference) for number in range(9)], {})

    text = results_text(many, SUITE_RUN, find_objections(many, ()), total=9)

    assert "failed ledger/v1" not in text
    assert text.splitlines()[-1] == (
        "not passed: 9 vectors of verify not run: the first 20 vectors of the role all failed in the same way: "
        'verdict: "invalid"'
    )


def test_expected_failures_have_the_difference_as_reason_and_keep_existing_reasons() -> None:
    reasons = {"ledger/known": "bodies are not read", "ledger/better": "seals are not read", "runs/later": "not run"}

    assert expected_failures_text(results(), reasons).splitlines() == [
        "canonical/no: unsupported",
        'ledger/bad: codes: expected ["L201"], got <U+001B>[31m<U+0000><U+D800><script>alert(1)</script>&]]><U+FFFE>',
        "ledger/known: bodies are not read",
        "runs/later: not run",
    ]


def only_level_1(*differences: Difference) -> list[Result]:
    return assign_states([ledger("one", 1), ledger("four", 4, *differences)], {})


def test_vectors_of_other_levels_are_counted_separately() -> None:
    suite_run = SuiteRun("./verifier", (), SUITE_VERSION, frozenset({1, 2}))

    lines = results_text(only_level_1(), suite_run, [], total=2).splitlines()

    assert [re.split(r"  +", line.strip())[:3] for line in lines[1:-1]] == [
        ["verify levels 1,2", "1", "0"],
        ["level 1 bytes", "1", "0"],
        ["other levels", "1", "0"],
    ]
    assert lines[-1] == "passed: 1 of 1 vectors, and 1 of other levels"


def test_a_badge_counts_the_requested_levels_and_is_red_if_a_vector_of_another_level_failed() -> None:
    good, bad = (badge_files(chosen, frozenset({1, 2})) for chosen in (only_level_1(), only_level_1(DIFFERENCE)))

    assert [badge(files, "verify")["message"] for files in (good, bad)] == ["1 of 1", "1 of 1"]
    assert [badge(files, "verify")["color"] for files in (good, bad)] == ["brightgreen", "red"]
    assert sorted(name for name in good if name.endswith(".json")) == ["verify-level-1.json", "verify.json"]


def badge(files: dict[str, str], name: str) -> Any:
    return json.loads(files[f"{name}.json"])


def test_there_is_a_badge_for_each_role_and_level() -> None:
    files = badge_files(results(), None)

    assert badge(files, "verify-level-1") == {
        "schemaVersion": 1,
        "label": "forum verify level 1 bytes",
        "message": "1 of 1",
        "color": "brightgreen",
    }
    colors = {name: badge(files, name)["color"] for name in (file.partition(".")[0] for file in files)}
    assert colors == {
        "canonicalize": "red",
        "verify": "red",
        "verify-level-1": "brightgreen",
        "verify-level-2": "red",
        "verify-level-3": "yellow",
        "verify-level-4": "red",
        "prove": "lightgrey",
    }
    assert badge(files, "prove")["message"] == "not offered"


def test_a_badge_is_an_svg_with_its_text() -> None:
    picture = ElementTree.fromstring(badge_files(results(), None)["verify-level-3.svg"])  # noqa: S314 - our own

    space = "{http://www.w3.org/2000/svg}"
    assert picture.tag == f"{space}svg"
    assert [text.text for text in picture.iter(f"{space}text")] == ["forum verify level 3 bodies", "0 of 1"]


def test_a_level_that_was_not_requested_has_no_badge() -> None:
    files = badge_files(results(), frozenset({3}))

    assert [name for name in files if name.endswith(".json")] == [
        "canonicalize.json",
        "verify.json",
        "verify-level-1.json",
        "verify-level-2.json",
        "verify-level-3.json",
        "prove.json",
    ]
    assert badge(files, "verify")["label"] == "forum verify levels 1,2,3"
