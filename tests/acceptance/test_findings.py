"""Every code has a case that breaks only its rule, and a section that explains it.

A case is a folder in `findings/` with a bundle and an `expected.json`: the findings and the exit code of `forum check`,
or of `forum compile` if `compile` is true. It may name the file to check (`path`) and the values of inputs (`inputs`).
Bundles that are awkward to keep in a repository (pipes, links, huge or badly encoded files) are written by a builder.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

import forum_runner
from forum_runner.api import Inputs
from forum_runner.app.workflows import check, compile_file
from forum_runner.explanations import Explanation, explanations
from forum_runner.finding import ManifestFinding, exit_code_of

HERE = Path(__file__).parent
SOURCE = Path(forum_runner.__file__).parent
FOLDERS = sorted(path for path in (HERE / "findings").iterdir() if path.is_dir())
CODE = re.compile(r'"(F[0-9]{3})"')

Expected = dict[str, Any]

WORKFLOW = """\
apiVersion: forum/v1
kind: Workflow
metadata: {name: case}
roster:
  adapters: {script: {type: scripted}}
  agents: {writer: {adapter: script}}
policy: {}
plan:
  tasks:
    draft: {agent: writer, instruction: Write.}
"""
WORKFLOW_WITH_PLAN_FILE = WORKFLOW[: WORKFLOW.index("plan:")] + "plan: plan.yaml\n"
PLAN = """\
apiVersion: forum/v1
kind: Plan
metadata: {name: plan}
tasks:
  draft: {agent: writer, instruction: Write.}
