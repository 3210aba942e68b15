"""What is left of a run when its process ends: the summary of its ledger, and what only the directory can add to it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from forum_runner.errors import ExitCode
from forum_runner.ledger.body import JSON
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.layout import BODIES, LEDGER, WAVE_PLAN
from forum_runner.ledger.lines import leaf_of
from forum_runner.ledger.read_entry import OF_THE_RECORD, ReadEntry, amount, part, read_entry, text
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.summary import Summary, TaskStory
from forum_runner.report.amounts import between, shown
from forum_runner.report.run_commands import question_of, run_argument

# Lines are canonical, so these bytes tell the kind without reading the line.
_TOLD = re.compile(
    rb'"kind":"(?:task\.finished|task\.lost|verdict\.given|verdict\.lost|gate\.opened|body\.redacted|run\.[a-z]+)"'
    rb'|"detail":.*"kind":"task\.ended"'
)
# With these, nobody is at work on a run any more, or was not until then.
_IDLE = OF_THE_RECORD | {"run.paused", "run.resumed"}
_WENT_WELL = re.compile(rb'"(?:status":"ok|verdict":"pass)"')
_NO_FAILURE = ("ok", "cancelled")
_MAX_DETAILS = 200
_MAX_DETAIL_BYTES = 1_000_000
# What most needs to be seen comes first, where there is not room for all.
SEVERITY = (
    "failed",
    "stopped",
    "refused",
    "cancelled",
    "running",
    "waiting",
    "begun",
    "tolerated",
    "skipped",
    "passed",
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a task did not do: the kind of the last error or verdict, and the first line of what was said about it."""

    kind: str
    detail: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


@dataclass(frozen=True, slots=True)
class OpenGate:
    task: str
    question: str
    deadline: str | None = None
    on_deadline: str | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """`head` is the hash of the last line, `active_ms` the time in which a process was at it."""

    directory: Path
    summary: Summary
    exit_code: int
    plan: Mapping[str, Any]
    head: str = ""
    active_ms: int = 0
    failures: Mapping[str, Failure] = field(default_factory=dict)
    gates: tuple[OpenGate, ...] = ()

    @property
    def run(self) -> str:
        return self.summary.first.run if self.summary.first else ""

    @property
    def argument(self) -> str:
        return run_argument(self.run, self.directory)

    @property
    def status(self) -> str:
        """As the ledger has it, but for a run that was interrupted before it could say so."""
        is_cut_short = self.exit_code == ExitCode.INTERRUPTED and not self.summary.is_sealed
        return "interrupted" if is_cut_short else self.summary.status

    @property
    def can_go_on(self) -> bool:
        return self.status in ("paused", "interrupted", "unfinished")

    @property
    def counts(self) -> Counter[str]:
        """The plan's tasks by their states; those without a story have not begun."""
        planned = part(self.plan, "tasks")
        stories = self.summary.tasks
        counts = Counter(story.state for name, story in stories.items() if name in planned or not planned)
        if rest := sum(name not in stories for name in planned):
            counts["not begun"] = rest
        return counts


def read_result(directory: Path, summary: Summary, exit_code: int) -> RunResult:
    plan = _read_plan(directory / WAVE_PLAN)
    scan = _Scan(directory)
    run = summary.first.run if summary.first else ""
    gates = tuple(
        _open_gate(scan, directory, name, plan, run)
        for name, story in summary.tasks.items()
        if story.state == "waiting"
    )
    failures = _failures(directory, summary, scan.failed)
    return RunResult(directory, summary, exit_code, plan, scan.head, scan.active_ms(summary), failures, gates)


def by_severity(stories: Iterable[TaskStory]) -> list[TaskStory]:
    rank = {state: number for number, state in enumerate(SEVERITY)}
    return sorted(stories, key=lambda story: rank.get(story.state, 0))


class _Scan:
    """One way through the ledger. Only lines that tell of trouble, gates and pauses are read."""

    def __init__(self, directory: Path) -> None:
        self.head = ""
        self.failed: dict[str, ReadEntry] = {}
        self.deadlines: dict[str, str | None] = {}
        self.shown: dict[str, Mapping[str, Any]] = {}
        self._idle_ms = 0
        self._idle_since: str | None = None
        before = last = b""
        with LedgerSource(str(directory), directory / LEDGER, directory).lines() as lines:
            for line in lines:
                before, last = last, line
                # What went well is of interest only after something that did not: it may have mended that.
                if _TOLD.search(line) and (self.failed or not _WENT_WELL.search(line)):
                    self._look(line, before)
        if last:
            self.head = leaf_of(last).hex()

    def _look(self, line: bytes, before: bytes) -> None:
        entry = read_entry(line)
        if entry is None:
            return
        if entry.kind in _IDLE:
            self._pass_idle_time(entry, before)
        elif entry.kind == "gate.opened" and entry.task is not None:
            self.deadlines[entry.task] = text(entry.data, "deadline")
            self.shown[entry.task] = part(entry.bodies, "shown")
        elif entry.kind.startswith(("task.", "verdict.")) and entry.task is not None:
            if entry.data.get("status") in _NO_FAILURE or entry.data.get("verdict") == "pass":
                self.failed.pop(entry.task, None)
            else:
                self.failed[entry.task] = entry

    def _pass_idle_time(self, entry: ReadEntry, before: bytes) -> None:
        since = self._idle_since
        if since is None:
            # Without a pause the process was killed: nobody was at it since its last entry.
            last = entry if entry.kind == "run.paused" else read_entry(before)
            since = entry.at if last is None else last.at
        is_over = entry.kind == "run.resumed"
        self._idle_ms += (between(since, entry.at) or 0) if is_over else 0
        self._idle_since = None if is_over else since

    def active_ms(self, summary: Summary) -> int:
        if summary.first is None or summary.ended is None:
            return 0
        last = self._idle_since or summary.ended.at
        return max(0, (between(summary.first.at, last) or 0) - self._idle_ms)


