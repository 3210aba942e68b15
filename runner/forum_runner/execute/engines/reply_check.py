"""Checks replies: an adapter or an engine from another package may return anything."""

from __future__ import annotations

import re

from msgspec import structs

from forum_adapters.base import ErrorKind, Executable, Failure, Limits, Reply, Usage
from forum_runner.canonical import MAX_INTEGER

_DIGEST = re.compile("[0-9a-f]{64}")


def checked_reply(reply: object, limits: Limits) -> Reply:
    """The reply itself or, if it is malformed or too long, a failure that explains why. Long content is truncated."""
    if not isinstance(reply, Reply):
        return _malformed(f"a {type(reply).__name__} instead of a Reply")
    try:
        problem = _problem_with(reply)
    except Exception:  # a member is missing, or cannot be shown
        problem = "a Reply that cannot be read"
    if problem is not None:
        return _malformed(problem)
    content, limit = reply.content, limits.max_output_bytes
    if len(content) <= limit:
        return reply
    failure = Failure(ErrorKind.OUTPUT_LIMIT, f"the answer has more than {limit:,} bytes")
    return structs.replace(reply, content=content[:limit], failure=failure)


def _malformed(problem: str) -> Reply:
    return Reply(failure=Failure(ErrorKind.INTERNAL, f"the adapter returned {problem}"))


def _problem_with(reply: Reply) -> str | None:
    failure, usage, exit_status, executable = reply.failure, reply.usage, reply.exit_status, reply.executable
    if type(reply.content) is not bytes or type(reply.stderr) is not bytes:
        return "a Reply whose content or stderr is not bytes"
    if failure is not None and (problem := _problem_with_failure(failure)) is not None:
        return problem
    if usage is not None and not _is_usage(usage):
        return "a usage that is not a Usage with token counts from 0 to 2^53 - 1"
    if exit_status is not None and (type(exit_status) is not int or not -255 <= exit_status <= 2**32 - 1):
        return f"the invalid exit status {exit_status}"
    if executable is not None and (problem := _problem_with_executable(executable)) is not None:
        return problem
    if type(reply.model) is not str or type(reply.finish) is not str:
        return "a Reply whose model or finish is not text"
    return None


def _problem_with_failure(failure: object) -> str | None:
    # The runner records more members of its own subclass.
    if type(failure) is not Failure:
        return f"a {type(failure).__name__} instead of a Failure"
    if not isinstance(failure.kind, ErrorKind):
        return f"a Failure of the unknown kind {failure.kind!r}"
    if type(failure.message) is not str:
        return "a Failure whose message is not text"
    delay_ms = failure.retry_after_ms
    if delay_ms is not None and (type(delay_ms) is not int or not 0 <= delay_ms <= MAX_INTEGER):
        return f"a Failure with the invalid delay {delay_ms!r}"
    return None


def _problem_with_executable(executable: object) -> str | None:
    if not isinstance(executable, Executable):
        return f"a {type(executable).__name__} instead of an Executable"
    path, digest = executable.path, executable.digest
    if type(path) is not str or type(digest) is not str or not _DIGEST.fullmatch(digest):
        return "an Executable without a path or the SHA-256 digest of its bytes"
    return None


def _is_usage(usage: object) -> bool:
    if not isinstance(usage, Usage):
        return False
    sent, cached, received = usage.input_tokens, usage.cached_input_tokens, usage.output_tokens
    if type(sent) is not int or type(cached) is not int or type(received) is not int:
        return False
    # Checks all three at once: MAX_INTEGER has all its bits set, and one negative count makes the result negative.
    return 0 <= sent | cached | received <= MAX_INTEGER
