"""Create a vector from a case: run it with `forum` twice, and check the result with the judge and the claims."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from forum_conformance.judge import judge
from vector_generator.forum_program import ForumProgram
from vector_generator.runs.case import Case, EarlierRun, manifest_bytes
from vector_generator.runs.claims import ClaimError, check, find
from vector_generator.runs.directory import RUN_START, Files, read_directory, read_run, truncate, write_directory
from vector_generator.runs.fingerprint import wrong_fingerprints
from vector_generator.vector import Vector
from vector_generator.vector_files import BadVector

AREA = "runs"
WORKFLOW = "bundle/workflow.json"
EXPECTED = "expected"
_PATHS = ("inputs", "script", "base", "cache")
_UNSEALED_STATUSES = ("paused",)


def vector_of(case: Case, forum: ForumProgram) -> Vector:
    try:
        return _VectorBuilder(case, forum).build()
    except ClaimError as error:
        raise BadVector(f"{AREA}/{case.name}", str(error)) from error


class _VectorBuilder:
    def __init__(self, case: Case, forum: ForumProgram) -> None:
        self._case = case
        self._forum = forum
        self._folder = forum.fresh_folder()
        self._files: dict[str, bytes] = {**case.files, WORKFLOW: manifest_bytes(case.workflow)}
        self._request: dict[str, Any] = {"input": WORKFLOW, "root": "bundle", **case.request}

    def build(self) -> Vector:
        case = self._case
        for name, earlier in (("base", case.base), ("cache", case.cache), ("before", case.before)):
            if earlier is not None:
                self._add_run(name, earlier)
        write_directory(self._folder, self._files)
        results = [self._perform(number) for number in (1, 2)]
        if results[0] != results[1]:
            raise ClaimError("two runs of this case differ")
        answer, files = results[0]
        expected: dict[str, Any] = {"verdict": answer["verdict"]}
        if case.status is None:
            expected["codes"] = self._check_refusal(answer)
        else:
            self._check_run(answer, files)
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
            derived_from=None if case.derived_from is None else f"{AREA}/{case.derived_from}",
            mutation=case.change,
            files=self._files,
        )

    def _add_run(self, name: str, earlier: EarlierRun) -> None:
        """Add the run directory that the request names to the vector's files."""
        files = _earlier_run(earlier, self._case.workflow, self._files, self._forum)
        damage = self._case.damage
        if damage is not None and name != "cache":
            if files[damage.file].count(damage.old) != 1:
                raise ClaimError(f"{damage.old!r} does not occur exactly once in {damage.file}")
            files[damage.file] = files[damage.file].replace(damage.old, damage.new)
        self._files |= {f"{name}/{file}": data for file, data in files.items()}
        self._request[name] = name

    def _perform(self, number: int) -> tuple[dict[str, Any], Files]:
        output = self._folder / f"output-{number}"
        if self._case.before is not None:
            write_directory(output, read_directory(self._folder / "before"))
        answer = _ask(self._forum, self._folder, self._request, output)
        return answer, read_directory(output) if output.exists() else {}

    def _check_refusal(self, answer: Mapping[str, Any]) -> list[str]:
        """The codes of a refused request, which must not write or change any file."""
        before = read_directory(self._folder / "before") if self._case.before is not None else {}
        if answer["verdict"] != "invalid" or tuple(answer.get("codes", ())) != self._case.codes:
            raise ClaimError(f"expected a refusal with {self._case.codes}, got {answer}")
        output = self._folder / "output-1"
        if (read_directory(output) if output.exists() else {}) != before:
            raise ClaimError("the request was refused, but files were written")
        return list(self._case.codes)

    def _check_run(self, answer: Mapping[str, Any], files: Files) -> None:
        if (answer["verdict"], answer.get("status")) != ("valid", self._case.status):
            raise ClaimError(f"expected the status {self._case.status}, got {answer}")
        check(self._case.claims, files)
        _check_identity(files)
        if wrong := wrong_fingerprints(files):
            raise ClaimError(f"these units have a wrong fingerprint: {wrong}")
        folder = self._forum.fresh_folder()
        write_directory(folder, files)
        report = judge(folder)
        expected = ["L501"] if self._case.status in _UNSEALED_STATUSES else []
        codes = report.findings.codes()
        if codes != expected:
            raise ClaimError(f"the judge reports {codes} instead of {expected}")

    def _verified_by(self) -> str:
        case = self._case
        if case.status is None:
            return "requested twice; both requests are refused, and nothing is written"
        verdict = "incomplete, only because it is not sealed" if case.status in _UNSEALED_STATUSES else "valid"
        number = len(case.claims)
        claims_text = f"{number} claims" if number != 1 else "one claim"
        claims_text += " about its entries, written by hand, " + ("are met" if number != 1 else "is met")
        recomputed = "the run's id and fingerprints match recomputed ones"
        return f"two runs write the same bytes; the judge reports {verdict}; {recomputed}; {claims_text}"


def _check_identity(files: Files) -> None:
    """Check the start time and the id of the run (RUN-VIRTUAL-001)."""
    opened = read_run(files).entries[0]
    start_ms = int(RUN_START.timestamp() * 1_000).to_bytes(6)
    random_bytes = bytearray(bytes.fromhex(opened["data"]["wave_plan"])[:10])
    random_bytes[0] = random_bytes[0] & 0x0F | 0x70
    random_bytes[2] = random_bytes[2] & 0x3F | 0x80
    expected = {
        "at": "2000-01-01T00:00:00.000000Z",
        "run": str(UUID(bytes=start_ms + bytes(random_bytes))),
        "mode": "deterministic",
        "implementation": {"name": "deterministic", "version": "1"},
    }
    members = {**opened, **opened["data"]}
    if any(members[name] != value for name, value in expected.items()):
        raise ClaimError(f"the first entry of a deterministic run must contain {expected}")


def _earlier_run(
    earlier: EarlierRun, workflow: Mapping[str, Any], files: Files, forum: ForumProgram
) -> dict[str, bytes]:
    folder = forum.fresh_folder()
    write_directory(folder, {**files, WORKFLOW: manifest_bytes(earlier.workflow or workflow)})
    output = folder / "output"
    _perform_or_fail(forum, folder, {"action": "run", **earlier.request}, output)
    if earlier.last_entry is not None:
        written = read_directory(output)
        truncated = truncate(
            written, find(read_run(written), earlier.last_entry) + 1, earlier.torn_line, earlier.torn_body
        )
        output = folder / "truncate"
        write_directory(output, truncated)
    for request in earlier.next_requests:
        _perform_or_fail(forum, folder, request, output)
    return read_directory(output)


def _perform_or_fail(forum: ForumProgram, folder: Path, request: Mapping[str, Any], output: Path) -> None:
    answer = _ask(forum, folder, {"input": WORKFLOW, "root": "bundle", **request}, output)
    if answer["verdict"] != "valid":
        raise ClaimError(f"cannot create the run that the request starts from: {answer}")


def _ask(forum: ForumProgram, folder: Path, request: Mapping[str, Any], output: Path) -> dict[str, Any]:
    paths = {name: folder / request[name] for name in ("input", "root", *_PATHS) if name in request}
    members = {name: value for name, value in request.items() if name != "before"}
    answer = forum.ask("run", **{**members, **paths, "output": output})
    # The message contains paths, which differ from run to run.
    return {name: value for name, value in answer.items() if name not in ("id", "message")}
