"""Extracts the facts of model calls from spans and log records, by current and older GenAI conventions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.importing.imported_record import facts
from forum_runner.importing.otel_values import attributes_of, nanoseconds, objects, time_of_ns, value_of
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
_TEXTS = {
    "instructions": ("gen_ai.system_instructions",),
    "input": ("gen_ai.input.messages", "gen_ai.prompt"),
    "output": ("gen_ai.output.messages", "gen_ai.completion"),
    "arguments": ("gen_ai.tool.call.arguments",),
    "result": ("gen_ai.tool.call.result",),
}
# Older conventions: one event per message, and one attribute per part of a message.
_MESSAGE_EVENTS = {
    "gen_ai.system.message": "input",
    "gen_ai.user.message": "input",
    "gen_ai.assistant.message": "input",
    "gen_ai.tool.message": "input",
    "gen_ai.choice": "output",
}
_NUMBERED = re.compile(r"gen_ai\.(prompt|completion)\.([0-9]{1,6})\.(.+)")
_SIDES = {"prompt": "input", "completion": "output"}


def span_facts(span: dict[str, Any], resource: Mapping[str, Any]) -> dict[str, Any]:
    status = span.get("status")
    code = status.get("code", 0) if isinstance(status, dict) else 0
    return facts(
        trace=span.get("traceId"),
        span=span.get("spanId"),
        parent=span.get("parentSpanId"),
        name=span.get("name"),
        service=resource.get("service.name"),
        time=time_of_ns(nanoseconds(span, "startTimeUnixNano")),
        ended=time_of_ns(nanoseconds(span, "endTimeUnixNano")),
        status=_STATUS.get(code) if isinstance(code, int | str) else None,
        **_attribute_facts(attributes_of(span)),
    )


def event_facts(event: dict[str, Any], resource: Mapping[str, Any]) -> dict[str, Any]:
    attributes = attributes_of(event)
    return facts(
        trace=event.get("traceId"),
        span=event.get("spanId"),
        name=event_name(event, attributes),
        service=resource.get("service.name"),
        time=time_of_ns(nanoseconds(event, "timeUnixNano", "observedTimeUnixNano")),
        severity=event.get("severityText"),
        **_attribute_facts(attributes),
    )


def event_name(event: dict[str, Any], attributes: Mapping[str, Any]) -> Any:
    """The event's name: a member in current conventions, an attribute in older ones."""
    return event.get("eventName") or event.get("name") or attributes.get("event.name")


def _attribute_facts(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        fact: next((attributes[name] for name in names if name in attributes), None) for fact, names in _FACTS.items()
    }


def text_bodies(holder: dict[str, Any]) -> dict[str, Body]:
    """The prompts and answers in a span or log record, or in its events."""
    found: dict[str, Any] = {}
    messages_by_side: dict[str, list[Any]] = {}
    for name, attributes, body in _text_carriers(holder):
        for text, keys in _TEXTS.items():
            value = next((attributes[key] for key in keys if key in attributes), None)
            if value not in (None, ""):
                found.setdefault(text, value)
        side = _MESSAGE_EVENTS.get(name)
        if side:
            messages_by_side.setdefault(side, []).append(
                {"event": name, **(body if isinstance(body, dict) else attributes)}
            )
    for side, messages in (*messages_by_side.items(), *_numbered(attributes_of(holder))):
        found.setdefault(side, messages)
    return {name: _body(value) for name, value in found.items()}


def _text_carriers(holder: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Any]]:
    attributes = attributes_of(holder)
    yield str(event_name(holder, attributes)), attributes, value_of(holder.get("body"))
    for event in objects(holder, "events"):
        inner = attributes_of(event)
        yield str(event_name(event, inner)), inner, None


def _numbered(attributes: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Messages in attributes such as `gen_ai.prompt.0.content`."""
    sides: dict[str, dict[int, dict[str, Any]]] = {}
    for key, value in attributes.items():
        if match := _NUMBERED.fullmatch(key):
            sides.setdefault(_SIDES[match[1]], {}).setdefault(int(match[2]), {})[match[3]] = value
    for side, messages in sides.items():
        yield side, [messages[number] for number in sorted(messages)]


def _body(value: Any) -> Body:
    if not isinstance(value, str):
        return Body(canonical(value), JSON)
    try:
        is_json = isinstance(json.loads(value), dict | list)
    except (ValueError, RecursionError):
        is_json = False
    return Body(value.encode(), JSON if is_json else TEXT)
