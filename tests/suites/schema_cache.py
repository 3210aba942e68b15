"""Cache schema results for tests that run the judge many times on almost the same ledger.

The judge spends most of its time on schemas, and entries that a vector or mutant does not change have the same result
each time. Only results of the judge's own validator are cached: a program that replaces the validator is not affected.

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
_original_schema_mismatch = schemas.schema_mismatch


def command_with_cache(folder: Path, program: str) -> tuple[str, ...]:
    return sys.executable, str(Path(__file__)), str(folder), program


class SchemaCache:
    def __init__(self) -> None:
        self.results: dict[str, str | None] = {}
        """Results by the digest of a schema and a value."""
        self._schemas: dict[int, tuple[Draft202012Validator, str]] = {}

    def schema_mismatch(self, validator: Draft202012Validator, value: Any) -> str | None:
        """Replacement for `schemas.schema_mismatch`."""
        if type(validator) is not _VALIDATOR:
            return _original_schema_mismatch(validator, value)
        # `repr` distinguishes values that are equal in Python: true, 1 and 1.0, and objects that differ in key order.
        key = hashlib.sha256(f"{self._schema(validator)} {value!r}".encode()).hexdigest()
        if key not in self.results:
            self.results[key] = _original_schema_mismatch(validator, value)
        return self.results[key]

    def _schema(self, validator: Draft202012Validator) -> str:
        # Keep a reference to the validator, so that no other object gets its id.
        if id(validator) not in self._schemas:
            digest = hashlib.sha256(json.dumps(validator.schema).encode()).hexdigest()
            self._schemas[id(validator)] = validator, digest
        return self._schemas[id(validator)][1]


@contextmanager
def cached_schema_results(folder: Path) -> Iterator[SchemaCache]:
    """Load results that earlier processes stored in the folder, and store additional ones for later processes."""
    cache = SchemaCache()
    for path in folder.glob("*.json"):
        cache.results.update(json.loads(path.read_text(encoding="utf-8")))
    known = frozenset(cache.results)
    schemas.schema_mismatch = cache.schema_mismatch
    try:
        yield cache
    finally:
        schemas.schema_mismatch = _original_schema_mismatch
        if added := {key: result for key, result in cache.results.items() if key not in known}:
            path = folder / str(os.getpid())
            path.write_text(json.dumps(added), encoding="utf-8")
            path.rename(path.with_suffix(".json"))


def main() -> None:
    folder, program, *arguments = sys.argv[1:]
    sys.argv = [program, *arguments]
    with cached_schema_results(Path(folder)):
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
