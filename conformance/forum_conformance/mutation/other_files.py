"""Changes to the files next to ledger and bodies: copies (level 3) and checkpoints (level 5)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from forum_conformance.mutation.change import Change, Mutator
from forum_conformance.mutation.original import CHECKPOINT, OUTPUTS, WAVE_PLAN, Files, Original, checkpoint
from forum_conformance.mutation.raw_bytes import OTHER_RUN


def _edit_files(prefix: str, original: Original, _: Random) -> Iterator[Change]:
    for name, content in original.files.items():
        if name.startswith(prefix):
            yield Change(name, partial(_with_file, original, name, content + b" "))
            yield Change(name, partial(_with_file, original, name, b""))


def _with_file(original: Original, name: str, content: bytes) -> Files:
    return {**original.files, name: content}


def _remove_files(prefix: str, original: Original, _: Random) -> Iterator[Change]:
    for name in original.files:
        if name.startswith(prefix):
            yield Change(name, partial(original.without, name))


def _add_output_files(original: Original, _: Random) -> Iterator[Change]:
    for name in ("zz.json", "zz", "more/zz.txt"):
        yield Change(OUTPUTS + name, partial(_with_file, original, OUTPUTS + name, b"0"))


def _restore_redacted_copy(original: Original, _: Random) -> Iterator[Change]:
    for entry in original.entries:
        if entry["kind"] == "answer.given" and entry["bodies"]["value"]["digest"] in original.redacted:
            name = f"{OUTPUTS}{entry['data']['output']}.json"
            yield Change(name, partial(_with_file, original, name, b"0"))


def _correct_checkpoint(original: Original) -> bytes:
    return checkpoint(original.entries[0]["run"], original.lines)


def _checkpoint_of_other_run(original: Original) -> bytes:
    return checkpoint(OTHER_RUN, original.lines)


def _checkpoint_of_more_entries(original: Original) -> bytes:
    origin, size, root, _ = _correct_checkpoint(original).split(b"\n")
    return b"\n".join([origin, b"%d" % (int(size) + 1), root, b""])


def _checkpoint_with_other_root(original: Original) -> bytes:
    origin, size, root, _ = _correct_checkpoint(original).split(b"\n")
    flipped = bytes([base64.b64decode(root)[0] ^ 1]) + base64.b64decode(root)[1:]
    return b"\n".join([origin, size, base64.b64encode(flipped), b""])


def _checkpoint_of_fewer_entries(original: Original) -> bytes:
    """The size is too small for the root, which stays."""
    origin, size, root, _ = _correct_checkpoint(original).split(b"\n")
    return b"\n".join([origin, b"%d" % (int(size) - 1), root, b""])


def _checkpoint_with_short_root(original: Original) -> bytes:
    origin, size, root, _ = _correct_checkpoint(original).split(b"\n")
    return b"\n".join([origin, size, base64.b64encode(base64.b64decode(root)[:31]), b""])


CHECKPOINTS: dict[str, Callable[[Original], bytes]] = {
    "checkpoint-of-another-run": _checkpoint_of_other_run,
    "checkpoint-of-more-entries": _checkpoint_of_more_entries,
    "checkpoint-of-fewer-entries-with-the-same-root": _checkpoint_of_fewer_entries,
    "checkpoint-with-another-root": _checkpoint_with_other_root,
    "checkpoint-with-a-short-root": _checkpoint_with_short_root,
    "checkpoint-without-a-final-line-feed": lambda original: _correct_checkpoint(original)[:-1],
    "checkpoint-with-an-extra-line": lambda original: _correct_checkpoint(original) + b"more\n",
    "checkpoint-with-carriage-returns": lambda original: _correct_checkpoint(original).replace(b"\n", b"\r\n"),
    "checkpoint-with-a-leading-zero": lambda original: _correct_checkpoint(original).replace(b"\n", b"\n0", 1),
    "checkpoint-with-bad-bytes": lambda original: b"\xff" + _correct_checkpoint(original),
    "checkpoint-empty": lambda _: b"",
}


def _replace_checkpoint(text: Callable[[Original], bytes], original: Original, _: Random) -> Iterator[Change]:
    yield Change(CHECKPOINT, partial(_with_file, original, CHECKPOINT, text(original)))


KINDS: dict[str, Mutator] = {
    "answer-copy-edited": partial(_edit_files, OUTPUTS),
    "answer-copy-removed": partial(_remove_files, OUTPUTS),
    "answer-copy-added": _add_output_files,
    "answer-copy-restored-after-redaction": _restore_redacted_copy,
    "wave-plan-copy-edited": partial(_edit_files, WAVE_PLAN),
    "wave-plan-copy-removed": partial(_remove_files, WAVE_PLAN),
    **{name: partial(_replace_checkpoint, text) for name, text in CHECKPOINTS.items()},
}
