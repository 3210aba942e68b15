"""Remembers what a schema says of a value, for tests that show the judge almost the same ledger many times.

Most of the judge's time goes to its schemas, and an entry that a vector or a mutant leaves alone is told the same each
time. Only the judge's own validator is remembered: a program that puts another in its place is asked anew.

Run as a script, with a folder that the memory is kept in, a program, and the program's arguments.
"""

import hashlib
import json
import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from forum_conformance import schemas

_VALIDATOR = schemas._Validator
_ask = schemas.departure


def words_of(folder: Path, program: str) -> tuple[str, ...]:
    return sys.executable, str(Path(__file__)), str(folder), program


class Memory:
    def __init__(self) -> None:
        self.said: dict[str, str | None] = {}
        """What was said, by the digest of a schema and a value."""
        self._schemas: dict[int, tuple[Draft202012Validator, str]] = {}

    def departure(self, validator: Draft202012Validator, value: Any) -> str | None:
        """In the place of `schemas.departure`."""
        if type(validator) is not _VALIDATOR:
            return _ask(validator, value)
        # The text tells apart what is equal in Python: true, 1 and 1.0, and other orders of the same keys.
        key = hashlib.sha256(f"{self._schema(validator)} {value!r}".encode()).hexdigest()
        if key not in self.said:
            self.said[key] = _ask(validator, value)
        return self.said[key]

    def _schema(self, validator: Draft202012Validator) -> str:
        # The validator is kept with its digest, so that no other can get its id.
        if id(validator) not in self._schemas:
            digest = hashlib.sha256(json.dumps(validator.schema).encode()).hexdigest()
            self._schemas[id(validator)] = validator, digest
        return self._schemas[id(validator)][1]


@contextmanager
def remembering(folder: Path) -> Iterator[Memory]:
    """From what earlier processes have left in the folder; what comes to it is left there for later ones."""
    memory = Memory()
    for path in folder.glob("*.json"):
        memory.said.update(json.loads(path.read_text(encoding="utf-8")))
    known = frozenset(memory.said)
    schemas.departure = memory.departure
    try:
        yield memory
    finally:
        schemas.departure = _ask
        if learned := {key: said for key, said in memory.said.items() if key not in known}:
            path = folder / str(os.getpid())
            path.write_text(json.dumps(learned), encoding="utf-8")
            path.rename(path.with_suffix(".json"))


def main() -> None:
    folder, program, *arguments = sys.argv[1:]
    sys.argv = [program, *arguments]
    with remembering(Path(folder)):
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
