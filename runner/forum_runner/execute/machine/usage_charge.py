"""The usage of a call, as entries record it."""

from __future__ import annotations

from forum_adapters.base import ErrorKind, Reply
from forum_runner.canonical import MAX_INTEGER
from forum_runner.execute.machine.state import RunState
from forum_runner.execute.machine.unit import Call
from forum_runner.wave_plan.wave_plan_reader import NO_PRICES

# Higher counts are implausible and are ignored.
_MAX_TOKENS = 10**12
# With these errors, the server refused the call before any work, unless the reply has content or names a model.
_FREE_ERRORS = frozenset(
    {
        ErrorKind.AUTH,
        ErrorKind.CONTEXT_LENGTH,
        ErrorKind.INVALID_REQUEST,
        ErrorKind.MODEL_UNAVAILABLE,
        ErrorKind.QUOTA_EXHAUSTED,
        ErrorKind.RATE_LIMITED,
    }
)


def usage_of(state: RunState, call: Call, reply: Reply) -> tuple[dict[str, int], bool]:
    """The usage of a call, and whether it was measured.

    A call without a measurement is charged everything that it reserved, unless the server refused it. The output of a
    model's command line counts one token per byte.
    """
    content, failure, reported = reply.content, reply.failure, reply.usage
    limits = state.call_limits[call.adapter]
    cached, is_measured = 0, True
    if reported is not None and max(reported.input_tokens, reported.output_tokens) <= _MAX_TOKENS:
        sent, cached, received = reported.input_tokens, reported.cached_input_tokens, reported.output_tokens
    elif limits.is_program:
        is_priced = call.reserved["output_tokens"] > 0
        sent, received = (call.reserved["input_tokens"], len(content)) if is_priced else (0, 0)
        is_measured = not is_priced
    elif failure is not None and failure.kind in _FREE_ERRORS and not content and not reply.model:
        sent, received, is_measured = 0, 0, False
    else:
        sent, received, is_measured = call.reserved["input_tokens"], call.reserved["output_tokens"], False
    usage = {
        "input_tokens": sent,
        "cached_input_tokens": cached,
        "output_tokens": received,
        "micro_usd": 0 if limits.prices is NO_PRICES else min(limits.prices.cost(sent, cached, received), MAX_INTEGER),
        "output_bytes": len(content),
        "wall_ms": max(state.now_us - call.started_us, 0) // 1_000,
    }
    return usage, is_measured
