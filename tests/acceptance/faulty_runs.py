"""Constants and a truncated stream for tests of runs against faulty servers."""

from __future__ import annotations

import pytest

from servers.formats import Format, ModelAnswer, streamed_answer
from servers.http_bytes import chunk, stream_head

ANSWER_USAGE = {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 5}
formats = pytest.mark.parametrize("format_", Format)


def truncated_stream(format_: Format) -> list[bytes]:
    """The start of a streamed answer. Its last three events are missing."""
    return [stream_head(), *map(chunk, streamed_answer(format_, ModelAnswer())[:-3])]
