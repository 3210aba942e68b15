"""Removes secrets from records: the values of named variables and secret inputs, in common encodings."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import structs

from forum_adapters.base import Executable, Failure, Reply
from forum_runner.execute.secrets.secret_forms import SecretForms
from forum_runner.ledger.body import Body

# Shorter values occur in ordinary text.
MIN_SECRET_CHARACTERS = 4
_CUT_MARK = b"[scrubbed]"
# The mark in standard error where its middle is left out.
_OMISSION = re.compile(rb"\n?\[[0-9]+ bytes left out\]\n")


class Scrubber:
    def __init__(self, secrets: Mapping[str, str]) -> None:
        """`secrets` are values by name. Values that are too short to recognize are ignored."""
        long_enough = [(name, value) for name, value in secrets.items() if len(value) >= MIN_SECRET_CHARACTERS]
        # Longer values first: they may contain shorter ones.
        long_enough.sort(key=lambda item: len(item[1]), reverse=True)
        self._secrets = [SecretForms(name, value) for name, value in long_enough]

    @property
    def has_secrets(self) -> bool:
        return bool(self._secrets)

    def scrub_bytes(self, data: bytes) -> bytes:
        for secret in self._secrets:
            data = secret.replace_in(data)
        return data

    def contains_secret(self, data: bytes) -> bool:
        return any(secret.occurs_in(data) for secret in self._secrets)

    def scrub_text(self, text: str) -> str:
        if not self._secrets:
            return text
        return self.scrub_bytes(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")

    def scrub_body(self, body: Body) -> Body:
        data = self.scrub_bytes(body.data)
        return body if data == body.data else body._replace(data=data)

    def scrub_reply(self, reply: Reply) -> Reply:
        """The reply without secrets, and without the trailing newline that programs write."""
        content = reply.content
        if content.endswith(b"\n"):
            content = content[: -2 if content.endswith(b"\r\n") else -1]
        if not self._secrets:
            return reply if content is reply.content else structs.replace(reply, content=content)
        failure, executable = reply.failure, reply.executable
        content = self.scrub_bytes(content)
        if failure is not None:
            content = self._scrub_cut(content, at_end=True)
        return structs.replace(
            reply,
            content=content,
            stderr=self._scrub_stderr(self.scrub_bytes(reply.stderr)),
            failure=failure and Failure(failure.kind, self.scrub_text(failure.message), failure.retry_after_ms),
            executable=executable and Executable(self.scrub_text(executable.path), executable.digest),
            model=self.scrub_text(reply.model),
            finish=self.scrub_text(reply.finish),
        )

    def _scrub_stderr(self, data: bytes) -> bytes:
        """Standard error, whose middle may be left out: both sides of the gap may end inside a secret."""
        gap = _OMISSION.search(data)
        if gap is None:
            return data
        before, after = data[: gap.start()], data[gap.end() :]
        return self._scrub_cut(before, at_end=True) + gap[0] + self._scrub_cut(after, at_end=False)

    def _scrub_cut(self, data: bytes, *, at_end: bool) -> bytes:
        """Removes the part of a secret at the end (or start) of data that was cut inside the secret."""
        for secret in self._secrets:
            for length in range(len(secret.value) - 1, MIN_SECRET_CHARACTERS - 1, -1):
                if at_end and data.endswith(secret.value[:length]):
                    return data[:-length] + _CUT_MARK
                if not at_end and data.startswith(secret.value[-length:]):
                    return _CUT_MARK + data[length:]
        return data
