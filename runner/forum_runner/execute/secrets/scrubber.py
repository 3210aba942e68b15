"""Removes secrets from records: the values of named variables and secret inputs, in any encoding."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from io import BytesIO

from msgspec import structs

from forum_adapters.base import Executable, Failure, Reply
from forum_runner.execute.secrets.traces import Traces, base64_cores
from forum_runner.ledger.archive import LARGE_BYTES
from forum_runner.ledger.body import Body

# Shorter values occur in ordinary text.
LEAST_CHARACTERS = 4
_WRAP = rb"(?:\r?\n|(?:\\r)?\\n)?"
_CUT = b"[scrubbed]"
# The mark in standard error where its middle is left out.
_LEFT_OUT = re.compile(rb"\n?\[[0-9]+ bytes left out\]\n")


class Scrubber:
    def __init__(self, secrets: Mapping[str, str]) -> None:
        """`secrets` are values by name. Values that are too short to recognize are ignored."""
        long_enough = [(name, value) for name, value in secrets.items() if len(value) >= LEAST_CHARACTERS]
        # Longer values first: they may contain shorter ones.
        long_enough.sort(key=lambda item: len(item[1]), reverse=True)
        self._patterns = [(f"[scrubbed: {name}]".encode(), _pattern(value)) for name, value in long_enough]
        self._traces = [Traces(value) for _, value in long_enough]
        self._values = [value.encode(errors="surrogatepass") for _, value in long_enough]

    @property
    def has_work(self) -> bool:
        """Whether there are secrets to remove."""
        return bool(self._patterns)

    def data(self, data: bytes) -> bytes:
        if len(data) > LARGE_BYTES:
            return self._large(data)
        for mark, pattern in self._patterns:
            data = pattern.sub(mark, data)
        return data

    def _large(self, data: bytes) -> bytes:
        for (mark, pattern), traces in zip(self._patterns, self._traces, strict=True):
            if traces.may_occur_in(data):
                data = _replace_in_large(pattern, mark, data)
        return data

    def finds(self, data: bytes) -> bool:
        if len(data) > LARGE_BYTES and not any(traces.may_occur_in(data) for traces in self._traces):
            return False
        return any(pattern.search(data) for _, pattern in self._patterns)

    def text(self, text: str) -> str:
        if not self._patterns:
            return text
        return self.data(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")

    def body(self, body: Body) -> Body:
        data = self.data(body.data)
        return body if data == body.data else body._replace(data=data)

    def cut(self, data: bytes, *, at_end: bool) -> bytes:
        """Removes the part of a secret that is left if the text was cut inside it."""
        for value in self._values:
            for length in range(len(value) - 1, LEAST_CHARACTERS - 1, -1):
                if at_end and data.endswith(value[:length]):
                    return data[:-length] + _CUT
                if not at_end and data.startswith(value[-length:]):
                    return _CUT + data[length:]
        return data

    def reply(self, reply: Reply) -> Reply:
        """The reply without secrets, and without the line end that programs write last."""
        content = reply.content
        if content.endswith(b"\n"):
            content = content[: -2 if content.endswith(b"\r\n") else -1]
        if not self._patterns:
            return reply if content is reply.content else structs.replace(reply, content=content)
        failure, executable = reply.failure, reply.executable
        content = self.data(content)
        if failure is not None:
            content = self.cut(content, at_end=True)
        return structs.replace(
            reply,
            content=content,
            stderr=self._errors(self.data(reply.stderr)),
            failure=failure and Failure(failure.kind, self.text(failure.message), failure.retry_after_ms),
            executable=executable and Executable(self.text(executable.path), executable.digest),
            model=self.text(reply.model),
            finish=self.text(reply.finish),
        )

    def _errors(self, data: bytes) -> bytes:
        """Standard error, whose middle may be left out: both ends may cut a secret."""
        found = _LEFT_OUT.search(data)
        if found is None:
            return data
        head, tail = self.cut(data[: found.start()], at_end=True), self.cut(data[found.end() :], at_end=False)
        return head + found[0] + tail


def _replace_in_large(pattern: re.Pattern[bytes], mark: bytes, data: bytes) -> bytes:
    """Like `sub`, but with less memory: `sub` holds all text between matches twice."""
    made, at, view = BytesIO(), 0, memoryview(data)
    for found in pattern.finditer(data):
        made.write(view[at : found.start()])
        made.write(mark)
        at = found.end()
    if not at:
        return data
    made.write(view[at:])
    return made.getvalue()


def _pattern(value: str) -> re.Pattern[bytes]:
    """Matches the forms of a value: plain, in JSON, URL-encoded, in hexadecimal, and inside base64."""
    data = value.encode(errors="surrogatepass")
    quoted = [json.dumps(value, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)]
    forms: list[bytes] = [re.escape(data), *(re.escape(text.encode(errors="surrogatepass")) for text in quoted)]
    forms += [b"".join(map(_escaped_byte, data)), b"(?i:%b)" % data.hex().encode()]
    # Programs wrap base64, and JSON escapes the line ends.
    forms += [_WRAP.join(re.escape(bytes([character])) for character in core) for core in base64_cores(data)]
    longest_first = sorted(set(forms), key=lambda form: len(form), reverse=True)
    return re.compile(b"|".join(longest_first))


def _escaped_byte(byte: int) -> bytes:
    """A byte in a URL: plain, or a percent sign and two digits. A space may be a plus sign."""
    plain = b"[ +]" if byte == ord(" ") else re.escape(bytes([byte]))
    return b"(?:%b|%%(?i:%02x))" % (plain, byte)
