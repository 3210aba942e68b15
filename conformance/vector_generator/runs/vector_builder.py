"""Create a vector from a case: run it with `forum` twice, and check the result with the judge and the claims."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from forum_conformance.judge import judge
from vector_generator.forum_program import ForumProgram
from vector_generator.runs.case import Before, Case, written
from vector_generator.runs.claims import NotAsClaimed, check, find
from vector_generator.runs.directory import Files, cut, read_directory, recorded, write_directory
from vector_generator.runs.fingerprint import wrong_fingerprints
from vector_generator.vector import Vector
from vector_generator.vector_files import BadVector

AREA = "runs"
WORKFLOW = "bundle/workflow.json"
EXPECTED = "expected"
_PATHS = ("inputs", "script", "base", "cache")
_AFTERWARDS = ("paused",)


def vector_of(case: Case, forum: ForumProgram) -> Vector:
    try:
        return _Making(case, forum).vector()
    except NotAsClaimed as error:
        raise BadVector(f"{AREA}/{case.name}", str(error)) from error


class _Making:
    def __init__(self, case: Case, forum: ForumProgram) -> None:
        self._case = case
        self._forum = forum
        self._folder = forum.fresh_folder()
        self._files: dict[str, bytes] = {**case.files, WORKFLOW: written(case.workflow)}
        self._request: dict[str, Any] = {"input": WORKFLOW, "root": "bundle", **case.request}

    def vector(self) -> Vector:
        case = self._case
        for name, start in (("base", case.base), ("cache", case.cache), ("before", case.before)):
            if start is not None:
                self._place(name, start)
        write_directory(self._folder, self._files)
        made = [self._carry_out(number) for number in (1, 2)]
        if made[0] != made[1]:
            raise NotAsClaimed("two runs of it differ")
        answer, files = made[0]
        expected: dict[str, Any] = {"verdict": answer["verdict"]}
        if case.status is None:
            expected["codes"] = self._refused(answer)
        else:
            self._done(answer, files)
            expected |= {"status": case.status, "output": EXPECTED}
            self._files |= {f"{EXPECTED}/{name}": data for name, data in files.items()}
        return Vector(
            id=f"{AREA}/{case.name}",
            title=case.title,
            role="run",
            requirements=case.requirements,
            request=self._request,
            expected=expected,
            verified_by=self._verified_by(),
            derived_from=None if case.of is None else f"{AREA}/{case.of}",
            mutation=case.change,
            files=self._files,
        )

    def _place(self, name: str, start: Before) -> None:
        """The run directory that the request names, next to the workflow."""
        files = _made(start, self._case.workflow, self._files, self._forum)
        damage = self._case.damage
        if damage is not None and name != "cache":
            if files[damage.file].count(damage.old) != 1:
                raise NotAsClaimed(f"{damage.old!r} does not occur exactly once in {damage.file}")
            files[damage.file] = files[damage.file].replace(damage.old, damage.new)
        self._files |= {f"{name}/{file}": data for file, data in files.items()}
        self._request[name] = name

    def _carry_out(self, number: int) -> tuple[dict[str, Any], Files]:
        output = self._folder / f"output-{number}"
        if self._case.before is not None:
            write_directory(output, read_directory(self._folder / "before"))
        answer = _asked(self._forum, self._folder, self._request, output)
        return answer, read_directory(output) if output.exists() else {}

    def _refused(self, answer: Mapping[str, Any]) -> list[str]:
        """A refused request leaves no files, or leaves them unchanged."""
        before = read_directory(self._folder / "before") if self._case.before is not None else {}
        if answer["verdict"] != "invalid" or tuple(answer.get("codes", ())) != self._case.codes:
            raise NotAsClaimed(f"it is not refused with {self._case.codes}: {answer}")
        output = self._folder / "output-1"
        if (read_directory(output) if output.exists() else {}) != before:
            raise NotAsClaimed("it was refused, and something was written")
        return list(self._case.codes)

    def _done(self, answer: Mapping[str, Any], files: Files) -> None:
        if (answer["verdict"], answer.get("status")) != ("valid", self._case.status):
            raise NotAsClaimed(f"it is not {self._case.status}: {answer}")
        check(self._case.claims, files)
        _check_identity(files)
        if wrong := wrong_fingerprints(files):
            raise NotAsClaimed(f"these have another fingerprint than they should have: {wrong}")
        folder = self._forum.fresh_folder()
        write_directory(folder, files)
        report = judge(folder)
        wanted = ["L501"] if self._case.status in _AFTERWARDS else []
        codes = report.findings.codes()
        if codes != wanted:
            raise NotAsClaimed(f"the judge reports {codes} instead of {wanted}")

    def _verified_by(self) -> str:
        case = self._case
        if case.status is None:
            return "requested twice: it is refused both times, and nothing is written"
        verdict = "incomplete, only because it has no seal" if case.status in _AFTERWARDS else "valid"
        number = len(case.claims)
        stated = f"{number} claims" if number != 1 else "one claim"
        stated += " about its entries, written by hand, " + ("are met" if number != 1 else "is met")
        recomputed = "its id and fingerprints are recomputed and equal"
        return f"run twice with the same bytes; the judge calls it {verdict}; {recomputed}; {stated}"


def _check_identity(files: Files) -> None:
    """RUN-VIRTUAL-001: the start time and the id of the run."""
    opened = recorded(files).entries[0]
    moment = (946_684_800_000).to_bytes(6)
    drawn = bytearray(bytes.fromhex(opened["data"]["wave_plan"])[:10])
    drawn[0] = drawn[0] & 0x0F | 0x70
    drawn[2] = drawn[2] & 0x3F | 0x80
    wanted = {
        "at": "2000-01-01T00:00:00.000000Z",
        "run": str(UUID(bytes=moment + bytes(drawn))),
        "mode": "deterministic",
        "implementation": {"name": "deterministic", "version": "1"},
    }
    found = {**opened, **opened["data"]}
    if any(found[name] != value for name, value in wanted.items()):
        raise NotAsClaimed(f"its first entry is not as a deterministic run's: {wanted}")


def _made(start: Before, workflow: Mapping[str, Any], files: Files, forum: ForumProgram) -> dict[str, bytes]:
    folder = forum.fresh_folder()
    write_directory(folder, {**files, WORKFLOW: written(start.workflow or workflow)})
    output = folder / "output"
    _carried_out(forum, folder, {"action": "run", **start.request}, output)
    if start.until is not None:
        made = read_directory(output)
        kept = cut(made, find(recorded(made), start.until) + 1, start.torn, start.torn_bodies)
        output = folder / "cut"
        write_directory(output, kept)
    for request in start.then:
        _carried_out(forum, folder, request, output)
    return read_directory(output)


def _carried_out(forum: ForumProgram, folder: Path, request: Mapping[str, Any], output: Path) -> None:
    answer = _asked(forum, folder, {"input": WORKFLOW, "root": "bundle", **request}, output)
    if answer["verdict"] != "valid":
        raise NotAsClaimed(f"cannot create the run that it starts from: {answer}")


def _asked(forum: ForumProgram, folder: Path, request: Mapping[str, Any], output: Path) -> dict[str, Any]:
    named = {name: folder / request[name] for name in ("input", "root", *_PATHS) if name in request}
    members = {name: value for name, value in request.items() if name != "before"}
    answer = forum.ask("run", **{**members, **named, "output": output})
    # The sentence names paths, which differ from one time to the next.
    return {name: value for name, value in answer.items() if name not in ("id", "message")}
