"""What a server's refusal means: from a status, an error document and a Retry-After to one kind of error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from forum_adapters.base import ErrorKind, Failure
from forum_adapters.models.document import read_json

_MAX_WAIT_MS = 3_600_000
_LAST_STATUS = 599

_STATUSES = {
    HTTPStatus.UNAUTHORIZED: ErrorKind.AUTH,
    HTTPStatus.PAYMENT_REQUIRED: ErrorKind.QUOTA_EXHAUSTED,
    HTTPStatus.FORBIDDEN: ErrorKind.AUTH,
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED: ErrorKind.AUTH,
    HTTPStatus.REQUEST_TIMEOUT: ErrorKind.TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ErrorKind.CONTEXT_LENGTH,
    HTTPStatus.GATEWAY_TIMEOUT: ErrorKind.TIMEOUT,
}
_QUOTA = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached", "quota_exceeded"})
_LABELS = {
    **dict.fromkeys(_QUOTA, ErrorKind.QUOTA_EXHAUSTED),
    "rate_limit_error": ErrorKind.RATE_LIMITED,
    "rate_limit_exceeded": ErrorKind.RATE_LIMITED,
    "too_many_requests": ErrorKind.RATE_LIMITED,
    "overloaded_error": ErrorKind.MODEL_UNAVAILABLE,
    "api_error": ErrorKind.MODEL_UNAVAILABLE,
    "server_error": ErrorKind.MODEL_UNAVAILABLE,
    "unavailable_error": ErrorKind.MODEL_UNAVAILABLE,
    "not_found_error": ErrorKind.INVALID_REQUEST,
    "model_not_found": ErrorKind.INVALID_REQUEST,
    "timeout_error": ErrorKind.TIMEOUT,
    "authentication_error": ErrorKind.AUTH,
    "permission_error": ErrorKind.AUTH,
    "invalid_api_key": ErrorKind.AUTH,
    "request_too_large": ErrorKind.CONTEXT_LENGTH,
}
# Looked for in what a server says of a request that it does not take, its labels included.
_PHRASES = {
    "context_length": ErrorKind.CONTEXT_LENGTH,
    "exceed_context_size": ErrorKind.CONTEXT_LENGTH,
    "context length": ErrorKind.CONTEXT_LENGTH,
    "context size": ErrorKind.CONTEXT_LENGTH,
    "context window": ErrorKind.CONTEXT_LENGTH,
    "context limit": ErrorKind.CONTEXT_LENGTH,
    "prompt is too long": ErrorKind.CONTEXT_LENGTH,
    "input is too long": ErrorKind.CONTEXT_LENGTH,
    "content_filter": ErrorKind.CONTENT_FILTER,
    "content filter": ErrorKind.CONTENT_FILTER,
    "content_policy": ErrorKind.CONTENT_FILTER,
    "content policy": ErrorKind.CONTENT_FILTER,
    "content management policy": ErrorKind.CONTENT_FILTER,
    "credit balance is too low": ErrorKind.QUOTA_EXHAUSTED,
}
# Looked for where a model is said not to be there: some servers say so while they load it.
_ON_ITS_WAY = ("loading", "not ready", "starting", "temporarily", "try again")


class CallFailed(Exception):
    """Ends a call. `message` may hold the server's words as they came: scrub it before it is shown."""

    def __init__(self, kind: ErrorKind, message: str, retry_after_ms: int | None = None) -> None:
        self.failure = Failure(kind, message, retry_after_ms)
        super().__init__(kind.value)


class Unreadable(CallFailed):
    """What came is not in the server's format, so nothing in it is an answer of the model that it could be told of."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorKind.NETWORK, message)


@dataclass(frozen=True, slots=True)
class Told:
    """What a server says of an error."""

    message: str
    labels: tuple[str, ...] = ()


def told_by_body(body: bytes) -> Told:
    """Servers agree on no shape, and what stands before them may answer with a page: then the text itself is told."""
    try:
        document = read_json(body)
    except ValueError:
        return Told(body.decode("utf-8", "replace"))
    return told_by((document.get("error") or document) if isinstance(document, dict) else document)


def told_by(error: Any) -> Told:
    if not isinstance(error, dict):
        return Told(str(error))
    labels = tuple(str(error[name]) for name in ("type", "code") if isinstance(error.get(name), str | int))
    message = error.get("message") or error.get("detail") or ", ".join(labels) or "no reason given"
    return Told(str(message), labels)


def kind_of_status(status: int, told: Told) -> ErrorKind:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return ErrorKind.QUOTA_EXHAUSTED if _QUOTA.intersection(told.labels) else ErrorKind.RATE_LIMITED
    if status == HTTPStatus.NOT_FOUND:
        # A model or a path that does not exist will not exist a second later either.
        return ErrorKind.MODEL_UNAVAILABLE if _is_on_its_way(told) else ErrorKind.INVALID_REQUEST
    if status in _STATUSES:
        return _STATUSES[HTTPStatus(status)]
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ErrorKind.MODEL_UNAVAILABLE
    return _kind_of_words(told)


def kind_of_error(told: Told) -> ErrorKind:
    """Of an error that comes after a status that promised an answer."""
    for label in told.labels:
        if label in _LABELS:
            return _LABELS[label]
    for label in told.labels:
        if label.isdecimal() and HTTPStatus.BAD_REQUEST <= int(label[:4]) <= _LAST_STATUS:
            return kind_of_status(int(label[:4]), told)
    kind = _kind_of_words(told)
    is_blamed_on_us = "invalid_request_error" in told.labels or kind is not ErrorKind.INVALID_REQUEST
    return kind if is_blamed_on_us else ErrorKind.MODEL_UNAVAILABLE


def retry_after_ms(headers: Mapping[str, str], now: datetime) -> int | None:
    """What the server asks us to wait, at most an hour."""
    for name, unit_ms in (("retry-after-ms", 1), ("retry-after", 1_000)):
        value = headers.get(name, "").strip()
        try:
            wait_ms = float(value) * unit_ms
        except ValueError:
            wait_ms = _until(value, now)
        if not math.isnan(wait_ms):
            return int(min(max(wait_ms, 0), _MAX_WAIT_MS))
    return None


def _until(date: str, now: datetime) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return math.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - now).total_seconds() * 1_000


def _kind_of_words(told: Told) -> ErrorKind:
    words = _words(told)
    return next((kind for phrase, kind in _PHRASES.items() if phrase in words), ErrorKind.INVALID_REQUEST)


def _is_on_its_way(told: Told) -> bool:
    words = _words(told)
    return any(phrase in words for phrase in _ON_ITS_WAY)


def _words(told: Told) -> str:
    return " ".join((*told.labels, told.message)).lower()