"""


def in_expected_form(findings: Iterable[ManifestFinding], folder: Path) -> list[Expected]:
    """Convert findings to the form of `expected.json`."""
    result = []
    for finding in findings:
        place = finding.place
        file = place.file.removeprefix(f"{folder.as_posix()}/")
        document = {"code": finding.code, "file": file, "line": place.line, "column": place.column}
        document["message"] = finding.message
        result.append(document | ({"hint": finding.hint} if finding.hint is not None else {}))
    return result


def expected_finding(
    code: str, line: int, column: int, message: str, hint: str | None = None, file: str = "workflow.yaml"
) -> Expected:
    document = {"code": code, "file": file, "line": line, "column": column, "message": message}
    return document | ({"hint": hint} if hint is not None else {})


def build_pipe(folder: Path) -> list[Expected]:
    (folder / "workflow.yaml").write_text(WORKFLOW_WITH_PLAN_FILE)
    os.mkfifo(folder / "plan.yaml")
    return [expected_finding("F103", 8, 7, "'plan.yaml' is not a regular file")]


def build_link_cycle(folder: Path) -> list[Expected]:
    (folder / "workflow.yaml").write_text(WORKFLOW_WITH_PLAN_FILE)
    (folder / "plan.yaml").symlink_to("plan.yaml")
    return [expected_finding("F103", 8, 7, "'plan.yaml' cannot be read: Too many levels of symbolic links")]


def build_huge_file(folder: Path) -> list[Expected]:
    (folder / "workflow.yaml").write_text(WORKFLOW_WITH_PLAN_FILE)
    with (folder / "plan.yaml").open("wb") as stream:
        stream.truncate(16 * 2**20 + 1)
    return [expected_finding("F104", 8, 7, "'plan.yaml' is larger than 16 MiB")]


def build_latin_1(folder: Path) -> list[Expected]:
    (folder / "workflow.yaml").write_bytes(WORKFLOW.replace("Write.", "Erzähle.").encode("latin-1"))
    return [expected_finding("F105", 10, 44, "invalid UTF-8: byte 0xe4", "save the file as UTF-8")]


def build_byte_order_mark(folder: Path) -> list[Expected]:
    (folder / "workflow.yaml").write_text(WORKFLOW, encoding="utf-8-sig")
    return [expected_finding("F106", 1, 1, "the file starts with a byte order mark", "save it as UTF-8 without a BOM")]


def build_bell(folder: Path) -> list[Expected]:
    (folder / "workflow.yaml").write_text(WORKFLOW.replace("Write.", '"Ring \a."'))
    return [
        expected_finding(
            "F119",
            10,
            47,
            "character U+0007 is not allowed in a manifest",
            "write it as an escape sequence in a double-quoted string",
        )
    ]


def build_link_out_of_the_bundle(folder: Path) -> list[Expected]:
    outside = folder.with_name(folder.name + "-outside")
    outside.mkdir()
    (outside / "plan.yaml").write_text(PLAN)
    (folder / "workflow.yaml").write_text(WORKFLOW_WITH_PLAN_FILE)
    (folder / "plan.yaml").symlink_to(outside / "plan.yaml")
    return [
        expected_finding(
            "F121", 8, 7, "'plan.yaml' is a link to a file outside the bundle", "copy the file into the bundle"
        )
    ]


def build_seventeen_plans(folder: Path) -> list[Expected]:
    (folder / "workflow.yaml").write_text(WORKFLOW_WITH_PLAN_FILE.replace("plan.yaml", "plan-1.yaml"))
    for number in range(1, 17):
        task = f"  next: {{uses: plan-{number + 1}.yaml}}\n"
        (folder / f"plan-{number}.yaml").write_text(PLAN[: PLAN.index("  draft")] + task)
    (folder / "plan-17.yaml").write_text(PLAN)
    return [expected_finding("F709", 5, 16, "plans are nested more than 16 levels deep", file="plan-16.yaml")]


BUILDERS: dict[str, Callable[[Path], list[Expected]]] = {
    "F103-pipe": build_pipe,
    "F103-link-cycle": build_link_cycle,
    "F104-huge-file": build_huge_file,
    "F105-latin-1": build_latin_1,
    "F106-byte-order-mark": build_byte_order_mark,
    "F119-bell": build_bell,
    "F121-link-out-of-the-bundle": build_link_out_of_the_bundle,
    "F709-seventeen-plans": build_seventeen_plans,
}


def codes_in_source() -> list[str]:
    sources = (path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    return sorted({code for source in sources for code in CODE.findall(source)})


@pytest.mark.requirement("COMPILE-FIND-002")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_bundle_that_breaks_one_rule_yields_its_finding(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    path = f"{folder.as_posix()}/{expected.get('path', 'workflow.yaml')}"
    inputs = Inputs(expected.get("inputs", {}))

    if expected.get("compile", False):
        findings = compile_file(path, None, inputs).report.findings
    else:
        findings = check([path], None, inputs).findings

    assert in_expected_form(findings, folder) == expected["findings"]
    assert exit_code_of(findings) == expected["exit"]


@pytest.mark.requirement("COMPILE-FIND-002")
@pytest.mark.parametrize("name", BUILDERS)
def test_a_generated_bundle_yields_its_finding(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    expected = BUILDERS[name](folder)

    findings = check([str(folder / "workflow.yaml")], None, Inputs()).findings

    assert in_expected_form(findings, folder) == expected
    assert [finding["code"] for finding in expected] == [name[:4]]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_case_is_named_for_the_rule_that_it_breaks(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))

    assert [finding["code"] for finding in expected["findings"]] == [folder.name[:4]]


def test_a_case_gives_the_same_findings_from_any_folder(tmp_path: Path) -> None:
    folder = HERE / "findings" / "F012-unknown-agent"
    copy = Path(shutil.copytree(folder, tmp_path / "elsewhere"))

    here = in_expected_form(check([str(folder / "workflow.yaml")], None, Inputs()).findings, folder)
    there = in_expected_form(check([str(copy / "workflow.yaml")], None, Inputs()).findings, copy)

    assert here == there


def test_every_code_has_a_case() -> None:
    cases = {folder.name[:4] for folder in FOLDERS} | {name[:4] for name in BUILDERS}

    assert sorted(cases) == codes_in_source()


@pytest.mark.requirement("COMPILE-CODE-001")
def test_every_code_is_explained_once_and_in_order() -> None:
    text = (SOURCE / "explanations.md").read_text(encoding="utf-8")

    assert re.findall(r"^## (\S+)", text, re.MULTILINE) == codes_in_source()
    assert [code for code in explanations() if code.startswith("F")] == codes_in_source()


@pytest.mark.parametrize("explanation", explanations().values(), ids=lambda explanation: explanation.code)
def test_an_explanation_is_well_formed(explanation: Explanation) -> None:
    """An explanation has a short title, a few sentences, and pairs of a wrong and a right fragment."""
    prose, *fragments = re.split(r"\n\n(Wrong|Right):\n\n```yaml\n(.*?)\n```", explanation.text, flags=re.DOTALL)

    assert re.fullmatch(r"[a-z][^.]{2,48}", explanation.title)
    assert prose.endswith(".") and "```" not in prose and ":\n\n" not in prose
    assert "".join(fragments[2::3]).strip() == ""
    assert fragments[0::3] == ["Wrong", "Right"] * (len(fragments) // 6)
    assert all(yaml.safe_load(right) is not None for right in fragments[4::6])


def test_explanations_fit_a_terminal() -> None:
    lines = (SOURCE / "explanations.md").read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if len(line) > 100] == []


@pytest.mark.requirement("COMPILE-FIND-001")
def test_many_mistakes_in_one_file_are_all_reported_in_order() -> None:
    path = HERE / "many-findings" / "workflow.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()

    findings = check([str(path)], None, Inputs()).findings

    assert [(f.place.line, f.place.column, f.code) for f in findings] == EXPECTED_LOCATIONS
    assert all(f"# {f.code} " in lines[f.place.line - 1] for f in findings)
    assert len({f.code for f in findings}) >= 40
    assert exit_code_of(findings) == 2


EXPECTED_LOCATIONS = [
    (2, 13, "F001"),
    (4, 18, "F205"),
    (5, 1, "F201"),
    (9, 37, "F202"),
    (12, 17, "F504"),
    (14, 20, "F505"),
    (15, 5, "F203"),
    (20, 23, "F011"),
    (21, 21, "F014"),
    (23, 17, "F206"),
    (24, 13, "F204"),
    (25, 18, "F603"),
    (27, 41, "F506"),
    (28, 21, "F210"),
    (30, 3, "F015"),
    (31, 10, "F018"),
    (34, 38, "F017"),
    (36, 18, "F401"),
    (37, 14, "F402"),
    (38, 13, "F403"),
    (39, 19, "F404"),
    (40, 18, "F405"),
    (41, 18, "F123"),
    (43, 22, "F012"),
    (44, 56, "F013"),
    (45, 48, "F019"),
    (46, 50, "F020"),
    (48, 5, "F110"),
    (49, 43, "F113"),
    (50, 5, "F116"),
    (51, 42, "F117"),
    (52, 65, "F118"),
    (53, 60, "F207"),
    (54, 5, "F208"),
    (55, 5, "F209"),
    (56, 49, "F211"),
    (57, 51, "F212"),
    (59, 55, "F301"),
    (60, 56, "F302"),
    (61, 85, "F304"),
    (62, 63, "F305"),
    (63, 62, "F306"),
    (64, 79, "F307"),
    (65, 5, "F308"),
    (66, 5, "F309"),
    (67, 30, "F310"),
    (68, 50, "F312"),
    (69, 73, "F313"),
    (70, 65, "F315"),
    (73, 81, "F406"),
    (74, 74, "F407"),
    (75, 64, "F408"),
    (76, 38, "F503"),
    (77, 68, "F501"),
    (78, 65, "F601"),
    (79, 48, "F701"),
    (80, 68, "F703"),
    (81, 70, "F704"),
    (82, 21, "F101"),
    (83, 21, "F120"),
    (84, 21, "F122"),
    (86, 12, "F013"),
]
