"""Records how a run was started, in addition to the facts in its ledger. Resuming the run needs both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from forum_runner.app.requests import TaskSelection
from forum_runner.errors import UsageError

INVOCATION = "invocation.json"


class RecordedSelection(Struct, frozen=True, forbid_unknown_fields=True):
    """A TaskSelection. The request itself is not a struct, because most commands do not need msgspec."""

    only: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    until: tuple[str, ...] = ()

    @classmethod
    def of(cls, tasks: TaskSelection) -> RecordedSelection:
        return cls(tasks.only, tasks.start, tasks.until)

    def tasks(self) -> TaskSelection:
        return TaskSelection(self.only, self.start, self.until)


class Invocation(Struct, frozen=True, kw_only=True):
    """How a run was started, without its secrets.

    `workflow` is a path from `root`. `answers` come from the script; `script` is its file if the workflow does not name
    it. `answers_from` is the directory of a run whose answers are used. `base` is the directory of a run whose results
    are reused; `among` limits this to some tasks. The other members are those of the request.
    """

    root: Path
    workflow: Annotated[str, Meta(min_length=1)]
    answers: Sequence[dict[str, Any]] | None = None
    script: Path | None = None
    answers_from: Path | None = None
    base: Path | None = None
    among: frozenset[str] | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    inputs_file: Path | None = None
    selected: RecordedSelection = RecordedSelection()
    engine: str | None = None

    def encoded(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self, enc_hook=str, order="deterministic"), indent=1)


def read_invocation(directory: Path) -> Invocation:
    path = directory / INVOCATION
    try:
        data = path.read_bytes()
        invocation = msgspec.json.decode(data, type=Invocation, dec_hook=_read_path)
        # Every member is written, null if it has no value. A missing one may have had a value.
        members = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except FileNotFoundError:
        hint = "copy it from the original run, and use --root if its files have moved"
        raise UsageError(f"'{directory}' has no {INVOCATION}, which records how the run was started; {hint}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"'{path}' was altered: {error}") from error
    for name in Invocation.__struct_fields__:
        if name not in members:
            raise UsageError(f"'{path}' was altered: it has no member '{name}'")
    return invocation


def _read_path(_type: type, value: Any) -> Path:
    if not isinstance(value, str) or not value:
        raise ValueError("Expected a path")
    return Path(value)
