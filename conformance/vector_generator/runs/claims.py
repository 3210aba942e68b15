"""Check the claims of a vector against the entries of its run."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from forum_conformance.archive import SALT_TAG
from vector_generator.runs.case import RUN_ID, Claim, Count, Fact, Kinds, Output, Waited
from vector_generator.runs.directory import OUTPUTS, Files, Recorded, recorded


class NotAsClaimed(Exception):
    """A run that contradicts a handwritten claim."""


def check(claims: Iterable[Claim], files: Files) -> None:
    """Facts are found in their order, each after the one before; the other claims are about the whole."""
    run = recorded(files)
    seq = 0
    for claim in claims:
        if isinstance(claim, Fact):
            seq = find(run, claim, seq) + 1
        elif isinstance(claim, Count):
            found = sum(_fits(run, number, Fact(claim.kind, claim.data)) for number in range(len(run.entries)))
            _refuse_unless(found == claim.number, f"{claim} is not so: there are {found}", run)
        elif isinstance(claim, Kinds):
            _refuse_unless(_kinds(run) == list(claim.listed), f"the kinds are {_kinds(run)}", run)
        elif isinstance(claim, Waited):
            _check_wait(run, claim)
        else:
            _check_output(claim, files)


def find(run: Recorded, wanted: Fact, start: int = 0) -> int:
    """The seq of the first entry that matches a fact."""
    for seq in range(start, len(run.entries)):
        if _fits(run, seq, wanted):
            return seq
    _refuse_unless(False, f"from entry {start} on there is no {wanted}", run)
    raise AssertionError


def _fits(run: Recorded, seq: int, wanted: Fact) -> bool:
    entry = run.entries[seq]
    if entry["kind"] != wanted.kind or not _holds(entry["data"], wanted.data):
        return False
    if wanted.at is not None and run.at_ms(seq) != wanted.at:
        return False
    if wanted.causes is not None and tuple(entry["causes"]) != wanted.causes:
        return False
    if wanted.actor is not None and entry["actor"] != wanted.actor:
        return False
    named = {*entry["data"], *entry["bodies"]}
    is_salted = all("salted" in entry["bodies"].get(name, {}) for name in wanted.salted)
    is_salted = is_salted and all(_has_salt(run, entry, *item) for item in wanted.salts.items())
    return is_salted and named.isdisjoint(wanted.absent) and _has_bodies(run, entry, wanted.bodies)


def _has_salt(run: Recorded, entry: Mapping[str, Any], name: str, number: str) -> bool:
    if name not in entry["bodies"]:
        return False
    digest = entry["bodies"][name]["digest"]
    salt = hashlib.sha256(f"forum:salt:{entry['run']}/{number}".encode()).digest()
    return bool(hashlib.sha256(SALT_TAG + salt + run.bodies[digest]).hexdigest() == digest)


def _holds(data: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Compares nested members, if the expectation has them."""
    for name, value in wanted.items():
        if name not in data:
            return False
        found = data[name]
        if isinstance(value, Mapping) and isinstance(found, Mapping):
            if not _holds(found, value):
                return False
        elif found != value:
            return False
    return True


def _has_bodies(run: Recorded, entry: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    for name, value in wanted.items():
        if name not in entry["bodies"]:
            return False
        found = run.bodies[entry["bodies"][name]["digest"]].replace(entry["run"].encode(), RUN_ID.encode())
        if isinstance(value, bytes):
            is_so = found == value
        elif isinstance(value, str):
            is_so = found == value.encode()
        else:
            is_so = _holds_value(json.loads(found), value)
        if not is_so:
            return False
    return True


def _holds_value(found: Any, wanted: Any) -> bool:
    return _holds(found, wanted) if isinstance(found, Mapping) and isinstance(wanted, Mapping) else found == wanted


def _kinds(run: Recorded) -> list[str]:
    names = ((entry, entry["data"].get("task", entry["data"].get("output"))) for entry in run.entries)
    return [entry["kind"] if name is None else f"{entry['kind']} {name}" for entry, name in names]


def _check_wait(run: Recorded, claim: Waited) -> None:
    before = find(run, Fact("task.finished", {"task": claim.task, "attempt": claim.attempt - 1}))
    after = find(run, Fact("task.started", {"task": claim.task, "attempt": claim.attempt}))
    most = min(claim.backoff_ms * 2 ** (claim.n - 1), claim.max_backoff_ms)
    drawn = hashlib.sha256(f"{run.entries[0]['run']}/{claim.task}/{claim.n}".encode()).digest()[:4]
    wanted = most - most * (int.from_bytes(drawn) % 1_001) // 2_000
    waited = run.at_ms(after) - run.at_ms(before)
    _refuse_unless(waited == wanted, f"{claim} waits {waited} ms, and not {wanted}", run)


def _check_output(claim: Output, files: Files) -> None:
    found = files.get(f"{OUTPUTS}/{claim.name}")
    if found != claim.data:
        raise NotAsClaimed(f"the output {claim.name} is {found!r}")


def _refuse_unless(is_so: bool, problem: str, run: Recorded) -> None:
    if not is_so:
        raise NotAsClaimed(f"{problem}\n{story(run)}")


def story(run: Recorded) -> str:
    """All entries, one per line, for debugging."""
    lines = []
    for entry in run.entries:
        data = {name: value for name, value in entry["data"].items() if name not in ("fingerprint", "executable")}
        bodies = {name: run.bodies.get(body["digest"], b"")[:300] for name, body in entry["bodies"].items()}
        bodies.pop("wave_plan", None)
        lines.append(f"{entry['seq']:3} {run.at_ms(entry['seq'])} {entry['kind']} {data} {entry['causes']} {bodies}")
    return "\n".join(lines)
