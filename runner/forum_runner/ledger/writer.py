"""Writes a ledger: one writer, entries in order, each chained to the one before.

Staging gives an entry its seq and hash. Committing writes it, as durably as requested. Threads that commit at the same
time share one write and one sync.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from forum_runner import __version__
from forum_runner.errors import ExitCode, ForumError, UsageError
from forum_runner.ledger.archive import LARGE_BYTES, MAX_BODY_BYTES, PLAIN, SALT_BYTES, LargeMember, member
from forum_runner.ledger.body import Body, Salt, StoredBody, copy_name, store_large, store_salted
from forum_runner.ledger.clock import Clock, TimeWriter, wall_clock
from forum_runner.ledger.entries import may_follow_a_seal
from forum_runner.ledger.entry import EntryError, NewEntry, encode_entry, encode_sound_entry
from forum_runner.ledger.files import LedgerFiles
from forum_runner.ledger.layout import CHECKPOINT, FORMAT, OUTPUTS, ZERO_HASH
from forum_runner.ledger.merkle import MerkleTree
from forum_runner.write_file import sync_directory, write_file

_VERBS = {"run.sealed": "seal", "body.redacted": "redact"}
_ENDS = frozenset({"run.sealed", "run.paused"})
_MOST_BYTES = MAX_BODY_BYTES - SALT_BYTES
IMPLEMENTATION = {"name": "forum-runner", "version": __version__}
NO_COUNTS = dict.fromkeys(("passed", "failed", "tolerated", "skipped", "stopped", "refused", "cancelled"), 0)
NO_TOTALS = dict.fromkeys(
    ("calls", "input_tokens", "cached_input_tokens", "output_tokens", "micro_usd", "output_bytes", "wall_ms"), 0
)


class LedgerBrokenError(ForumError):
    """A write failed, so the state on disk is unknown. The ledger has to be opened again before it accepts entries."""

    exit_code = ExitCode.INCOMPLETE

    def __init__(self, error: BaseException | None) -> None:
        reason = error.strerror if isinstance(error, OSError) else "it was interrupted"
        super().__init__(f"the ledger could not be written: {reason}; its earlier entries stay readable")


class LedgerState:
    """What the next entry depends on: the chain so far, and the bodies that are already stored.

    `sealed_as` holds status, counts and totals of the last seal. A later seal repeats them.
    """

    __slots__ = ("answers", "head", "is_sealed", "latest", "redacted", "run", "sealed_as", "stored", "tree")

    def __init__(self, run: str) -> None:
        self.run = run
        self.head = ZERO_HASH
        self.tree = MerkleTree()
        self.stored: set[bytes] = set()
        self.redacted: set[bytes] = set()
        self.latest = ""
        self.is_sealed = False
        self.answers: set[str] = set()
        self.sealed_as: dict[str, Any] | None = None


def random_salt() -> bytes:
    return os.urandom(SALT_BYTES)


_OPEN: WeakSet[LedgerWriter] = WeakSet()


def _leave_to_the_parent() -> None:
    """Disables writers in a child process: it has the parent's descriptors and would overwrite the parent's entries."""
    for writer in list(_OPEN):
        writer._broken = OSError(errno.EPERM, "it belongs to the process that opened it")
        # The locks may be held by a thread that the child does not have.
        writer._staging, writer._committing = threading.Lock(), threading.Lock()


os.register_at_fork(after_in_child=_leave_to_the_parent)


class LedgerWriter:
    def __init__(
        self, files: LedgerFiles, state: LedgerState, clock: Clock = wall_clock, salt: Salt = random_salt
    ) -> None:
        self._files = files
        self._state = state
        self._now = TimeWriter(None if clock is wall_clock else clock, state.latest).now
        self._salt = salt
        self._staging = threading.Lock()
        self._committing = threading.Lock()
        self._lines: list[bytes] = []
        self._bodies: list[bytes | LargeMember] = []
        self._seals = False
        self._ends = False
        self._committed = state.tree.size
        self._broken: BaseException | None = None
        # Set while the state is inconsistent. An interrupt may arrive at any point, more than once.
        self._is_staging = False
        self._is_committing = False
        self._references: Mapping[str, Any] = {}
        _OPEN.add(self)

    @property
    def directory(self) -> Path:
        return self._files.directory

    @property
    def run(self) -> str:
        return self._state.run

    @property
    def head(self) -> str:
        """The hash of the last line."""
        return self._state.head

    @property
    def size(self) -> int:
        return self._state.tree.size

    @property
    def committed(self) -> int:
        """How many entries are as durable as requested."""
        return self._committed

    @property
    def syncs_each(self) -> bool:
        """Whether a commit waits for the disk."""
        return self._files.syncs_each

    @property
    def is_sealed(self) -> bool:
        return self._state.is_sealed

    def append(
        self,
        kind: str,
        data: Mapping[str, Any] | None = None,
        *,
        bodies: Mapping[str, Body] | None = None,
        causes: Sequence[int] = (),
        actor: str = "runner",
    ) -> int:
        """Writes an entry and returns its seq. When it returns, the entry is acknowledged."""
        self._refuse_what_has_its_own_verb(kind)
        with self._staging:
            seq = self._place(kind, data, bodies or {}, causes, actor)
        self.commit()
        return seq

    def stage(
        self,
        kind: str,
        data: Mapping[str, Any] | None = None,
        *,
        bodies: Mapping[str, Body] | None = None,
        causes: Sequence[int] = (),
        actor: str = "runner",
    ) -> int:
        """Stages an entry and returns its seq. The next `commit` writes and acknowledges it."""
        self._refuse_what_has_its_own_verb(kind)
        with self._staging:
            return self._place(kind, data, bodies or {}, causes, actor)

    def stage_sound(self, entries: Sequence[NewEntry]) -> int:
        """Stages entries that the caller knows to be valid: they are not checked against their schemas."""
        with self._staging:
            seq = self._state.tree.size
            if seq == 0 or self._state.sealed_as is not None:
                for entry in entries:
                    self._check_place(entry.kind, seq)
            return self._place_all(entries, encode_sound_entry)

    def _place(
        self,
        kind: str,
        data: Mapping[str, Any] | None,
        bodies: Mapping[str, Body],
        causes: Sequence[int] = (),
        actor: str = "runner",
    ) -> int:
        self._check_place(kind, self._state.tree.size)
        return self._place_all((NewEntry(kind, {} if data is None else data, bodies, causes, actor),), encode_entry)

    def _place_all(self, entries: Sequence[NewEntry], encode: Callable[[dict[str, Any]], bytes]) -> int:
        """Stages all entries or none, with one time, and returns the seq of the last.

        The caller holds the lock: no other entry may come between an entry's seq and its hash.
        """
        if self._broken is not None or self._is_staging:
            raise LedgerBrokenError(self._broken)
        state = self._state
        run, stored = state.run, state.stored
        seq, head, at = state.tree.size - 1, state.head, self._now()
        leaves: list[bytes] = []
        lines: list[bytes] = []
        members: dict[bytes, bytes | LargeMember] = {}
        references: dict[str, Any] = {}
        kind = ""
        for entry in entries:
            seq += 1
            kind, bodies = entry.kind, entry.bodies
            references = {}
            if bodies:
                for name in sorted(bodies) if len(bodies) > 1 else bodies:
                    digest, folder, make, content, reference = self._store(bodies[name])
                    references[name] = reference
                    if digest not in stored and digest not in members:
                        members[digest] = make(folder, reference["digest"], content)
            line = encode({
                "actor": entry.actor, "at": at, "bodies": references, "causes": entry.causes, "data": entry.data,
                "kind": kind, "prev": head, "run": run, "seq": seq, "v": FORMAT,
            })  # fmt: skip
            leaf = sha256(b"\0" + line).digest()
            head = leaf.hex()
            leaves.append(leaf)
            # A copy: orjson's own object keeps a buffer of 4 KiB.
            lines.append(line + b"\n")
        self._is_staging = True
        state.head = head
        state.tree.add_all(leaves)
        stored.update(members)
        if kind in _ENDS or state.is_sealed:
            state.is_sealed = self._seals = kind == "run.sealed"
            self._ends = self._ends or kind in _ENDS
        self._bodies += members.values()
        self._lines += lines
        self._references = references
        self._is_staging = False
        return seq

    def digests_of_last(self) -> dict[str, str]:
        """The digests of the bodies of the last staged entry, by name."""
        return {name: reference["digest"] for name, reference in self._references.items()}

    def _refuse_what_has_its_own_verb(self, kind: str) -> None:
        if kind in _VERBS:
            raise EntryError(kind, f"use `{_VERBS[kind]}()` to write this kind")

    def _check_place(self, kind: str, seq: int) -> None:
        if (kind == "run.opened") != (seq == 0):
            raise EntryError(kind, "run.opened must be the first entry, and only the first")
        if self._state.sealed_as is not None and not may_follow_a_seal(kind):
            raise EntryError(kind, "the ledger is sealed")

    def _store(self, body: Body) -> StoredBody:
        if not isinstance(body, Body):
            raise UsageError(f"a body must be made by Body, Body.text or Body.json, not {type(body).__name__}")
        data, type_, is_sensitive = body
        size = len(data)
        if size > LARGE_BYTES:
            if size > _MOST_BYTES:
                raise UsageError(f"a body has at most {_MOST_BYTES:,} bytes")
            return store_large(body, self._salt, self._state.redacted)
        if is_sensitive:
            return store_salted(body, self._salt)
        digest = sha256(data).digest()
        # A redacted digest is never used again: the same bytes get a salt, and so another digest.
        if digest in self._state.redacted:
            return store_salted(body, self._salt)
        return digest, PLAIN, member, data, {"bytes": size, "digest": digest.hex(), "type": type_}

    def commit(self) -> None:
        """Writes all staged entries. Callers that arrive during another commit wait, and find their entries written."""
        wanted = self._state.tree.size
        with self._committing:
            if self._committed >= wanted:
                return
            if self._broken is not None or self._is_committing:
                raise LedgerBrokenError(self._broken)
            self._is_committing = True
            with self._staging:
                bodies, lines, seals, ends = self._bodies, self._lines, self._seals, self._ends
                self._bodies, self._lines, self._seals, self._ends = [], [], False, False
                reached = self._state.tree.size
            try:
                self._files.write(bodies, lines, is_sealed=seals, is_end=ends)
            except OSError as error:
                self._broken = error
                raise LedgerBrokenError(error) from error
            self._committed = reached
            self._is_committing = False

    @contextmanager
    def _breaking(self) -> Iterator[None]:
        """Marks the writer as broken if the block fails or is interrupted: the state on disk is then unknown."""
        try:
            yield
        except BaseException as error:
            self._broken = error
            if isinstance(error, OSError):
                raise LedgerBrokenError(error) from error
            raise

    def answer(self, output: str, value: Body, *, causes: Sequence[int] = ()) -> int:
        """Records one of the plan's named outputs, once, and writes its plain copy."""
        with self._staging:
            if output in self._state.answers:
                raise EntryError("answer.given", f"the output '{output}' is already recorded")
            seq = self._place("answer.given", {"output": output}, {"value": value}, causes)
            self._state.answers.add(output)
        self.commit()
        outputs = self.directory / OUTPUTS
        with self._breaking():
            if not outputs.is_dir():
                outputs.mkdir(exist_ok=True)
                sync_directory(self.directory)
            write_file(outputs / copy_name(output, value.type), value.data)
        return seq

    def seal(
        self, status: str, counts: Mapping[str, int] | None = None, totals: Mapping[str, int] | None = None
    ) -> int:
        """Writes the last entry, and the checkpoint of the whole ledger."""
        from forum_runner.ledger.checkpoint import Checkpoint

        facts = {"status": status, "counts": dict(counts or NO_COUNTS), "totals": dict(totals or NO_TOTALS)}
        with self._staging:
            if self._state.sealed_as not in (None, facts):
                raise EntryError("run.sealed", "an earlier seal has a different status, counts or totals")
            seq = self._place("run.sealed", {**facts, "root": self._root().hex()}, {})
            self._state.sealed_as = facts
            checkpoint = Checkpoint(self.run, self.size, self._root())
        self.commit()
        write_file(self.directory / CHECKPOINT, checkpoint.note().write())
        return seq

    def _root(self) -> bytes:
        """The Merkle root so far. A tree that is interrupted while it adds leaves is inconsistent."""
        self._is_staging = True
        root = self._state.tree.root()
        self._is_staging = False
        return root

    def redact(self, seq: int, body: str, reason: str, *, actor: str = "runner") -> int:
        """Removes the bytes of a body and records the redaction. A sealed ledger is sealed again."""
        from forum_runner.ledger.redaction import find_target, take_away

        self.commit()
        try:
            target = find_target(self.directory, seq, body)
        except OSError as error:
            raise UsageError(f"cannot read '{self.directory}': {error.strerror}") from error
        digest = bytes.fromhex(target.digest)
        facts = {"body": body, "digest": target.digest}
        why = {"reason": Body.text(reason)}
        with self._staging:
            if digest in self._state.redacted:
                raise UsageError(f"the body '{body}' of entry {seq} is already redacted")
            was_sealed = self.is_sealed
            recorded = self._place("body.redacted", facts, why, [seq], actor)
            self._state.redacted.add(digest)
        self.commit()
        with self._breaking():
            # The entry must be durable before the bytes are removed.
            self._files.sync(always=True)
            take_away(self._files, [target.digest], target.copies)
        if was_sealed and self._state.sealed_as is not None:
            self.seal(**self._state.sealed_as)
        return recorded

    def close(self) -> None:
        """Commits staged entries, syncs, and releases the lock."""
        try:
            if self._broken is None and not self._is_staging and not self._is_committing:
                self.commit()
                with self._breaking():
                    self._files.sync()
        finally:
            self._files.close()
            self._broken = self._broken or OSError(errno.EBADF, "it is closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
