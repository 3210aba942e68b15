"""Timestamps: their form, and their range."""

import pytest

from forum_runner.errors import UsageError
from forum_runner.ledger.clock import format_time, parse_time

LAST_US = 253_402_300_799_999_999


def test_a_timestamp_is_read_back_unchanged() -> None:
    assert format_time(LAST_US) == "9999-12-31T23:59:59.999999Z"
    assert parse_time(format_time(LAST_US)) == LAST_US


def test_a_time_after_the_year_9999_is_an_error_of_the_workflow() -> None:
    with pytest.raises(UsageError, match="shorten the deadlines, backoffs and latencies"):
        format_time(LAST_US + 1)


@pytest.mark.parametrize("text", ["2026-11-31T00:00:00.000000Z", "2026-11-30T00:00:00Z", "2026-11-30 00:00:00.000000Z"])
def test_a_malformed_timestamp_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a time|out of range"):
        parse_time(text)
