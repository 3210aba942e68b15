"""Writes a ledger: one writer, entries in order, each chained to the one before.

Staging gives an entry its seq and hash. Committing writes it, and syncs it if the ledger's durability requires it.
Threads that commit at the same time share one write and one sync.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, get_args
from weakref import WeakSet

from forum_runner import __version__
from forum_runner.errors import ExitCode, ForumError, UsageError
from forum_runner.ledger.archive import SALT_BYTES, member_parts
from forum_runner.ledger.body import Body, Salt, copy_name, digest_body
from forum_runner.ledger.clock import Clock, format_time, wall_clock
from forum_runner.ledger.entries import may_follow_a_seal
from forum_runner.ledger.entry import EntryEncoder, EntryError, NewEntry
from forum_runner.ledger.entry_values import RunTotals, TaskState
from forum_runner.ledger.files import LedgerFiles, make_folder
from forum_runner.ledger.layout import CHECKPOINT, FORMAT, OUTPUTS, ZERO_HASH, leaf_hash
from forum_runner.ledger.merkle import MerkleTree
from forum_runner.write_file import replace_file, sync_directory

_KINDS_WITH_OWN_METHOD = {"run.sealed": "seal", "body.redacted": "redact"}
_END_KINDS = frozenset({"run.sealed", "run.paused"})
IMPLEMENTATION = {"name": "forum-runner", "version": __version__}
NO_COUNTS = dict.fromkeys(get_args(TaskState), 0)
NO_TOTALS = dict.fromkeys(RunTotals.__struct_fields__, 0)


class LedgerBrokenError(ForumError):
    """A write failed or was interrupted, the writer is closed, or it belongs to the parent process.

    After a failed write, the state on disk is unknown. Open the ledger again to write more entries.
    """

    exit_code = ExitCode.INCOMPLETE

    def __init__(self, error: BaseException | None) -> None:
        file, reason = "the ledger", "it was interrupted"
        if isinstance(error, OSError):
            file = f"'{error.filename}'" if error.filename else file
            reason = error.strerror or str(error)
        super().__init__(f"{file} could not be written: {reason}; the entries in the ledger stay readable")


@dataclass(slots=True)
class LedgerState:
    """The state that the next entry depends on.

    `stored` and `redacted` are digests of bodies. `last_time` is the time of the last entry. `is_sealed` is True if the
    last entry is a seal. `sealed_as` has the status, counts and totals of the last seal; a later seal must repeat them.
    """

    run: str
    head: str = ZERO_HASH
    tree: MerkleTree = field(default_factory=MerkleTree)
    stored: set[bytes] = field(default_factory=set)
    redacted: set[bytes] = field(default_factory=set)
    last_time: str = ""
    is_sealed: bool = False
    recorded_outputs: set[str] = field(default_factory=set)
    sealed_as: dict[str, Any] | None = None


def random_salt() -> bytes:
    return os.urandom(SALT_BYTES)


_WRITERS: WeakSet[LedgerWriter] = WeakSet()


def _disable_writers_in_child() -> None:
    """Disables writers in a child process: it has the parent's descriptors and would overwrite the parent's entries."""
    for writer in list(_WRITERS):
        writer._broken = OSError(errno.EPERM, "it belongs to the process that opened it")
        # The locks may be held by a thread that the child does not have.
        writer._staging, writer._committing = threading.Lock(), threading.Lock()


os.register_at_fork(after_in_child=_disable_writers_in_child)


class LedgerWriter:
    """Writes entries to one ledger, from any thread."""

    def __init__(
        self, files: LedgerFiles, state: LedgerState, clock: Clock = wall_clock, salt: Salt = random_salt
    ) -> None:
        self._files = files
        self._state = state
        self._clock = clock
        self._salt = salt
        self._encoder = EntryEncoder()
        self._staging = threading.Lock()
        self._committing = threading.Lock()
        self._lines: list[bytes] = []
        self._bodies: list[bytes] = []
        self._has_staged_seal = False
        self._has_staged_end = False
        self._committed = state.tree.size
        self._broken: BaseException | None = None
        # Set while the state is inconsistent. An interrupt may arrive at any point, more than once.
        self._is_staging = False
        self._is_committing = False
        self._references: Mapping[str, Any] = {}
        _WRITERS.add(self)

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
        """How many entries are committed."""
        return self._committed

    @property
    def syncs_each_commit(self) -> bool:
        """Whether a commit waits for the disk."""
        return self._files.syncs_each_commit

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
        """Writes an entry and returns its seq. When it returns, the entry is committed."""
        seq = self.stage(kind, data, bodies=bodies, causes=causes, actor=actor)
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
        """Stages an entry and returns its seq. The next `commit` writes it."""
        if kind in _KINDS_WITH_OWN_METHOD:
            raise EntryError(kind, f"use `{_KINDS_WITH_OWN_METHOD[kind]}()` to write this kind")
        entry = NewEntry(kind, {} if data is None else data, bodies or {}, causes, actor)
        with self._staging:
            return self._stage((entry,), self._encoder.encode)

    def stage_trusted(self, entries: Sequence[NewEntry]) -> int:
        """Stages entries that the caller knows to be valid: they are not checked against their schemas.

        Returns the seq of the last one.
        """
        with self._staging:
            return self._stage(entries, self._encoder.encode_trusted)

    def _check_position(self, kind: str) -> None:
        if (kind == "run.opened") != (self._state.tree.size == 0):
            raise EntryError(kind, "run.opened must be the first entry, and only the first")
        if self._state.sealed_as is not None and not may_follow_a_seal(kind):
            raise EntryError(kind, "the ledger is sealed")

    def _stage(self, entries: Sequence[NewEntry], encode: Callable[[dict[str, Any]], bytes]) -> int:
        """Stages all entries or none, all with the same timestamp, and returns the seq of the last.

        The caller holds `_staging`: the seq and the `prev` of an entry depend on the entry before it.
        """
        if self._broken is not None or self._is_staging:
            raise LedgerBrokenError(self._broken)
        state = self._state
        if state.tree.size == 0 or state.sealed_as is not None or entries[0].kind == "run.opened":
            for entry in entries:
                self._check_position(entry.kind)
        seq, head, at = state.tree.size - 1, state.head, max(format_time(self._clock()), state.last_time)
        leaves: list[bytes] = []
        lines: list[bytes] = []
        members: dict[bytes, tuple[bytes, bytes, bytes]] = {}
        references: dict[str, Any] = {}
        kind = ""
        for entry in entries:
            kind, bodies = entry.kind, entry.bodies
            seq += 1
            references = {}
            for name in sorted(bodies) if len(bodies) > 1 else bodies:
                body = bodies[name]
                digest, salt, reference = digest_body(body, self._salt, state.redacted)
                references[name] = reference
                if digest not in state.stored and digest not in members:
                    members[digest] = member_parts(reference["digest"], salt, body.data)
            line = encode({
                "actor": entry.actor, "at": at, "bodies": references, "causes": entry.causes, "data": entry.data,
                "kind": kind, "prev": head, "run": state.run, "seq": seq, "v": FORMAT,
            })  # fmt: skip
            leaf = leaf_hash(line)
            head = leaf.hex()
            leaves.append(leaf)
            # Adding LF makes a copy, which saves memory: the bytes that orjson returns keep a buffer of 4 KiB.
            lines.append(line + b"\n")
        self._is_staging = True
        state.head, state.last_time = head, at
        state.tree.add_all(leaves)
        state.stored.update(members)
        if kind in _END_KINDS or state.is_sealed:
            state.is_sealed = self._has_staged_seal = kind == "run.sealed"
            self._has_staged_end = self._has_staged_end or kind in _END_KINDS
        for parts in members.values():
            self._bodies += parts
        self._lines += lines
        self._references = references
        self._is_staging = False
        return seq

    def digests_of_last(self) -> dict[str, str]:
        """The digests of the bodies of the last staged entry, by name."""
        return {name: reference["digest"] for name, reference in self._references.items()}

    def commit(self) -> None:
        """Writes all staged entries. Callers that arrive during another commit wait; the next one commits for all."""
        staged = self._state.tree.size
        with self._committing:
            if self._committed >= staged:
                return
            if self._broken is not None or self._is_committing:
                raise LedgerBrokenError(self._broken)
            self._is_committing = True
            with self._staging:
                bodies, lines, self._bodies, self._lines = self._bodies, self._lines, [], []
                is_sealed, is_end = self._has_staged_seal, self._has_staged_end
                self._has_staged_seal = self._has_staged_end = False
                staged = self._state.tree.size
            try:
                self._files.write(bodies, lines, is_sealed=is_sealed, is_end=is_end)
            except OSError as error:
                self._broken = error
                raise LedgerBrokenError(error) from error
            self._committed = staged
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
        """Records an output of the plan, which is possible once, and writes its copy to `outputs/`. Returns the seq."""
        with self._staging:
            if output in self._state.recorded_outputs:
                raise EntryError("answer.given", f"the output '{output}' is already recorded")
            entry = NewEntry("answer.given", {"output": output}, {"value": value}, causes, "runner")
            seq = self._stage((entry,), self._encoder.encode)
            self._state.recorded_outputs.add(output)
        self.commit()
        outputs = self.directory / OUTPUTS
        with self._breaking():
            if make_folder(outputs):
                sync_directory(self.directory)
            replace_file(outputs / copy_name(output, value.type), value.data)
        return seq

    def seal(
        self, status: str, counts: Mapping[str, int] | None = None, totals: Mapping[str, int] | None = None
    ) -> int:
        """Writes a `run.sealed` entry, and a checkpoint of the complete ledger. Returns the seq of the entry."""
        from forum_runner.ledger.checkpoint import Checkpoint

        facts = {"status": status, "counts": dict(counts or NO_COUNTS), "totals": dict(totals or NO_TOTALS)}
        with self._staging:
            if self._state.sealed_as not in (None, facts):
                raise EntryError("run.sealed", "an earlier seal has a different status, counts or totals")
            entry = NewEntry("run.sealed", {**facts, "root": self._root().hex()}, {}, (), "runner")
            seq = self._stage((entry,), self._encoder.encode)
            self._state.sealed_as = facts
            checkpoint = Checkpoint(self.run, self.size, self._root())
        self.commit()
        with self._breaking():
            replace_file(self.directory / CHECKPOINT, checkpoint.note().encode())
        return seq

    def _root(self) -> bytes:
        """The Merkle root so far. `root()` merges pending leaves; if it is interrupted, the tree is inconsistent."""
        self._is_staging = True
        root = self._state.tree.root()
        self._is_staging = False
        return root

    def redact(self, seq: int, body: str, reason: str, *, actor: str = "runner") -> int:
        """Records a redaction, then removes the bytes of the body. A sealed ledger is sealed again.

        Returns the seq of the `body.redacted` entry.
        """
        from forum_runner.ledger.redaction import find_body, remove_bodies

        self.commit()
        try:
            digest, copies = find_body(self.directory, seq, body)
        except OSError as error:
            raise UsageError(f"cannot read '{self.directory}': {error.strerror}") from error
        facts = {"body": body, "digest": digest}
        entry = NewEntry("body.redacted", facts, {"reason": Body.text(reason)}, [seq], actor)
        with self._staging:
            if bytes.fromhex(digest) in self._state.redacted:
                raise UsageError(f"the body '{body}' of entry {seq} is already redacted")
            was_sealed = self.is_sealed
            redaction_seq = self._stage((entry,), self._encoder.encode)
            self._state.redacted.add(bytes.fromhex(digest))
        self.commit()
        with self._breaking():
            # The entry must be durable before the bytes are removed.
            self._files.sync(always=True)
            remove_bodies(self._files, [digest], copies)
        if was_sealed and self._state.sealed_as is not None:
            self.seal(**self._state.sealed_as)
        return redaction_seq

    def close(self) -> None:
        """Commits staged entries and syncs, unless the writer is broken, and releases the lock."""
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

    def __exit__(self, *_: object) -> None:
        self.close()
