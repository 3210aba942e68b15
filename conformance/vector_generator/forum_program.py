"""`forum` as a program: called by the suite's protocol or with arguments, never imported."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import IO, Any, Self


class ForumFailed(Exception):
    """`forum` did not answer, or its answer violates the protocol."""


@dataclass(frozen=True, slots=True)
class Compiled:
    codes: tuple[str, ...]
    warnings: tuple[str, ...]
    wave_plan: bytes | None
    """None if there is an error among the findings."""


class ForumProgram:
    """One process of `forum conform serve` and a directory for files, while the context lasts."""

    def __init__(self) -> None:
        self.program = _found()
        self._folder = TemporaryDirectory(prefix="forum-vectors-")
        self._served: subprocess.Popen[bytes] | None = None
        self._asked = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._served is not None:
            self._served.communicate()
        self._folder.cleanup()

    def fresh_folder(self) -> Path:
        """An empty directory with a unique name."""
        self._asked += 1
        folder = Path(self._folder.name).resolve() / str(self._asked)
        folder.mkdir()
        return folder

    def call(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        """Run `forum` with these arguments in a separate process; the caller checks the exit code."""
        return subprocess.run([self.program, *arguments], cwd=cwd, capture_output=True, check=False)  # noqa: S603

    def ask(self, role: str, **members: Any) -> dict[str, Any]:
        """The answer to one request of the protocol. Paths among the members are absolute."""
        request = {"protocol": 1, "id": f"request-{self._asked}", "role": role, **members}
        questions, answers = self._pipes()
        try:
            questions.write(json.dumps(request, default=str).encode() + b"\n")
            questions.flush()
            answer = json.loads(answers.readline())
        except (OSError, ValueError) as error:
            raise ForumFailed(f"no answer to {request}") from error
        if not isinstance(answer, dict) or answer.get("protocol") != 1:
            raise ForumFailed(f"the answer to {request} is {answer}")
        return answer

    def compiled(self, files: Mapping[str, bytes], entry: str, root: str, inputs: str | None = None) -> Compiled:
        """Compile the bundle in the directory `root` of these files with `forum`."""
        folder = self.fresh_folder()
        for name, data in files.items():
            path = folder / "given" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        given = {"inputs": folder / "given" / inputs} if inputs is not None else {}
        output = folder / "wave-plan.json"
        root_folder = folder / "given" / root
        answer = self.ask("compile", input=root_folder / entry, root=root_folder, output=output, **given)
        return Compiled(
            codes=tuple(answer.get("codes", ())),
            warnings=tuple(answer.get("warnings", ())),
            wave_plan=output.read_bytes() if answer["verdict"] == "valid" else None,
        )

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._served is None:
            command: Sequence[str] = [self.program, "conform", "serve"]
            self._served = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        if self._served.stdin is None or self._served.stdout is None:
            raise ForumFailed("the process has no pipes")
        return self._served.stdin, self._served.stdout


def _found() -> str:
    beside = Path(sys.executable).with_name("forum")
    program = str(beside) if beside.is_file() else shutil.which("forum")
    if program is None:
        raise ForumFailed("no 'forum' found next to the interpreter or on the PATH")
    return program
