"""Reconstructs the replies of adapters from the entries that recorded them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from forum_adapters.base import ErrorKind, Executable, Failure, Reply, Usage
from forum_runner.ledger.clock import read_time
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.ledger.recorded_body import RecordedBodies, RecordedBody
from forum_runner.ledger.run_reader import read_entries

Bodies = Mapping[str, RecordedBody]


def reply_of(entry: ReadEntry, bodies: Bodies, *, is_model: bool) -> Reply:
    """The reply of a `task.finished`, or of a `verdict.given` by a command or an agent.

    A `code` in the detail says that the runner itself rejected the reply: it reads the reply again, and rejects it.
    """
    return _verdict(entry, bodies) if entry.kind == "verdict.given" else _work(entry, bodies, is_model)


def recorded_calls(directory: Path) -> list[dict[str, Any]]:
    """Every call of a run with its reply, in the form that the replay adapter takes."""
    with (directory / BODIES).open("rb") as stream:
        return list(_calls(directory, RecordedBodies(stream)))


def _calls(directory: Path, bodies: RecordedBodies) -> Iterator[dict[str, Any]]:
    adapters: Mapping[str, Any] = {}
    open_calls: dict[str, ReadEntry] = {}
    for entry in read_entries(directory):
        if entry.kind == "run.opened":
            adapters = orjson.loads(bodies.body(entry.bodies["wave_plan"]).data)["adapters"]
        elif entry.kind in ("task.started", "verdict.asked"):
            open_calls[entry.data["task"]] = entry
        elif entry.kind in ("task.finished", "verdict.given") and entry.data.get("by") != "schema":
            began = open_calls.pop(entry.data["task"])
            adapter = began.data.get("adapter")
            is_model = adapter is not None and adapters[adapter]["type"] != "command"
            prompt = orjson.loads(bodies.body(began.bodies["prompt"]).data) if "prompt" in began.bodies else {}
            if "stdin" in prompt:
                prompt["stdin"] = prompt["stdin"].encode()
            yield {
                "task": began.data["task"],
                "attempt": began.data["attempt"],
                "check": began.data.get("check"),
                "agent": began.data.get("agent"),
                "latency_ms": (read_time(entry.at) - read_time(began.at)) // 1_000,
                "prompt": prompt,
                "reply": reply_of(entry, bodies.of(entry), is_model=is_model),
            }


def _work(entry: ReadEntry, bodies: Bodies, is_model: bool) -> Reply:
    data, usage = entry.data, entry.data["usage"]
    detail = orjson.loads(bodies["detail"].data) if "detail" in bodies else {}
    content = _content(bodies)
    failure = None
    kind = data.get("error") or ("cancelled" if data["status"] == "cancelled" else None)
    if kind is not None and "code" not in detail:
        failure = Failure(ErrorKind(kind), detail.get("message", ""), detail.get("retry_after_ms"))
    counted = Usage(usage["input_tokens"], usage["cached_input_tokens"], usage["output_tokens"])
    digest = data.get("executable")
    return Reply(
        content=content,
        failure=failure,
        usage=counted if data["measured"] and is_model else None,
        exit_status=data.get("exit_status"),
        executable=None if digest is None else Executable(detail.get("path", ""), digest),
        stderr=bodies["stderr"].data if "stderr" in bodies else b"",
        model=detail.get("model", ""),
        finish=detail.get("finish", ""),
    )


def _content(bodies: Bodies) -> bytes:
    for name in ("reply", "output"):
        if name in bodies:
            return bodies[name].data
    return b""


def _verdict(entry: ReadEntry, bodies: Bodies) -> Reply:
    """A reply that gives this verdict, with this reason."""
    usage = entry.data["usage"]
    counted = Usage(usage["input_tokens"], usage["cached_input_tokens"], usage["output_tokens"])
    content = bodies["reply"].data if "reply" in bodies else b""
    said = bodies["reason"].data.decode() if "reason" in bodies else ""
    detail = orjson.loads(bodies["detail"].data) if "detail" in bodies else {}
    retry_after_ms = detail.get("retry_after_ms")
    if entry.data["verdict"] == "none":
        failed = None if "code" in detail else Failure(ErrorKind(entry.data["error"]), said, retry_after_ms)
        return Reply(content, failed, usage=counted)
    if entry.data["by"] == "agent":
        return Reply(content, usage=counted)
    # A command's reason is what it wrote to its two outputs, one after the other, as text.
    errors = said[len(content.decode(errors="replace")) + 1 :] if content else said
    failure = None if entry.data["verdict"] == "pass" else Failure(ErrorKind.EXIT_STATUS, said, retry_after_ms)
    return Reply(content, failure, stderr=errors.encode())
