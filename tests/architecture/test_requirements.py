"""Every requirement of the specification has a test that names it, and no test names one that is not there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
REQUIREMENT = re.compile(r"^\*\*([A-Z]+-[A-Z]+-[0-9]{3})\*\* ", re.MULTILINE)


def specified() -> list[str]:
    pages = sorted((ROOT / "docs" / "spec").glob("*.md"))
    return [found for page in pages for found in REQUIREMENT.findall(page.read_text(encoding="utf-8"))]


def named() -> Iterator[str]:
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
                yield from (ast.literal_eval(argument) for argument in node.args)


def test_a_requirement_has_one_place() -> None:
    found = specified()

    assert len(found) > 60
    assert sorted(found) == sorted(set(found))


def test_every_requirement_is_named_by_a_test() -> None:
    assert sorted(set(specified()) - set(named())) == []


def test_every_test_names_a_requirement_that_is_there() -> None:
    assert sorted(set(named()) - set(specified())) == []
