"""Workflows with model servers, and the recorded calls of their runs."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from acceptance.workflow_folder import Folder, Result, all_bytes_in, ask, check_valid
from servers.formats import Format

# Contains characters that every encoding changes.
KEY = "sk-7f/Q+9=x&\"Zw'tail"
NO_TOKENS = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}
MAX_TOKENS = 64
HELLO = {"hello": ask("Say hello.")}

Fields = Mapping[str, Any]


def model(format_: Format, base_url: str, **settings: Any) -> dict[str, Any]:
    """The manifest of a model adapter whose key is in the variable KEY."""
    defaults = {"type": str(format_), "base_url": base_url, "model": "small", "api_key_env": "KEY"}
    return {**defaults, "max_tokens": MAX_TOKENS, **settings}


def write_workflow(
    folder: Folder,
    tasks: Fields,
    adapters: Fields,
    *,
    agents: Fields | None = None,
    policy: Fields | None = None,
    outputs: Fields | None = None,
) -> None:
    """Write a workflow whose `writer` uses the first adapter, with a policy that allows calls to this machine."""
    defaults = {"allow": {"hosts": ["127.0.0.1"], "env": ["KEY", "PROXY"]}, "max_parallel": 1}
    roster = {"adapters": adapters, "agents": agents or {"writer": {"adapter": next(iter(adapters))}}}
    folder.write(tasks, roster=roster, policy={**defaults, **(policy or {})}, outputs=outputs)


def retry_policy(attempts: int = 2) -> dict[str, Any]:
    """A policy with this many attempts and almost no backoff."""
    return {"retry": {"attempts": attempts, "backoff": "1ms"}}


def run_hello(folder: Folder, base_url: str, format_: Format, attempts: int = 2, **settings: Any) -> Result:
    """Run a workflow with one task. Check that the ledger is valid and that the key is not leaked."""
    adapters = {"model": model(format_, base_url, **settings)}
    write_workflow(folder, HELLO, adapters, policy=retry_policy(attempts), outputs={"said": "hello"})
    result = folder.run()
    check_valid_by_command(folder)
    check_not_leaked(KEY, folder.path / "run", result)
    return result


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt with its entries and bodies. `detail` describes the answer, and `reply` is its raw text."""

    start_entry: Fields
    end_entry: Fields
    detail: Fields
    prompt: str
    reply: bytes | None

    @property
    def outcome(self) -> str:
        """The status or, for an error, its kind."""
        data = self.end_entry["data"]
        return str(data["error"] if data["status"] == "error" else data["status"])

    @property
    def tokens(self) -> dict[str, int]:
        return {name: self.end_entry["data"]["usage"][name] for name in NO_TOKENS}

    @property
    def reserved_tokens(self) -> dict[str, int]:
        return {
            **NO_TOKENS,
            **{name: self.start_entry["data"]["reserved"][name] for name in ("input_tokens", "output_tokens")},
        }

    @property
    def is_measured(self) -> bool:
        return bool(self.end_entry["data"]["measured"])

    @property
    def began_at(self) -> datetime:
        return datetime.fromisoformat(self.start_entry["at"])

    @property
    def ended_at(self) -> datetime:
        return datetime.fromisoformat(self.end_entry["at"])


def calls(folder: Folder, out: str = "run", task: str | None = None) -> list[Call]:
    """The calls of a run or of one task, in the order in which they ended."""
    began = {(entry["data"]["task"], entry["data"]["attempt"]): entry for entry in folder.entries(out, "task.started")}
    ended = folder.entries(out, "task.finished")
    return [_call(folder, out, began, entry) for entry in ended if task in (None, entry["data"]["task"])]


def _call(folder: Folder, out: str, began: Mapping[tuple[str, int], Fields], ended: Fields) -> Call:
    def body(entry: Fields, name: str) -> bytes | None:
        return folder.body(out, entry, name) if name in entry["bodies"] else None

    start = began[ended["data"]["task"], ended["data"]["attempt"]]
    prompt = json.loads(body(start, "prompt") or b"{}")["text"]
    return Call(start, ended, json.loads(body(ended, "detail") or b"{}"), prompt, body(ended, "reply"))


def totals(folder: Folder, out: str = "run") -> dict[str, int]:
    sealed_totals: dict[str, int] = folder.entries(out, "run.sealed")[0]["data"]["totals"]
    return sealed_totals


def check_valid_by_command(folder: Folder, out: str = "run") -> None:
    """Assert that both verifiers and replay accept the run, called in process and as commands."""
    check_valid(folder.path / out)
    results = [folder.forum(command, out) for command in ("verify", "replay")]
    assert [result.code for result in results] == [0, 0], results


def check_not_leaked(secret: str, directory: Path, *results: Result) -> None:
    """Assert that a secret appears in no file and no output, in any encoding."""
    printed = "\n".join(result.out + result.err for result in results).encode()
    recorded = all_bytes_in(directory)
    assert [name for name, encoded in _encodings(secret) if encoded in recorded] == []
    assert [name for name, encoded in _encodings(secret) if encoded in printed] == []


def _encodings(secret: str) -> Iterator[tuple[str, bytes]]:
    yield "plain", secret.encode()
    yield "in JSON", json.dumps(secret)[1:-1].encode()
    yield "hexadecimal", secret.encode().hex().encode()
    for quoted in (quote(secret), quote(secret, safe=""), quote_plus(secret)):
        yield "in a URL", quoted.encode()
    for offset in range(3):
        # Omit the characters that depend on neighboring bytes.
        encoded = base64.b64encode(bytes(offset) + secret.encode())
        yield "base64", encoded[-(-offset * 8 // 6) : (offset + len(secret)) * 8 // 6]
