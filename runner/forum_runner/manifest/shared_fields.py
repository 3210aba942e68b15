"""Reads fields that several kinds of manifest share: budgets, retries, templates."""

from collections.abc import Mapping
from typing import Any

from forum_runner.document import Origin
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.template import REFERENCE_HINT, parse_text
from forum_runner.manifest.units import micro_usd, milliseconds
from forum_runner.model import Budget, Retry, Text


def read_budget(value: Mapping[str, Any] | None, origin: Origin) -> Budget | None:
    if value is None:
        return None
    return Budget(
        origin=origin,
        calls=value.get("calls"),
        input_tokens=value.get("input_tokens"),
        output_tokens=value.get("output_tokens"),
        tokens=value.get("tokens"),
        micro_usd=micro_usd(value["usd"]) if "usd" in value else None,
        wall_ms=milliseconds(value["wall"]) if "wall" in value else None,
        output_bytes=value.get("output_bytes"),
    )


def read_retry(value: Mapping[str, Any] | None) -> Retry | None:
    if value is None:
        return None
    default = Retry()
    return Retry(
        attempts=value.get("attempts", default.attempts),
        backoff_ms=milliseconds(value["backoff"]) if "backoff" in value else default.backoff_ms,
        max_backoff_ms=milliseconds(value["max_backoff"]) if "max_backoff" in value else default.max_backoff_ms,
    )


def read_text(value: str, origin: Origin, findings: list[ManifestFinding]) -> Text:
    text, problems = parse_text(value)
    findings += [
        ManifestFinding("F019", origin.place_of(p.source, last=p.is_last), p.message, REFERENCE_HINT) for p in problems
    ]
    return text
