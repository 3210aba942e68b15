"""Check the claims of a vector against the entries of its run."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from forum_conformance.archive import SALT_TAG
from vector_generator.runs.case import RUN_ID, Backoff, Claim, Count, EntryClaim, Kinds, Output
from vector_generator.runs.directory import OUTPUTS, Files, RecordedRun, read_run


class ClaimError(Exception):
    """A run contradicts a handwritten claim."""


def check(claims: Iterable[Claim], files: Files) -> None:
    """Check the claims. Claims about entries must match in order; the other claims are about the whole run."""
    run = read_run(files)
    seq = 0
    for claim in claims:
        if isinstance(claim, EntryClaim):
            seq = find(run, claim, seq) + 1
        elif isinstance(claim, Count):
            count = sum(_matches(run, number, EntryClaim(claim.kind, claim.data)) for number in range(len(run.entries)))
            _require(count == claim.number, f"expected {claim}, found {count}", run)
        elif isinstance(claim, Kinds):
            _require(_kinds(run) == list(claim.kinds), f"the kinds are {_kinds(run)}", run)
        elif isinstance(claim, Backoff):
            _check_wait(run, claim)
        else:
            _check_output(claim, files)


def find(run: RecordedRun, claim: EntryClaim, start: int = 0) -> int:
    """The seq of the first entry from `start` that matches a claim."""
    for seq in range(start, len(run.entries)):
        if _matches(run, seq, claim):
            return seq
    _require(False, f"no entry from {start} on matches {claim}", run)
    raise AssertionError


def _matches(run: RecordedRun, seq: int, claim: EntryClaim) -> bool:
    entry = run.entries[seq]
    if entry["kind"] != claim.kind or not _contains(entry["data"], claim.data):
        return False
    if claim.at is not None and run.at_ms(seq) != claim.at:
        return False
    if claim.causes is not None and tuple(entry["causes"]) != claim.causes:
        return False
    if claim.actor is not None and entry["actor"] != claim.actor:
        return False
    names = {*entry["data"], *entry["bodies"]}
    is_salted = all("salted" in entry["bodies"].get(name, {}) for name in claim.salted)
    is_salted = is_salted and all(_has_salt(run, entry, *item) for item in claim.salts.items())
    return is_salted and names.isdisjoint(claim.absent) and _has_bodies(run, entry, claim.bodies)


def _has_salt(run: RecordedRun, entry: Mapping[str, Any], name: str, number: str) -> bool:
    if name not in entry["bodies"]:
        return False
    digest = entry["bodies"][name]["digest"]
    salt = hashlib.sha256(f"forum:salt:{entry['run']}/{number}".encode()).digest()
    return bool(hashlib.sha256(SALT_TAG + salt + run.bodies[digest]).hexdigest() == digest)


def _contains(data: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether the data contains the wanted members, compared recursively."""
    for name, value in wanted.items():
        if name not in data:
            return False
        found = data[name]
        if isinstance(value, Mapping) and isinstance(found, Mapping):
            if not _contains(found, value):
                return False
        elif found != value:
            return False
    return True


def _has_bodies(run: RecordedRun, entry: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    for name, value in wanted.items():
        if name not in entry["bodies"]:
            return False
        found = run.bodies[entry["bodies"][name]["digest"]].replace(entry["run"].encode(), RUN_ID.encode())
        if isinstance(value, bytes):
            is_match = found == value
        elif isinstance(value, str):
            is_match = found == value.encode()
        else:
            is_match = _value_matches(json.loads(found), value)
        if not is_match:
            return False
    return True


def _value_matches(found: Any, wanted: Any) -> bool:
    return _contains(found, wanted) if isinstance(found, Mapping) and isinstance(wanted, Mapping) else found == wanted


def _kinds(run: RecordedRun) -> list[str]:
    names = ((entry, entry["data"].get("task", entry["data"].get("output"))) for entry in run.entries)
    return [entry["kind"] if name is None else f"{entry['kind']} {name}" for entry, name in names]


def _check_wait(run: RecordedRun, claim: Backoff) -> None:
    before = find(run, EntryClaim("task.finished", {"task": claim.task, "attempt": claim.attempt - 1}))
    after = find(run, EntryClaim("task.started", {"task": claim.task, "attempt": claim.attempt}))
    longest_ms = min(claim.backoff_ms * 2 ** (claim.n - 1), claim.max_backoff_ms)
    random_bytes = hashlib.sha256(f"{run.entries[0]['run']}/{claim.task}/{claim.n}".encode()).digest()[:4]
    wanted = longest_ms - longest_ms * (int.from_bytes(random_bytes) % 1_001) // 2_000
    waited = run.at_ms(after) - run.at_ms(before)
    _require(waited == wanted, f"{claim}: waited {waited} ms, expected {wanted}", run)


def _check_output(claim: Output, files: Files) -> None:
    found = files.get(f"{OUTPUTS}/{claim.name}")
    if found != claim.data:
        raise ClaimError(f"the output {claim.name} is {found!r}, expected {claim.data!r}")


def _require(is_match: bool, problem: str, run: RecordedRun) -> None:
    if not is_match:
        raise ClaimError(f"{problem}\n{entries_text(run)}")


def entries_text(run: RecordedRun) -> str:
    """All entries, one per line, for an error message."""
    lines = []
    for entry in run.entries:
        data = {name: value for name, value in entry["data"].items() if name not in ("fingerprint", "executable")}
        bodies = {name: run.bodies.get(body["digest"], b"")[:300] for name, body in entry["bodies"].items()}
        bodies.pop("wave_plan", None)
        lines.append(f"{entry['seq']:3} {run.at_ms(entry['seq'])} {entry['kind']} {data} {entry['causes']} {bodies}")
    return "\n".join(lines)
