"""A valid run directory in memory, and ways to rewrite it after a change."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rfc8785

from forum_conformance.mutation.archive import Member, pack, unpack

LEDGER = "ledger.jsonl"
BODIES = "bodies.tar"
CHECKPOINT = "checkpoint"
WAVE_PLAN = "wave-plan.json"
OUTPUTS = "outputs/"
SALT_BYTES = 32
SUFFIXES = {"application/json": ".json", "text/plain": ".txt"}
PREV_START = b'"prev":"'

Entry = dict[str, Any]
Files = dict[str, bytes]
Form = Callable[[Entry], bytes]
"""A function that writes an entry as a line."""


@dataclass(frozen=True, slots=True)
class Original:
    """A valid run directory. The mutants share its `entries`: copy an entry before you change it."""

    files: Files
    lines: list[bytes]
    entries: list[Entry]
    members: list[Member]
    redacted: frozenset[str]
    """The digests of redacted bodies."""
    plan: dict[str, Any]
    """The wave plan; empty if the ledger has none, and then level 4 is not checked."""

    def with_files(self, **changed: bytes) -> Files:
        """Replace files at the top of the directory. A keyword is the name of a file, with `_` for `.` and `-`."""
        names = {"ledger_jsonl": LEDGER, "bodies_tar": BODIES, "checkpoint": CHECKPOINT, "wave_plan_json": WAVE_PLAN}
        return {**self.files, **{names[key]: content for key, content in changed.items()}}

    def without(self, *names: str) -> Files:
        return {name: content for name, content in self.files.items() if name not in names}

    def with_lines(self, lines: Iterable[bytes]) -> Files:
        return self.with_files(ledger_jsonl=join_lines(lines))

    def with_members(self, members: list[Member]) -> Files:
        return self.with_files(bodies_tar=pack(members))

    def rewrite(self, draft: Draft) -> Files:
        """The files that a writer of these entries would produce: chain, seals, bodies, copies and checkpoint agree."""
        lines = self._lines(draft)
        members = self._members(draft)
        files = self.without(WAVE_PLAN, *(name for name in self.files if name.startswith(OUTPUTS)))
        files[LEDGER] = join_lines(lines)
        files[BODIES] = self.files[BODIES] if draft.keeps_archive else pack(members, has_end=is_sealed(draft.entries))
        files |= copies(draft.entries, members)
        if CHECKPOINT in files:
            files[CHECKPOINT] = checkpoint(draft.entries[0]["run"], lines)
        return files

    def _lines(self, draft: Draft) -> list[bytes]:
        lines: list[bytes] = []
        leaves: list[bytes] = []
        original_lines = {id(entry): line for entry, line in zip(self.entries, self.lines, strict=True)}
        for seq, entry in enumerate(draft.entries):
            prev = leaves[-1].hex() if leaves else "0" * 64
            line = original_lines.get(id(entry), b"")
            if entry["kind"] == "run.sealed" and isinstance(entry["data"], dict) and not draft.keeps_roots:
                entry = {**entry, "data": {**entry["data"], "root": merkle_root(leaves).hex()}}
                line = b""
            if line and seq not in draft.forms:
                start = line.rindex(PREV_START) + len(PREV_START)
                line = line[:start] + prev.encode() + line[start + 64 :]
            else:
                form: Form = draft.forms.get(seq, canonical)
                line = form({**entry, "prev": prev})
            lines.append(line)
            leaves.append(leaf_hash(line))
        return lines

    def _members(self, draft: Draft) -> list[Member]:
        members = {member.digest: member for member in [*self.members, *draft.bodies]}
        digests = [
            body["digest"]
            for entry in draft.entries
            if isinstance(entry.get("bodies"), dict)
            for _, body in sorted(entry["bodies"].items())
        ]
        return [members[digest] for digest in dict.fromkeys(digests) if digest in members]


@dataclass(frozen=True, slots=True)
class Draft:
    """Entries to write.

    `forms` has the functions that write lines in a different form than the canonical one, by seq. With `keeps_archive`,
    bodies.tar is not rewritten; with `keeps_roots`, the roots in seals are not recomputed.
    """

    entries: list[Entry]
    forms: Mapping[int, Form] = field(default_factory=dict)
    bodies: Sequence[Member] = ()
    """Members that the original does not have."""
    keeps_archive: bool = False
    keeps_roots: bool = False


def read_original(run_dir: Path) -> Original:
    files = {
        path.relative_to(run_dir).as_posix(): path.read_bytes() for path in sorted(run_dir.rglob("*")) if path.is_file()
    }
    lines = files[LEDGER].split(b"\n")[:-1]
    entries = [json.loads(line) for line in lines]
    members = unpack(files[BODIES])
    redacted = frozenset(entry["data"]["digest"] for entry in entries if entry["kind"] == "body.redacted")
    contents = {member.digest: content_of(member) for member in members if member.folder != "redacted"}
    body = entries[0]["bodies"].get("wave_plan", {}).get("digest")
    plan = json.loads(contents[body]) if body in contents else {}
    return Original(files, lines, entries, members, redacted, plan)


def canonical(value: Any) -> bytes:
    return rfc8785.dumps(value)


def join_lines(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def leaf_hash(line: bytes) -> bytes:
    return hashlib.sha256(b"\0" + line).digest()


def merkle_root(leaves: Sequence[bytes]) -> bytes:
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256().digest()
    half = 1 << ((len(leaves) - 1).bit_length() - 1)
    return hashlib.sha256(b"\1" + merkle_root(leaves[:half]) + merkle_root(leaves[half:])).digest()


def checkpoint(run: str, lines: Sequence[bytes]) -> bytes:
    encoded_root = base64.b64encode(merkle_root([leaf_hash(line) for line in lines])).decode()
    return f"forum/{run}\n{len(lines)}\n{encoded_root}\n".encode()


def is_sealed(entries: Sequence[Entry]) -> bool:
    return bool(entries) and entries[-1]["kind"] == "run.sealed"


def copies(entries: Sequence[Entry], members: Sequence[Member]) -> Files:
    """The copies of bodies that a run with these entries has: the wave plan and the outputs, by path."""
    bodies_by_path = {}
    for entry in entries:
        bodies = entry["bodies"]
        if entry["kind"] == "run.opened" and "wave_plan" in bodies:
            bodies_by_path[WAVE_PLAN] = bodies["wave_plan"]
        if entry["kind"] == "answer.given" and "value" in bodies and isinstance(entry["data"], dict):
            value = bodies["value"]
            bodies_by_path[f"{OUTPUTS}{entry['data']['output']}{SUFFIXES.get(value['type'], '.bin')}"] = value
    stored = {member.digest: member for member in members if member.folder != "redacted"}
    return {
        path: content_of(stored[body["digest"]])
        for path, body in bodies_by_path.items()
        if isinstance(body, dict) and body["digest"] in stored
    }


def content_of(member: Member) -> bytes:
    return member.content[SALT_BYTES:] if member.folder == "salted" else member.content
