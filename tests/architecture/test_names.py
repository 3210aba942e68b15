"""Public class names are unique in the runner and the adapters, so that a name alone identifies a class."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_two_public_classes_share_a_name() -> None:
    files_by_class: defaultdict[str, list[str]] = defaultdict(list)
    for folder in ("runner", "adapters"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    files_by_class[node.name].append(str(path.relative_to(ROOT)))

    assert {name: files for name, files in files_by_class.items() if len(files) > 1} == {}
