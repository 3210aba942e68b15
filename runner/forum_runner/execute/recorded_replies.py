"""What adapters must have said for a record to be what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from forum_adapters.base import ErrorKind, Executable, Failure, Reply, Usage
from forum_runner.execute.restore import RecordedBodies, read_entries
from forum_runner.execute.values import RecordedBody
from forum_runner.ledger.clock import read_time
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.read_entry import ReadEntry

# How the runner's own sentences about an answer begin; an adapter's do not.
_OWN_WORDS = ("the answer is ", "the answer holds ", "the answer does not fit ", "the answer has ", "a judge answers ")
Bodies = Mapping[str, RecordedBody]


def reply_of(entry: ReadEntry, bodies: Bodies, *, is_model: bool) -> Reply:
    """The reply of a `task.finished`, or of a `verdict.given` by a command or an agent."""
    return _verdict(entry, bodies) if entry.kind == "verdict.given" else _work(entry, bodies, is_model)


def recorded_calls(directory: Path) -> list[dict[str, Any]]:
    """Every call of a run with its reply, as the replay adapter takes them."""
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
    # An answer that could not be read is read again, and fails again.
    message = detail.get("message", "")
    if kind is not None and not (ErrorKind(kind).is_answer and content and message.startswith(_OWN_WORDS)):
        failure = Failure(ErrorKind(kind), message, detail.get("retry_after_ms"))
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
    """A reply that gives this verdict, on this ground."""
    usage = entry.data["usage"]
    counted = Usage(usage["input_tokens"], usage["cached_input_tokens"], usage["output_tokens"])
    content = bodies["reply"].data if "reply" in bodies else b""
    ground = bodies["ground"].data if "ground" in bodies else b""
    said = ground.decode()
    detail = orjson.loads(bodies["detail"].data) if "detail" in bodies else {}
    retry_after_ms = detail.get("retry_after_ms")
    if entry.data["verdict"] == "none":
        kind = ErrorKind(entry.data["error"])
        is_read = kind.is_answer and content and said.startswith(_OWN_WORDS)
        failed = Failure(kind, said, retry_after_ms)
        return Reply(content, None if is_read else failed, usage=counted)
    if entry.data["by"] == "agent":
        return Reply(content, usage=counted)
    # A command's ground is what it wrote to its two outputs, one after the other.
    errors = ground[len(content) + 1 :] if content else ground
    failure = None if entry.data["verdict"] == "pass" else Failure(ErrorKind.EXIT_STATUS, said, retry_after_ms)
    return Reply(content, failure, stderr=errors)
