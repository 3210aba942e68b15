"""Reads, writes and truncates run directories, as files by name."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from forum_conformance.archive import SALT_BYTES, scan

LEDGER, BODIES, PLAN, OUTPUTS = "ledger.jsonl", "bodies.tar", "wave-plan.json", "outputs"
RUN_START = datetime(2000, 1, 1, tzinfo=UTC)

Files = Mapping[str, bytes]


def read_directory(folder: Path) -> dict[str, bytes]:
    """The files that the suite compares: ledger, bodies, wave plan and outputs."""
    main_files = [folder / name for name in (LEDGER, BODIES, PLAN)]
    outputs = sorted((folder / OUTPUTS).iterdir()) if (folder / OUTPUTS).is_dir() else []
    existing = [path for path in [*main_files, *outputs] if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in existing}


def write_directory(folder: Path, files: Files) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The entries of a run directory, and its bodies by their digests."""

    entries: tuple[Mapping[str, Any], ...]
    bodies: Mapping[str, bytes]

    def at_ms(self, seq: int) -> int:
        """The time of an entry in milliseconds since the run started."""
        span = datetime.fromisoformat(self.entries[seq]["at"]) - RUN_START
        return (span.days * 86_400 + span.seconds) * 1_000 + span.microseconds // 1_000


def read_run(files: Files) -> RecordedRun:
    lines = files[LEDGER].split(b"\n")[:-1]
    bodies: dict[str, bytes] = {}
    for member in scan(io.BytesIO(files[BODIES])).members:
        content = files[BODIES][member.offset : member.offset + member.size]
        folder, digest = member.folder_and_digest or ("", "")
        bodies[digest] = content[SALT_BYTES:] if folder == "salted" else content
    return RecordedRun(tuple(json.loads(line) for line in lines), bodies)


def truncate(files: Files, entries: int, torn_line: bytes = b"", torn_body: bytes = b"") -> dict[str, bytes]:
    """The run directory of a process that was killed after this many entries, followed by half-written tails."""
    lines = files[LEDGER].split(b"\n")[:entries]
    referenced = {body["digest"] for line in lines for body in json.loads(line)["bodies"].values()}
    ends = [
        member.end
        for member in scan(io.BytesIO(files[BODIES])).members
        if (member.folder_and_digest or ("", ""))[1] in referenced
    ]
    ledger = b"".join(line + b"\n" for line in lines) + torn_line
    main_files = {LEDGER: ledger, BODIES: files[BODIES][: max(ends)] + torn_body, PLAN: files[PLAN]}
    answers = {json.loads(line)["data"]["output"] for line in lines if b'"kind":"answer.given"' in line}
    outputs = {name: data for name, data in files.items() if name.startswith(f"{OUTPUTS}/")}
    return main_files | {name: data for name, data in outputs.items() if Path(name).stem in answers}
