"""How a run was started, as far as its ledger does not say: a later process needs it to resume the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from forum_runner.errors import UsageError

INVOCATION = "invocation.json"


@dataclass(frozen=True, slots=True)
class Invocation:
    """`workflow` is a path from `root`. `answers` come from the script; `script` is its file if the workflow does not
    name it.

    `inputs`, `inputs_file`, `selected` and `engine` are those of the request, without secrets. `answers_from` and
    `base` are directories of earlier runs: one whose answers are used, and one whose results are reused, for the
    tasks `among`, or for all.
    """

    root: Path
    workflow: str
    answers: Sequence[Mapping[str, Any]] | None = None
    script: Path | None = None
    answers_from: Path | None = None
    base: Path | None = None
    among: frozenset[str] | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    inputs_file: Path | None = None
    selected: Mapping[str, Sequence[str]] = field(default_factory=dict)
    engine: str | None = None

    def encoded(self) -> bytes:
        paths = {"root": self.root, "script": self.script, "answers_from": self.answers_from, "base": self.base}
        paths["inputs_file"] = self.inputs_file
        written = {name: None if path is None else str(path) for name, path in paths.items()}
        among = None if self.among is None else sorted(self.among)
        form: dict[str, Any] = {**written, "among": among, "workflow": self.workflow, "answers": self.answers}
        form["engine"] = self.engine
        form |= {"inputs": dict(self.inputs), "selected": {name: list(tasks) for name, tasks in self.selected.items()}}
        return json.dumps(form, indent=1, ensure_ascii=False).encode()


def read_invocation(directory: Path) -> Invocation:
    path = directory / INVOCATION
    try:
        form = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        hint = "copy it from the original run, and use --root if its files have moved"
        raise UsageError(f"'{directory}' has no {INVOCATION}, which says how the run was started; {hint}") from None
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"'{path}' was altered: it is not JSON: {error}") from error
    if (fault := _fault_of(form)) is not None:
        raise UsageError(f"'{path}' was altered: {fault}")
    script, answers_from, base, inputs_file = (_path(form[name]) for name in _PATHS)
    among = None if form["among"] is None else frozenset(form["among"])
    return Invocation(
        Path(form["root"]), form["workflow"], form["answers"], script, answers_from, base, among,
        form["inputs"], inputs_file, form["selected"], form["engine"],
    )  # fmt: skip


def _path(written: str | None) -> Path | None:
    return None if written is None else Path(written)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_list_of(kind: type, value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _are_inputs(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _is_selection(value: Any) -> bool:
    is_known = isinstance(value, dict) and value.keys() <= {"only", "start", "until"}
    return is_known and all(_is_list_of(str, tasks) for tasks in value.values())


_PATHS = ("script", "answers_from", "base", "inputs_file")
_FORMS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "root": (_is_text, "a path"),
    "workflow": (_is_text, "a path"),
    **{name: (lambda value: value is None or _is_text(value), "a path or null") for name in _PATHS},
    "answers": (lambda value: value is None or _is_list_of(dict, value), "a list of objects or null"),
    "among": (lambda value: value is None or _is_list_of(str, value), "a list of names or null"),
    "engine": (lambda value: value is None or _is_text(value), "a name or null"),
    "inputs": (_are_inputs, "an object of strings"),
    "selected": (_is_selection, "an object with lists of names: only, start, until"),
}


def _fault_of(form: Any) -> str | None:
    """What is wrong with a document that someone may have edited."""
    if not isinstance(form, dict):
        return "it is not an object"
    for name, (fits, described) in _FORMS.items():
        if name not in form:
            return f"it has no '{name}'"
        if not fits(form[name]):
            return f"'{name}' is not {described}"
    return None
