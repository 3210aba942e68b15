"""Reconstructs the replies of adapters from the entries that recorded them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from forum_adapters.base import ErrorKind, Executable, Failure, Reply, Usage
from forum_runner.ledger.clock import parse_time
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.ledger.recorded_body import RecordedBodies, RecordedBody
from forum_runner.ledger.run_reader import read_entries
from forum_runner.wave_plan.wave_plan_reader import decode_wave_plan

Bodies = Mapping[str, RecordedBody]


def reply_of(entry: ReadEntry, bodies: Bodies, *, is_model: bool) -> Reply:
    """The reply of a `task.finished`, or of a `verdict.given` by a command or an agent.

    If the detail has a `code`, the runner itself rejected the reply. It will read the reply and reject it again.
    """
    return _verdict_reply(entry, bodies) if entry.kind == "verdict.given" else _attempt_reply(entry, bodies, is_model)


def recorded_calls(directory: Path) -> list[dict[str, Any]]:
    """Every call of a run that got a reply, in the form that the replay adapter takes."""
    with (directory / BODIES).open("rb") as stream:
        return list(_calls(directory, RecordedBodies(stream)))


def _calls(directory: Path, bodies: RecordedBodies) -> Iterator[dict[str, Any]]:
    entries = read_entries(directory)
    plan = decode_wave_plan(bodies.body(next(entries).bodies["wave_plan"]).data)
    open_calls: dict[str, ReadEntry] = {}
    for entry in entries:
        if entry.kind in ("task.started", "verdict.asked"):
            open_calls[entry.data["task"]] = entry
        elif entry.kind in ("task.finished", "verdict.given") and entry.data.get("by") != "schema":
            opening = open_calls.pop(entry.data["task"])
            prompt = orjson.loads(bodies.body(opening.bodies["prompt"]).data) if "prompt" in opening.bodies else {}
            if "stdin" in prompt:
                prompt["stdin"] = prompt["stdin"].encode()
            yield {
                "task": opening.data["task"],
                "attempt": opening.data["attempt"],
                "check": opening.data.get("check"),
                "agent": opening.data.get("agent"),
                "latency_ms": (parse_time(entry.at) - parse_time(opening.at)) // 1_000,
                "prompt": prompt,
                "reply": reply_of(entry, bodies.of_entry(entry), is_model=plan.is_model(opening.data.get("adapter"))),
            }


def _attempt_reply(entry: ReadEntry, bodies: Bodies, is_model: bool) -> Reply:
    data = entry.data
    detail = orjson.loads(_body_bytes(bodies, "detail") or b"{}")
    failure = None
    kind = data.get("error") or ("cancelled" if data["status"] == "cancelled" else None)
    if kind is not None and "code" not in detail:
        failure = Failure(ErrorKind(kind), detail.get("message", ""), detail.get("retry_after_ms"))
    digest = data.get("executable")
    return Reply(
        content=_body_bytes(bodies, "reply") or _body_bytes(bodies, "output"),
        failure=failure,
        usage=_usage(entry) if data["measured"] and is_model else None,
        exit_status=data.get("exit_status"),
        executable=None if digest is None else Executable(detail.get("path", ""), digest),
        stderr=_body_bytes(bodies, "stderr"),
        model=detail.get("model", ""),
        finish=detail.get("finish", ""),
    )


def _body_bytes(bodies: Bodies, name: str) -> bytes:
    return bodies[name].data if name in bodies else b""


def _usage(entry: ReadEntry) -> Usage:
    usage = entry.data["usage"]
    return Usage(usage["input_tokens"], usage["cached_input_tokens"], usage["output_tokens"])


def _verdict_reply(entry: ReadEntry, bodies: Bodies) -> Reply:
    """A reply that leads to this verdict, with this reason."""
    content, reason = _body_bytes(bodies, "reply"), _body_bytes(bodies, "reason").decode()
    detail = orjson.loads(_body_bytes(bodies, "detail") or b"{}")
    retry_after_ms = detail.get("retry_after_ms")
    if entry.data["verdict"] == "none":
        failure = None if "code" in detail else Failure(ErrorKind(entry.data["error"]), reason, retry_after_ms)
        return Reply(content, failure, usage=_usage(entry))
    if entry.data["by"] == "agent":
        return Reply(content, usage=_usage(entry))
    # A command's reason is its standard output followed by its standard error, as text.
    stderr = reason[len(content.decode(errors="replace")) + 1 :] if content else reason
    failure = None if entry.data["verdict"] == "pass" else Failure(ErrorKind.EXIT_STATUS, reason, retry_after_ms)
    return Reply(content, failure, stderr=stderr.encode())