def _read_plan(path: Path) -> Mapping[str, Any]:
    """An empty one where there is none: a result is told of any ledger."""
    try:
        plan = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return plan if type(plan) is dict else {}


def _open_gate(scan: _Scan, directory: Path, task: str, plan: Mapping[str, Any], run: str) -> OpenGate:
    tasks = part(plan, "tasks")
    gate = part(part(tasks, task) or part(tasks, task.rpartition("[")[0]), "gate")
    deadline = scan.deadlines.get(task)
    question = _question_shown(directory / BODIES, scan.shown.get(task, {})) or question_of(gate, run)
    return OpenGate(task, question, deadline, text(gate, "on_deadline") if deadline else None)


def _question_shown(path: Path, body: Mapping[str, Any]) -> str | None:
    """The question as a person was asked it, with what the run brought into it; not where it is sensitive."""
    if text(body, "digest") is None or "salted" in body:
        return None
    try:
        with path.open("rb") as stream:
            shown_ = orjson.loads(BodyReader(stream).read(dict(body)) or b"{}")
    except (OSError, ValueError):
        return None
    question = text(shown_, "question") if isinstance(shown_, dict) else None
    return None if question is None else shown(" ".join(question.split()))


def _failures(directory: Path, summary: Summary, failed: Mapping[str, ReadEntry]) -> dict[str, Failure]:
    entries = [
        (story.id, failed[story.id])
        for story in by_severity(summary.tasks.values())
        if story.id in failed and story.state not in ("passed", "running")
    ]
    if not entries:
        return {}
    redacted = {text(entry.data, "digest") for entry in summary.redactions}
    details = _details(directory / BODIES, [entry for _, entry in entries[:_MAX_DETAILS]], redacted)
    return {task: Failure(_failure_kind(entry), next(details, None)) for task, entry in entries}


def _failure_kind(entry: ReadEntry) -> str:
    if entry.kind.startswith("verdict."):
        verdict = "lost" if entry.kind == "verdict.lost" else shown(text(entry.data, "verdict") or "?")
        error = text(entry.data, "error")
        return f"check {amount(entry.data, 'check') + 1:,} {shown(error) if error else verdict}"
    if entry.kind == "task.lost":
        return "lost"
    if entry.kind == "task.ended":
        return shown(text(entry.data, "reason") or "?")
    status = entry.data.get("exit_status")
    exited = f" (exit {status})" if type(status) is int and status else ""
    return shown(text(entry.data, "error") or text(entry.data, "status") or "?") + exited


def _details(path: Path, entries: Iterable[ReadEntry], redacted: Container[str | None]) -> Iterator[str | None]:
    try:
        stream = path.open("rb")
    except OSError:
        return
    with stream:
        reader = BodyReader(stream)
        for entry in entries:
            yield _detail(reader, entry, redacted)


def _detail(reader: BodyReader, entry: ReadEntry, redacted: Container[str | None]) -> str | None:
    """What a program that failed said itself tells more than that it failed; why it was ended, it does not say."""
    last = _line(reader, part(entry.bodies, "stderr"), redacted, is_last=True)
    if last and text(entry.data, "error") == "exit_status":
        return last
    first = _line(reader, part(entry.bodies, "detail") or part(entry.bodies, "ground"), redacted, is_last=False)
    return f"{first}; stderr: {last}" if first and last else first or last


def _line(reader: BodyReader, body: Mapping[str, Any], redacted: Container[str | None], *, is_last: bool) -> str | None:
    """The first line or, of what a program wrote before it failed, the last one.

    None also for a salted body: what is sensitive in the record is not to be found in a log.
    """
    digest = text(body, "digest")
    if digest is None or digest in redacted or "salted" in body or amount(body, "bytes") > _MAX_DETAIL_BYTES:
        return None
    data = reader.read(dict(body)) or b""
    said = data.decode(errors="replace") if text(body, "type") != JSON else _message(data)
    lines = said.strip().splitlines()
    return shown(lines[-1 if is_last else 0].strip()) if lines else None


def _message(data: bytes) -> str:
    """The sentence in a detail."""
    try:
        value = orjson.loads(data)
    except ValueError:
        return ""
    return (text(value, "message") or "") if isinstance(value, dict) else ""
