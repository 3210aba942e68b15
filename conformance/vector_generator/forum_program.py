"""Runs `forum` as a program, through the suite's protocol or with arguments; it is never imported."""

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
    """None if the findings include an error."""


class ForumProgram:
    """A process of `forum conform serve` and a temporary directory; the context manager ends and removes both."""

    def __init__(self) -> None:
        self.program = _find_program()
        self._folder = TemporaryDirectory(prefix="forum-vectors-")
        self._process: subprocess.Popen[bytes] | None = None
        self._folder_count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.communicate()
        self._folder.cleanup()

    def fresh_folder(self) -> Path:
        """An empty directory with a unique name."""
        self._folder_count += 1
        folder = Path(self._folder.name).resolve() / str(self._folder_count)
        folder.mkdir()
        return folder

    def call(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        """Run `forum` with these arguments in a separate process; the caller checks the exit code."""
        return subprocess.run([self.program, *arguments], cwd=cwd, capture_output=True, check=False)  # noqa: S603

    def ask(self, role: str, **members: Any) -> dict[str, Any]:
        """Send one request of the protocol and return the answer. Paths in the members must be absolute."""
        request = {"protocol": 1, "id": f"request-{self._folder_count}", "role": role, **members}
        requests, answers = self._pipes()
        try:
            requests.write(json.dumps(request, default=str).encode() + b"\n")
            requests.flush()
            answer = json.loads(answers.readline())
        except (OSError, ValueError) as error:
            raise ForumFailed(f"no answer to {request}") from error
        if not isinstance(answer, dict) or answer.get("protocol") != 1:
            raise ForumFailed(f"the answer to {request} is not an object of protocol 1: {answer}")
        return answer

    def compile(self, files: Mapping[str, bytes], entry: str, root: str, inputs: str | None = None) -> Compiled:
        """Compile the bundle in the directory `root` of these files with `forum`."""
        folder = self.fresh_folder()
        for name, data in files.items():
            path = folder / "input" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        inputs_member = {"inputs": folder / "input" / inputs} if inputs is not None else {}
        output = folder / "wave-plan.json"
        root_folder = folder / "input" / root
        answer = self.ask("compile", input=root_folder / entry, root=root_folder, output=output, **inputs_member)
        return Compiled(
            codes=tuple(answer.get("codes", ())),
            warnings=tuple(answer.get("warnings", ())),
            wave_plan=output.read_bytes() if answer["verdict"] == "valid" else None,
        )

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            command: Sequence[str] = [self.program, "conform", "serve"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        if self._process.stdin is None or self._process.stdout is None:
            raise ForumFailed("the process has no pipes")
        return self._process.stdin, self._process.stdout


def _find_program() -> str:
    candidate = Path(sys.executable).with_name("forum")
    program = str(candidate) if candidate.is_file() else shutil.which("forum")
    if program is None:
        raise ForumFailed("no 'forum' found next to the interpreter or on the PATH")
    return program
