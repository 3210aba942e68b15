"""Cache schema results for tests that give the judge almost the same ledger many times.

The judge spends most of its time on schemas, and entries that a vector or mutant does not change have the same result
each time. Only results of the judge's own validator are cached: a program that replaces it is not affected.

Run as a script with the folder of the cache, a program, and the program's arguments.
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
        """Replaces `schemas.departure`."""
        if type(validator) is not _VALIDATOR:
            return _ask(validator, value)
        # `repr` distinguishes values that are equal in Python: true, 1 and 1.0, and other orders of keys.
        key = hashlib.sha256(f"{self._schema(validator)} {value!r}".encode()).hexdigest()
        if key not in self.said:
            self.said[key] = _ask(validator, value)
        return self.said[key]

    def _schema(self, validator: Draft202012Validator) -> str:
        # Keep a reference to the validator, so that no other object gets its id.
        if id(validator) not in self._schemas:
            digest = hashlib.sha256(json.dumps(validator.schema).encode()).hexdigest()
            self._schemas[id(validator)] = validator, digest
        return self._schemas[id(validator)][1]


@contextmanager
def remembering(folder: Path) -> Iterator[Memory]:
    """Load what earlier processes stored in the folder, and store additions for later ones."""
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
