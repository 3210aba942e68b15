"""Keeps secrets out of the record: the values of named variables and secret inputs, however they are written."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from urllib.parse import quote, quote_plus

from forum_adapters.base import Executable, Failure, Reply
from forum_runner.ledger.body import Body

# Anything shorter would stand in harmless text all the time.
LEAST_CHARACTERS = 4
_LINE_ENDS = (b"\r\n", b"\n")
_ESCAPE = re.compile("%[0-9A-F]{2}")


class Scrubber:
    def __init__(self, secrets: Mapping[str, str]) -> None:
        """By name. Values that are too short to be told from other text are left alone."""
        forms: dict[bytes, str] = {}
        for name, value in secrets.items():
            if len(value) >= LEAST_CHARACTERS:
                for form in written_forms(value):
                    forms.setdefault(form, name)
        longest_first = sorted(forms, key=len, reverse=True)
        self._forms = forms
        self._pattern = re.compile(b"|".join(map(re.escape, longest_first))) if forms else None

    def data(self, data: bytes) -> bytes:
        if self._pattern is None:
            return data
        return self._pattern.sub(lambda found: f"[scrubbed: {self._forms[found[0]]}]".encode(), data)

    def text(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self.data(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")

    def body(self, body: Body) -> Body:
        if self._pattern is None or self._pattern.search(body.data) is None:
            return body
        return body._replace(data=self.data(body.data))

    def reply(self, reply: Reply) -> Reply:
        """A reply as the machine gets it: without secrets, and without the line end that programs put last."""
        content = reply.content
        for end in _LINE_ENDS:
            if content.endswith(end):
                content = content[: -len(end)]
                break
        if self._pattern is None:
            return reply if content is reply.content else replace(reply, content=content)
        failure, executable = reply.failure, reply.executable
        return replace(
            reply,
            content=self.data(content),
            stderr=self.data(reply.stderr),
            failure=failure and Failure(failure.kind, self.text(failure.message), failure.retry_after_ms),
            executable=executable and Executable(self.text(executable.path), executable.digest),
            model=self.text(reply.model),
            finish=self.text(reply.finish),
        )


def written_forms(value: str) -> Iterator[bytes]:
    """A value as it may stand in a text: plain, in JSON, URL-encoded, in hexadecimal, and inside base64."""
    data = value.encode(errors="surrogatepass")
    yield data
    for is_ascii in (True, False):
        yield json.dumps(value, ensure_ascii=is_ascii)[1:-1].encode(errors="surrogatepass")
    for escape in (partial(quote, safe="/"), partial(quote, safe=""), quote_plus):
        quoted = escape(value, errors="replace")
        yield quoted.encode()
        yield _ESCAPE.sub(lambda found: found[0].lower(), quoted).encode()
    yield data.hex().encode()
    yield data.hex().upper().encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        # In a longer text the value may begin at each of three places of a group; the characters that it shares with
        # its neighbours are left out.
        for before in range(3):
            encoded = encode(bytes(before) + data)
            start = -(-before * 8 // 6)
            whole = (before + len(data)) * 8 // 6
            yield encoded[start:whole]
