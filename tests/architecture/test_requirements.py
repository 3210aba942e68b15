"""Every requirement of the specification has a test that names it, and vectors or a reason for having none."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from vector_generator import vectors_page
from vector_generator.uncovered_requirements import UNCOVERED
from vector_generator.vector_files import VECTORS, read_cases, read_set

ROOT = Path(__file__).parents[2]
REQUIREMENT = re.compile(r"^\*\*([A-Z]+-[A-Z]+-[0-9]{3})\*\* ", re.MULTILINE)


def specified_ids() -> list[str]:
    pages = sorted((ROOT / "docs" / "spec").glob("*.md"))
    return [id_ for page in pages for id_ in REQUIREMENT.findall(page.read_text(encoding="utf-8"))]


def ids_named_by_tests() -> Iterator[str]:
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
                yield from (ast.literal_eval(argument) for argument in node.args)


def test_a_requirement_is_specified_once() -> None:
    ids = specified_ids()

    assert len(ids) > 60
    assert sorted(ids) == sorted(set(ids))


def test_every_requirement_is_named_by_a_test() -> None:
    assert sorted(set(specified_ids()) - set(ids_named_by_tests())) == []


def test_tests_name_only_specified_requirements() -> None:
    assert sorted(set(ids_named_by_tests()) - set(specified_ids())) == []


def documented_gaps() -> list[tuple[str, str]]:
    """Return pairs of a requirement and the vectors that it lacks for a documented reason."""
    return sorted((id_, entry.lacks) for entry in UNCOVERED for id_ in entry.requirements.split())


def test_every_requirement_has_vectors_or_a_reason() -> None:
    gaps = sorted(vectors_page.gaps(read_cases(read_set(VECTORS))))

    assert [gap for gap in gaps if gap not in documented_gaps()] == []


def test_no_reason_is_given_for_a_requirement_with_vectors() -> None:
    gaps = sorted(vectors_page.gaps(read_cases(read_set(VECTORS))))

    assert [gap for gap in documented_gaps() if gap not in gaps] == []
    assert len(documented_gaps()) == len(set(documented_gaps()))


def test_the_page_of_vectors_is_up_to_date() -> None:
    assert vectors_page.PAGE.read_text(encoding="utf-8") == vectors_page.page(read_cases(read_set(VECTORS)))
