"""Writes a ledger: one writer, entries in order, each chained to the one before.

An entry is staged (it has its number and its hash) and then committed (it is as durable as was asked for). Threads that
commit at the same time share one write and one sync.
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
from forum_runner.ledger.entry import EntryError, encode_entry, encode_sound_entry
from forum_runner.ledger.entry_schema import may_follow_a_seal
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


# An entry as it is given to the writer: kind, data, bodies, causes and actor.
Unplaced = tuple[str, Mapping[str, Any], Mapping[str, Any], Sequence[int], str]


class LedgerBrokenError(ForumError):
    """A write failed, so nobody knows what is on disk: the writer takes no more entries until it is opened again."""

    exit_code = ExitCode.INCOMPLETE

    def __init__(self, error: BaseException | None) -> None:
        reason = error.strerror if isinstance(error, OSError) else "it was interrupted"
        super().__init__(f"the ledger could not be written: {reason}; what it holds stays readable")


class LedgerState:
    """What the next entry depends on: the chain so far, and the bodies that are stored already.

    `sealed_as` is what a seal told, if there was one: status, counts and totals. A later one tells the same.
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
    """A child process has the parent's descriptors, and would write over what the parent writes."""
    for writer in list(_OPEN):
        writer._broken = OSError(errno.EPERM, "it belongs to the process that opened it")
        # A thread that the child does not have may have held them.
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
        # Set while the state is between two entries, or two commits: interrupts may come anywhere, and more than one.
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
        """How many entries are as durable as was asked for."""
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
        """Writes an entry; when it returns, the entry is acknowledged. Its seq comes back."""
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
        """Gives an entry its place. It is written, and acknowledged, by the next `commit`."""
        self._refuse_what_has_its_own_verb(kind)
        with self._staging:
            return self._place(kind, data, bodies or {}, causes, actor)

    def stage_sound(self, entries: Sequence[Unplaced]) -> int:
        """As `stage`, of entries that the caller knows to fit their kinds: no schema is asked once more."""
        with self._staging:
            seq = self._state.tree.size
            if seq == 0 or self._state.sealed_as is not None:
                for entry in entries:
                    self._check_place(entry[0], seq)
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
        return self._place_all(((kind, {} if data is None else data, bodies, causes, actor),), encode_entry)

    def _place_all(self, entries: Sequence[Unplaced], encode: Callable[[dict[str, Any]], bytes]) -> int:
        """All of them or none, and all at one time; the seq of the last comes back. With the lock held: between the
        number of an entry and its hash no other entry may come."""
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
        for kind, data, bodies, causes, actor in entries:
            seq += 1
            references = {}
            if bodies:
                for name in sorted(bodies) if len(bodies) > 1 else bodies:
                    digest, folder, make, content, reference = self._store(bodies[name])
                    references[name] = reference
                    if digest not in stored and digest not in members:
                        members[digest] = make(folder, reference["digest"], content)
            line = encode({
                "actor": actor, "at": at, "bodies": references, "causes": causes, "data": data, "kind": kind,
                "prev": head, "run": run, "seq": seq, "v": FORMAT,
            })  # fmt: skip
            leaf = sha256(b"\0" + line).digest()
            head = leaf.hex()
            leaves.append(leaf)
            # Another object than orjson's, which has room for 4 KiB whatever it holds.
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
        """The digests of the bodies of the entry that was staged last, by their names."""
        return {name: reference["digest"] for name, reference in self._references.items()}

    def _refuse_what_has_its_own_verb(self, kind: str) -> None:
        if kind in _VERBS:
            raise EntryError(kind, f"it is written by `{_VERBS[kind]}`, which does what it tells")

    def _check_place(self, kind: str, seq: int) -> None:
        if (kind == "run.opened") != (seq == 0):
            raise EntryError(kind, "a ledger begins with run.opened, and has no other")
        if self._state.sealed_as is not None and not may_follow_a_seal(kind):
            raise EntryError(kind, "the ledger is sealed")

    def _store(self, body: Body) -> StoredBody:
        if not isinstance(body, Body):
            raise UsageError(f"a body is made by Body, Body.text or Body.json, and this is a {type(body).__name__}")
        data, type_, is_sensitive = body
        size = len(data)
        if size > LARGE_BYTES:
            if size > _MOST_BYTES:
                raise UsageError(f"a body has at most {_MOST_BYTES:,} bytes")
            return store_large(body, self._salt, self._state.redacted)
        if is_sensitive:
            return store_salted(body, self._salt)
        digest = sha256(data).digest()
        # A digest that was redacted is never named again: the same bytes get a salt, and with it another digest.
        if digest in self._state.redacted:
            return store_salted(body, self._salt)
        return digest, PLAIN, member, data, {"bytes": size, "digest": digest.hex(), "type": type_}

    def commit(self) -> None:
        """Writes what was staged, by whomever. Those who come while another commits wait, and find their work done."""
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
        """What fails here, or is interrupted, leaves a state that nobody knows: no entry is taken from then on."""
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
                raise EntryError("answer.given", f"the output '{output}' was given before")
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
        """The last entry, and the checkpoint of all that the ledger holds."""
        from forum_runner.ledger.checkpoint import Checkpoint

        facts = {"status": status, "counts": dict(counts or NO_COUNTS), "totals": dict(totals or NO_TOTALS)}
        with self._staging:
            if self._state.sealed_as not in (None, facts):
                raise EntryError("run.sealed", "a seal stood before, with another status, counts or totals")
            seq = self._place("run.sealed", {**facts, "root": self._root().hex()}, {})
            self._state.sealed_as = facts
            checkpoint = Checkpoint(self.run, self.size, self._root())
        self.commit()
        write_file(self.directory / CHECKPOINT, checkpoint.note().write())
        return seq

    def _root(self) -> bytes:
        """The Merkle root so far; a tree that is interrupted while it takes leaves in is not to be trusted again."""
        self._is_staging = True
        root = self._state.tree.root()
        self._is_staging = False
        return root

    def redact(self, seq: int, body: str, reason: str, *, actor: str = "runner") -> int:
        """Takes the bytes of a body away, and records that; a sealed ledger is sealed again."""
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
                raise UsageError(f"the body '{body}' of entry {seq} is redacted already")
            was_sealed = self.is_sealed
            recorded = self._place("body.redacted", facts, why, [seq], actor)
            self._state.redacted.add(digest)
        self.commit()
        with self._breaking():
            # What takes bytes away must not be more durable than the entry that says so.
            self._files.sync(always=True)
            take_away(self._files, [target.digest], target.copies)
        if was_sealed and self._state.sealed_as is not None:
            self.seal(**self._state.sealed_as)
        return recorded

    def close(self) -> None:
        """Commits what is staged, syncs, and gives the lock back."""
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
