"""The role `verify`: the verdict on a ledger."""

from __future__ import annotations

from typing import Any

from forum_runner import api
from forum_runner.api import ForumError, Trusted
from forum_runner.conformance.answer_message import with_message
from forum_runner.conformance.suite_request import WORKSPACE, SuiteRequest

_LEVELS = frozenset({1, 2, 3, 4, 5})


def verify(request: SuiteRequest) -> dict[str, Any]:
    run = request.existing_path("input")
    levels = request.levels() or _LEVELS
    if not run.is_dir():
        # Bodies and semantics need the run directory.
        levels -= {3, 4}
    trusted = Trusted(
        request.optional_text("expect_head"),
        request.optional_path("checkpoint"),
        request.optional_path("key"),
        request.optional_path("pin"),
    )
    try:
        report = api.verify(
            WORKSPACE, str(run), levels=levels, trusted=trusted if 5 in levels else Trusted(), is_ledger=True
        )
    except ForumError as error:
        return {"verdict": "unsupported", "message": str(error)}
    document = {
        "verdict": str(report.verdict),
        "codes": list(report.codes),
        "first_bad_seq": report.first_bad_seq,
        "levels": {str(item.level): item.status for item in report.levels},
    }
    return with_message(document, (f"{item.code} {item.sentence}" for item in report.findings))
