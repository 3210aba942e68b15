"""Run the suite's command with a small set of vectors."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import warm
from suites.table_program import write_entrypoint
from suites.tiny_set import canonicalize_case, verify_case, write_set

VALID_ANSWER = {"answer": {"verdict": "valid"}}


class Suite:
    """A set of vectors, and the command that tests a program against it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.vectors = folder / "vectors"
        write_set(self.vectors, verify_case("ledger/a"), verify_case("ledger/b"), canonicalize_case("canonical/a"))

    def test(
        self, table: Mapping[str, Any], *options: str, entrypoint: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = entrypoint or write_entrypoint(table, self.folder)
        return self.run("test", "--entrypoint", command, "--vectors", str(self.vectors), *options)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        completed = warm.call("forum-conformance", *arguments, cwd=self.folder)
        return subprocess.CompletedProcess(
            arguments, completed.returncode, warm.as_text(completed.stdout), warm.as_text(completed.stderr)
        )

    def results(self, table: Mapping[str, Any], *options: str) -> dict[str, dict[str, Any]]:
        completed = self.test(table, "--json", *options)
        assert completed.returncode in (0, 1), completed.stderr
        document = json.loads(completed.stdout)
        assert document["passed"] is (completed.returncode == 0)
        return {result["id"]: result for result in document["results"]}
