"""Call `forum-conformance judge` and validate its reports."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
from referencing import Registry
from referencing.jsonschema import DRAFT202012

import warm

SCHEMAS = Path(__file__).parents[2] / "schemas" / "v1"
JUDGE = [sys.executable, "-m", "forum_conformance", "judge"]


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    return loaded


REGISTRY: Registry[Any] = Registry().with_resource(
    "verify-report.schema.json", DRAFT202012.create_resource(schema("verify-report.schema.json"))
)
REPORT = jsonschema.Draft202012Validator(schema("verify-report.schema.json"))
REPORT_LINES = jsonschema.Draft202012Validator(schema("verify-reports.schema.json"), registry=REGISTRY)


def judge(*arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None) -> tuple[int, str, str]:
    if stdin:
        result = subprocess.run([*JUDGE, *map(str, arguments)], input=stdin, capture_output=True, cwd=cwd, check=False)
    else:
        result = warm.call("forum-conformance", "judge", *arguments, cwd=cwd)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def report_on(*arguments: str | Path, stdin: bytes = b"") -> dict[str, Any]:
    report: dict[str, Any] = json.loads(judge("--json", *arguments, stdin=stdin)[1])
    REPORT.validate(report)
    return report
