"""Extracts the facts of model calls from spans and log records.

The names of attributes are those of the current and the older GenAI semantic conventions of OpenTelemetry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.importing.imported_record import facts
from forum_runner.importing.otel_values import attributes_of, format_nanoseconds, nanoseconds, objects, value_of
from forum_runner.ledger.body import JSON, TEXT, Body

_STATUS = {0: "unset", 1: "ok", 2: "error", "STATUS_CODE_UNSET": "unset"}
_STATUS |= {"STATUS_CODE_OK": "ok", "STATUS_CODE_ERROR": "error"}
# The attributes of each fact, current name first.
_FACTS = {
    "operation": ("gen_ai.operation.name",),
    "provider": ("gen_ai.provider.name", "gen_ai.system"),
    "model": ("gen_ai.request.model",),
    "response_model": ("gen_ai.response.model",),
    "agent": ("gen_ai.agent.name", "gen_ai.agent.id"),
    "tool": ("gen_ai.tool.name",),
    "conversation": ("gen_ai.conversation.id",),
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    "cached_input_tokens": ("gen_ai.usage.cache_read.input_tokens",),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    "error": ("error.type",),
}
# The attributes of each text body.
_TEXTS = {
    "instructions": ("gen_ai.system_instructions",),
    "input": ("gen_ai.input.messages", "gen_ai.prompt"),
    "output": ("gen_ai.output.messages", "gen_ai.completion"),
    "arguments": ("gen_ai.tool.call.arguments",),
    "result": ("gen_ai.tool.call.result",),
}
# An older convention: one event per message.
_MESSAGE_EVENTS = {
    "gen_ai.system.message": "input",
    "gen_ai.user.message": "input",
    "gen_ai.assistant.message": "input",
    "gen_ai.tool.message": "input",
    "gen_ai.choice": "output",
}
# Another older convention: one attribute per part of a message, such as `gen_ai.prompt.0.content`.
_INDEXED_ATTRIBUTE = re.compile(r"gen_ai\.(prompt|completion)\.([0-9]{1,6})\.(.+)")
_DIRECTIONS = {"prompt": "input", "completion": "output"}


def span_facts(span: dict[str, Any], resource: Mapping[str, Any]) -> dict[str, Any]:
    status = span.get("status")
    code = status.get("code", 0) if isinstance(status, dict) else 0
    return facts(
        trace=span.get("traceId"),
        span=span.get("spanId"),
        parent=span.get("parentSpanId"),
        name=span.get("name"),
        service=resource.get("service.name"),
        time=format_nanoseconds(nanoseconds(span, "startTimeUnixNano")),
        ended=format_nanoseconds(nanoseconds(span, "endTimeUnixNano")),
        status=_STATUS.get(code) if isinstance(code, int | str) else None,
        **_attribute_facts(attributes_of(span)),
    )


def log_record_facts(record: dict[str, Any], resource: Mapping[str, Any]) -> dict[str, Any]:
    attributes = attributes_of(record)
    return facts(
        trace=record.get("traceId"),
        span=record.get("spanId"),
        name=_name(record, attributes),
        service=resource.get("service.name"),
        time=format_nanoseconds(nanoseconds(record, "timeUnixNano", "observedTimeUnixNano")),
        severity=record.get("severityText"),
        **_attribute_facts(attributes),
    )


def _name(record: dict[str, Any], attributes: Mapping[str, Any]) -> Any:
    """The name of a log record, span or span event: a field, or in older conventions the attribute `event.name`."""
    return record.get("eventName") or record.get("name") or attributes.get("event.name")


def _attribute_facts(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        fact: next((attributes[name] for name in names if name in attributes), None) for fact, names in _FACTS.items()
    }


def text_bodies(record: dict[str, Any]) -> dict[str, Body]:
    """The texts in a span or log record and its events: instructions, prompts, answers, and tool calls."""
    texts: dict[str, Any] = {}
    messages_by_direction: dict[str, list[Any]] = {}
    for name, attributes, body in _attribute_sources(record):
        for body_name, keys in _TEXTS.items():
            value = next((attributes[key] for key in keys if key in attributes), None)
            if value not in (None, ""):
                texts.setdefault(body_name, value)
        direction = _MESSAGE_EVENTS.get(name)
        if direction:
            messages_by_direction.setdefault(direction, []).append(
                {"event": name, **(body if isinstance(body, dict) else attributes)}
            )
    for direction, messages in (*messages_by_direction.items(), *_indexed_messages(attributes_of(record))):
        texts.setdefault(direction, messages)
    return {name: _body(value) for name, value in texts.items()}


def _attribute_sources(record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """The name, the attributes and the body of a record, then of each of its events (events have no body)."""
    attributes = attributes_of(record)
    yield str(_name(record, attributes)), attributes, value_of(record.get("body"))
    for event in objects(record, "events"):
        event_attributes = attributes_of(event)
        yield str(_name(event, event_attributes)), event_attributes, None


def _indexed_messages(attributes: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Messages in attributes such as `gen_ai.prompt.0.content`."""
    directions: dict[str, dict[int, dict[str, Any]]] = {}
    for key, value in attributes.items():
        if match := _INDEXED_ATTRIBUTE.fullmatch(key):
            directions.setdefault(_DIRECTIONS[match[1]], {}).setdefault(int(match[2]), {})[match[3]] = value
    for direction, messages in directions.items():
        yield direction, [messages[number] for number in sorted(messages)]


def _body(value: Any) -> Body:
    if not isinstance(value, str):
        return Body(canonical(value), JSON)
    try:
        is_json = isinstance(json.loads(value), dict | list)
    except (ValueError, RecursionError):
        is_json = False
    return Body(value.encode(), JSON if is_json else TEXT)
