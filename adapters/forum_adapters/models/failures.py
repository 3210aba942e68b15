"""Classifies the errors of servers by their status, error document and Retry-After header."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from forum_adapters.base import ErrorKind, Failure
from forum_adapters.models.untrusted_json import read_json

_MAX_WAIT_MS = 3_600_000
_LAST_STATUS = 599

_KINDS_BY_STATUS = {
    HTTPStatus.UNAUTHORIZED: ErrorKind.AUTH,
    HTTPStatus.PAYMENT_REQUIRED: ErrorKind.QUOTA_EXHAUSTED,
    HTTPStatus.FORBIDDEN: ErrorKind.AUTH,
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED: ErrorKind.AUTH,
    HTTPStatus.REQUEST_TIMEOUT: ErrorKind.TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ErrorKind.CONTEXT_LENGTH,
    HTTPStatus.GATEWAY_TIMEOUT: ErrorKind.TIMEOUT,
}
_QUOTA_LABELS = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached", "quota_exceeded"})
_KINDS_BY_LABEL = {
    **dict.fromkeys(_QUOTA_LABELS, ErrorKind.QUOTA_EXHAUSTED),
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
# Phrases in the labels or the message of a rejected request.
_KINDS_BY_PHRASE = {
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
# Phrases of servers that answer "not found" while they load a model.
_LOADING_PHRASES = ("loading", "not ready", "starting", "temporarily", "try again")


class CallFailed(Exception):
    """The call failed. The message may quote the server, so scrub it before you show it."""

    def __init__(self, kind: ErrorKind, message: str, retry_after_ms: int | None = None) -> None:
        self.failure = Failure(kind, message, retry_after_ms)
        super().__init__(kind.value)


class Unreadable(CallFailed):
    """The response does not have the server's format, so it is not an answer of the model."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorKind.NETWORK, message)


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error as a server describes it."""

    message: str
    labels: tuple[str, ...] = ()


def read_error_body(body: bytes) -> ServerError:
    """Reads an error response. If it is not JSON, such as the HTML page of a proxy, its text is the message."""
    try:
        document = read_json(body)
    except ValueError:
        return ServerError(body.decode("utf-8", "replace"))
    return read_error((document.get("error") or document) if isinstance(document, dict) else document)


def read_error(error: Any) -> ServerError:
    if not isinstance(error, dict):
        return ServerError(str(error))
    labels = tuple(str(error[name]) for name in ("type", "code") if isinstance(error.get(name), str | int))
    message = error.get("message") or error.get("detail") or ", ".join(labels) or "no reason given"
    return ServerError(str(message), labels)


def kind_of_status(status: int, error: ServerError) -> ErrorKind:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return ErrorKind.QUOTA_EXHAUSTED if _QUOTA_LABELS.intersection(error.labels) else ErrorKind.RATE_LIMITED
    if status == HTTPStatus.NOT_FOUND:
        # Retrying does not help if the model or the path does not exist.
        return ErrorKind.MODEL_UNAVAILABLE if _is_loading(error) else ErrorKind.INVALID_REQUEST
    if status in _KINDS_BY_STATUS:
        return _KINDS_BY_STATUS[HTTPStatus(status)]
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ErrorKind.MODEL_UNAVAILABLE
    return _kind_of_text(error)


def kind_of_error(error: ServerError) -> ErrorKind:
    """The kind of an error that follows a successful status."""
    for label in error.labels:
        if label in _KINDS_BY_LABEL:
            return _KINDS_BY_LABEL[label]
    for label in error.labels:
        if label.isdecimal() and HTTPStatus.BAD_REQUEST <= int(label[:4]) <= _LAST_STATUS:
            return kind_of_status(int(label[:4]), error)
    kind = _kind_of_text(error)
    is_clients_fault = "invalid_request_error" in error.labels or kind is not ErrorKind.INVALID_REQUEST
    return kind if is_clients_fault else ErrorKind.MODEL_UNAVAILABLE


def retry_after_ms(headers: Mapping[str, str], now: datetime) -> int | None:
    """How long the server asks clients to wait, at most an hour; None if it does not."""
    for name, unit_ms in (("retry-after-ms", 1), ("retry-after", 1_000)):
        value = headers.get(name, "").strip()
        try:
            wait_ms = float(value) * unit_ms
        except ValueError:
            wait_ms = _milliseconds_until(value, now)
        if not math.isnan(wait_ms):
            return int(min(max(wait_ms, 0), _MAX_WAIT_MS))
    return None


def _milliseconds_until(date: str, now: datetime) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return math.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - now).total_seconds() * 1_000


def _kind_of_text(error: ServerError) -> ErrorKind:
    text = _text_of(error)
    return next((kind for phrase, kind in _KINDS_BY_PHRASE.items() if phrase in text), ErrorKind.INVALID_REQUEST)


def _is_loading(error: ServerError) -> bool:
    text = _text_of(error)
    return any(phrase in text for phrase in _LOADING_PHRASES)


def _text_of(error: ServerError) -> str:
    return " ".join((*error.labels, error.message)).lower()
