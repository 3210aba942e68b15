"""A vector of `runs` that was derived from another differs from it in one thing."""

import json
from collections.abc import Iterator
from os.path import commonpath
from pathlib import Path
from typing import Any

from vector_generator.vector_files import VECTORS, read_cases, read_set

FILES = {path: data for path, data in read_set(VECTORS).items() if path.startswith("runs/")}
CASES = read_cases(FILES)
WORKFLOW = "bundle/workflow.json"
RUN_DIRECTORIES = ("before", "base", "cache")


def changes(id_: str) -> list[str]:
    """Return the changed members of the request, parts of the bundle, and run directories before the request."""
    case, origin = CASES[id_], CASES[CASES[id_]["derived_from"]]
    members = {name for name in case["request"].keys() | origin["request"].keys() if differ(case, origin, name)}
    own, original = files(case), files(origin)
    changed = {name for name in own.keys() | original.keys() if own.get(name) != original.get(name)}
    folders = {Path(name).parts[0] for name in changed}
    if WORKFLOW in changed:
        # A different workflow also changes the run directories.
        folders -= {"bundle", *RUN_DIRECTORIES}
        members.add(changed_part(json.loads(own[WORKFLOW]), json.loads(original[WORKFLOW])))
    return sorted(members | folders)


def differ(case: dict[str, Any], origin: dict[str, Any], member: str) -> bool:
    return bool(case["request"].get(member) != origin["request"].get(member))


def files(case: dict[str, Any]) -> dict[str, bytes]:
    """Return the files that the program sees, and the run directories before the request."""
    own = {
        path.removeprefix(f"{case['id']}/"): data for path, data in FILES.items() if path.startswith(f"{case['id']}/")
    }
    return {name: data for name, data in own.items() if name != "case.json" and not name.startswith("expected/")}


def changed_part(workflow: Any, origin: Any) -> str:
    """Return the smallest part of the workflow that contains all differences."""
    changed, original = dict(leaves(workflow)), dict(leaves(origin))
    paths = [path for path in changed.keys() | original.keys() if changed.get(path) != original.get(path)]
    return commonpath(paths)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, part in items:
            yield from leaves(part, f"{path}/{name}")
    else:
        yield path, value


def test_a_derived_vector_has_one_change() -> None:
    derived = [id_ for id_, case in CASES.items() if "derived_from" in case]

    assert len(derived) > 100
    assert {id_: changed for id_ in derived if len(changed := changes(id_)) != 1} == {}


def test_a_changed_workflow_differs_in_one_small_part() -> None:
    parts = {id_: changes(id_)[0] for id_, case in CASES.items() if "derived_from" in case}

    assert {id_: part for id_, part in parts.items() if part in ("/", "/plan", "/plan/tasks", "/script/answers")} == {}
