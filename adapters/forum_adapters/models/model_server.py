"""The adapter for a model server, in any API format: address, key and connections."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx

from forum_adapters.base import Attempt, ErrorKind, Failure, Reply, Usage
from forum_adapters.models.connection_pool import ConnectionPool
from forum_adapters.models.credentials import Secret, read_key
from forum_adapters.models.dialect import Dialect, schema_to_send
from forum_adapters.models.draft import Draft
from forum_adapters.models.exchange import ModelRequest, send_request, transport_failure
from forum_adapters.models.failures import CallFailed
from forum_adapters.models.hosts import host_and_port, is_allowed
from forum_adapters.models.open_files import TOO_MANY_FILES, is_out_of_files

_HEADERS = {"user-agent": "forum", "content-type": "application/json", "accept-encoding": "identity"}
# Common servers close idle connections after 5 s. Stop using a connection before that.
_IDLE_S = 3
_PROBE_S = 5
_MAX_NAME_CHARS = 256
_MAX_PORT = 65_535
# With these statuses, the server is up but does not list its models.
_UNLISTED_STATUSES = (404, 405)
_BUSY_ERRORS = (ErrorKind.MODEL_UNAVAILABLE, ErrorKind.RATE_LIMITED)


class ModelServer:
    """Calls a model server. It does not limit concurrent calls, because the runner does."""

    def __init__(self, name: str, settings: Mapping[str, Any], dialect: Dialect) -> None:
        self.name = name
        self._settings = settings
        self._dialect = dialect
        self._client: httpx.AsyncClient | None = None

    async def answer(self, attempt: Attempt) -> Reply:
        limits = attempt.limits
        draft = Draft(limits.max_output_bytes)
        secret = Secret()
        failure = None
        try:
            secret = read_key(self._settings.get("api_key_env"))
            call = self._make_request(attempt, secret)
            async with asyncio.timeout(limits.timeout_ms / 1_000):
                await send_request(self._http_client(), call, self._dialect, draft)
        except CallFailed as failed:
            failure = failed.failure
        except TimeoutError:
            if not draft.is_complete:
                failure = Failure(ErrorKind.TIMEOUT, f"the answer was incomplete after {limits.timeout_ms} ms")
        except asyncio.CancelledError:
            # The part that has arrived was paid for, so return it.
            failure = Failure(ErrorKind.CANCELLED, "the call was cancelled")
        except OSError as error:
            if draft.may_be_received or not is_out_of_files(error):
                raise
            failure = Failure(ErrorKind.NETWORK, TOO_MANY_FILES)
        return self._reply(draft, secret, failure, limits.max_tokens)

    async def probe(self) -> str | None:
        secret = Secret()
        try:
            secret = read_key(self._settings.get("api_key_env"))
            return await self._probe(secret)
        except CallFailed as failed:
            return secret.quote(failed.failure.message)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _probe(self, secret: Secret) -> str | None:
        url = self._url("models")
        request = self._http_client().stream("GET", url, headers=self._headers(secret), timeout=None)
        try:
            async with asyncio.timeout(_PROBE_S), request as response:
                status = response.status_code
        except TimeoutError:
            return f"{host_and_port(url)} did not answer within {_PROBE_S} s"
        except httpx.TransportError as error:
            raise transport_failure(error, url) from error
        if status in (401, 403):
            variable = self._settings.get("api_key_env")
            problem = f"rejects the key in {variable}" if variable else "requires a key: set 'api_key_env'"
            return f"{host_and_port(url)} {problem}"
        is_up = 200 <= status < 300 or status in _UNLISTED_STATUSES
        return None if is_up else f"{host_and_port(url)} answered {status}"

    def _reply(self, draft: Draft, secret: Secret, failure: Failure | None, max_tokens: int) -> Reply:
        usage = self._usage(draft, failure)
        if failure is None:
            try:
                draft.check(usage.output_tokens if usage else max_tokens)
            except CallFailed as failed:
                failure = failed.failure
        if failure is not None:
            failure = Failure(failure.kind, secret.quote(failure.message), failure.retry_after_ms)
        model, finish = (secret.quote(name, _MAX_NAME_CHARS) for name in (draft.model, draft.finish))
        return Reply(draft.content, failure, usage, model=model, finish=finish)

    def _usage(self, draft: Draft, failure: Failure | None) -> Usage | None:
        """The usage of a call: zero if the request never reached the server, None if it is unknown."""
        if not draft.may_be_received:
            return Usage()
        # A busy server that sent no text may still report the tokens of the prompt.
        was_busy = failure is not None and failure.kind in _BUSY_ERRORS and not draft.content
        return self._dialect.usage(draft.counts) if draft.is_complete or was_busy else None

    def _make_request(self, attempt: Attempt, secret: Secret) -> ModelRequest:
        url = self._url(self._dialect.path)
        if not is_allowed(url, attempt.site.hosts):
            raise CallFailed(ErrorKind.INVALID_REQUEST, f"the policy does not allow the host '{host_and_port(url)}'")
        body = json.dumps(self._dialect.body(attempt, self._settings)).encode()
        return ModelRequest(
            url=url,
            model=self._settings["model"],
            body=body,
            limits=attempt.limits,
            connect_timeout_ms=self._settings.get("connect_timeout_ms", attempt.limits.timeout_ms),
            has_schema=schema_to_send(attempt, self._settings) is not None,
            headers={**self._headers(secret), "content-length": str(len(body)), **self._connection_header()},
        )

    def _connection_header(self) -> dict[str, str]:
        """Disables connection reuse for streams.

        Some servers, such as llama.cpp, close the connection after a stream without notice. A call that reuses it just
        before that would be lost and still be charged, because the server may have received it.
        """
        return {"connection": "close"} if self._settings.get("stream", True) else {}

    def _url(self, path: str) -> httpx.URL:
        base_url = self._settings["base_url"]
        with suppress(httpx.InvalidURL):
            url = httpx.URL(f"{base_url.rstrip('/')}/{path}")
            if url.host and (url.port or 0) <= _MAX_PORT:
                return url
        raise CallFailed(ErrorKind.INVALID_REQUEST, f"'{base_url}' is not the address of a server")

    def _headers(self, secret: Secret) -> dict[str, str]:
        return {**_HEADERS, **self._dialect.headers(secret.reveal())}

    def _http_client(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                transport=self._connection_pool(),
                trust_env=False,
                follow_redirects=False,
                # Cookies would connect calls of different tasks.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            )
        return self._client

    def _connection_pool(self) -> ConnectionPool:
        proxy = self._proxy()
        limits = httpx.Limits(max_connections=1, keepalive_expiry=_IDLE_S)
        try:
            return ConnectionPool(
                lambda: httpx.AsyncHTTPTransport(_ssl_context(), trust_env=False, limits=limits, proxy=proxy)
            )
        except (ValueError, ImportError, httpx.InvalidURL):
            # Do not quote these errors: they contain the address, which may contain a password.
            message = f"the proxy address in {self._settings['proxy_env']} is invalid"
            raise CallFailed(ErrorKind.INVALID_REQUEST, message) from None

    def _proxy(self) -> str | None:
        variable = self._settings.get("proxy_env")
        if variable is None:
            return None
        address = os.environ.get(variable, "")
        if not address:
            # A direct call would bypass the proxy that the roster requires.
            message = f"the environment variable {variable}, which holds the proxy's address, is not set"
            raise CallFailed(ErrorKind.INVALID_REQUEST, message)
        return address


@cache
def _ssl_context() -> ssl.SSLContext:
    """The trusted certificates. Reading them is slow, so it is done once."""
    return httpx.create_ssl_context(trust_env=False)
