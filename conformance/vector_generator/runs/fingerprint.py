"""The fingerprints of a run, computed from its wave plan and its entries by RUN-REUSE-002."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from forum_conformance.canonical import form
from vector_generator.runs.directory import PLAN, Files, RecordedRun, read_run

_WORK_FIELDS = ("instruction", "run", "output", "done_when", "accept")
_IGNORED_SETTINGS = {"api_key_env", "connect_timeout_ms", "prices", "proxy_env", "stream", "timeout_ms"}


def wrong_fingerprints(files: Files) -> list[str]:
    """The units whose recorded fingerprint is wrong."""
    plan, run = json.loads(files[PLAN]), read_run(files)
    starts = (entry for entry in run.entries if entry["kind"] in ("task.started", "task.reused"))
    return [entry["data"]["task"] for entry in starts if entry["data"]["fingerprint"] != _fingerprint(plan, run, entry)]


def _fingerprint(plan: Mapping[str, Any], run: RecordedRun, start: Mapping[str, Any]) -> str:
    unit = start["data"]["task"]
    task = plan["tasks"].get(unit) or plan["tasks"][unit.rpartition("[")[0]]
    earlier = [entry for entry in run.entries[: start["seq"]] if entry["data"].get("task") == unit]
    work = {name: task[name] for name in _WORK_FIELDS if name in task}
    agent = task.get("agent")
    for entry in earlier:
        if entry["kind"] == "gate.decided" and "edited" in entry["bodies"]:
            work["instruction"] = [run.bodies[entry["bodies"]["edited"]["digest"]].decode()]
        elif entry["kind"] == "route.decided":
            agent = entry["data"]["agent"]
    lines = [form(work), _worker(plan, agent, _tiers(plan, task, agent))]
    judges = (check["agent"] for check in task.get("accept", ()) if "agent" in check)
    lines += [_worker(plan, judge, [plan["agents"][judge]["tier"]]) for judge in judges]
    lines += [form(value) for value in sorted(_values(earlier))]
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def _tiers(plan: Mapping[str, Any], task: Mapping[str, Any], agent: str) -> list[str]:
    if "ladder" in task:
        return [step["tier"] for step in task["ladder"]]
    return [plan["agents"][agent]["tier"], *task.get("escalate", ())]


def _worker(plan: Mapping[str, Any], agent: str, tiers: list[str]) -> bytes:
    definition = plan["agents"][agent]
    adapters = []
    for tier in tiers:
        settings = plan["adapters"][definition["adapters"][tier]]
        compared = {name: value for name, value in settings.items() if name not in _IGNORED_SETTINGS}
        adapters.append([tier, compared])
    worker = {"agent": agent, "persona": definition.get("persona", ""), "adapters": adapters}
    return hashlib.sha256(form(worker)).hexdigest().encode()


def _values(earlier: list[Mapping[str, Any]]) -> Iterator[list[Any]]:
    """The name, digest, type and truncated size of each delivered value."""
    cuts = {entry["data"]["as"]: entry["data"]["kept_bytes"] for entry in earlier if entry["kind"] == "context.cut"}
    for entry in earlier:
        if entry["kind"] == "edge.delivered":
            name, body = entry["data"]["as"], entry["bodies"]["value"]
            digest = f"{entry['run']}/{entry['seq']}" if "salted" in body else body["digest"]
            yield [name, digest, body["type"], cuts.get(name)]
