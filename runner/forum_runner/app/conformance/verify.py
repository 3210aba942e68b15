"""The role `verify`: whether a ledger holds."""

from __future__ import annotations

from typing import Any

from forum_runner.app.conformance.request import Request
from forum_runner.app.conformance.sentences import with_message
from forum_runner.app.verification import Trusted, verify_ledger
from forum_runner.errors import ForumError
from forum_runner.ledger.source import find_ledger
from forum_runner.ledger.verification.verifier import ALL_LEVELS


def verify(request: Request) -> dict[str, Any]:
    source = find_ledger(request.text("input"))
    levels = request.levels() or ALL_LEVELS
    if source.directory is None:
        # They need the run directory: what is asked for is to look at them where that can be done.
        levels -= {3, 4}
    trusted = Trusted(
        request.optional_text("expect_head"),
        request.optional_path("checkpoint"),
        request.optional_path("key"),
        request.optional_path("pin"),
    )
    try:
        report = verify_ledger(source, levels, trusted if 5 in levels else Trusted())
    except ForumError as error:
        return {"verdict": "unsupported", "message": str(error)}
    told = {
        "verdict": str(report.verdict),
        "codes": list(report.codes),
        "first_bad_seq": report.first_bad_seq,
        "levels": {str(item.level): item.status for item in report.levels},
    }
    return with_message(told, (f"{item.code} {item.sentence}" for item in report.findings))
