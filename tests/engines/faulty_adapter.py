"""An adapter that calls its method named in the task's instruction. Most methods misbehave."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from forum_adapters.base import Attempt, Reply
from forum_runner.execute.engines.worker_messages import CallEnded, encode

GARBAGE = b"\xff\xff\xff\xff garbage"


class FaultyAdapter:
    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self.settings = settings

    async def answer(self, attempt: Attempt) -> Any:
        words = attempt.prompt.text.split()
        behavior = getattr(self, words[0])
        reply = await behavior(*words[1:])
        return Reply(b"done") if reply is None else reply

    async def probe(self) -> None:
        return None

    async def close(self) -> None:
        if "closed" in self.settings:
            with open(self.settings["closed"], "a", encoding="utf-8") as file:  # noqa: PTH123 - a path in a manifest
                file.write("closed\n")

    async def succeed(self, delay_s: str = "0") -> None:
        await asyncio.sleep(float(delay_s))

    async def return_pid(self) -> Reply:
        return Reply(str(os.getpid()).encode())

    async def return_variable(self, name: str) -> Reply:
        return Reply(os.environ.get(name, "").encode())

    async def print_output(self) -> None:
        print("on stdout", flush=True)
        print("on stderr", file=sys.stderr, flush=True)
        os.write(1, b"on fd 1\n")
        os.write(2, b"on fd 2\n")

    async def block(self, seconds: str = "1000") -> None:
        time.sleep(float(seconds))

    async def block_ignoring_sigterm(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)

    async def ignore_cancellation(self) -> None:
        while True:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                continue

    async def crash(self) -> None:
        _crash()

    async def exit_immediately(self) -> None:
        os._exit(0)

    async def raise_system_exit(self) -> None:
        raise SystemExit(3)

    async def leak_thread(self) -> None:
        threading.Thread(target=time.sleep, args=(1000,)).start()

    async def leak_memory(self) -> None:
        leaked.append(bytes(5_000_000))

    async def leak_process(self) -> None:
        """Start a daemon in a separate session."""
        program = "import os, time; os.setsid(); os.fork() and os._exit(0); time.sleep(1000)"
        subprocess.run([sys.executable, "-c", program], check=True)

    async def fork_and_crash(self) -> None:
        if os.fork() == 0:
            time.sleep(1000)
        _crash()

    async def fork_and_return(self) -> None:
        os.fork()

    async def fork_and_crash_later(self) -> Reply:
        if os.fork() == 0:
            time.sleep(1000)
        return self._later(_crash)

    async def crash_later(self) -> Reply:
        return self._later(_crash)

    async def stop_later(self) -> Reply:
        return self._later(lambda: os.kill(os.getpid(), signal.SIGSTOP))

    async def write_garbage(self) -> None:
        _write_to_sockets(GARBAGE)

    async def write_garbage_later(self) -> Reply:
        return self._later(lambda: _write_to_sockets(GARBAGE))

    async def write_reply_later(self) -> Reply:
        return self._later(lambda: _write_to_sockets(encode(CallEnded(b"a guess", Reply(b"forged")))))

    def _later(self, act: Callable[[], None]) -> Reply:
        """Reply with the pid, then act, and create the file `acted`."""

        def act_and_tell() -> None:
            act()
            with open(self.settings["acted"], "x", encoding="utf-8"):  # noqa: PTH123 - a path in a manifest
                pass

        asyncio.get_running_loop().call_later(0.1, act_and_tell)
        return Reply(str(os.getpid()).encode())

    async def return_wrong_type(self) -> Any:
        return Reply(content="text")  # type: ignore[arg-type]

    async def return_unencodable_model(self) -> Reply:
        return Reply(b"", model="\ud800")

    async def return_zeros(self, size: str) -> Reply:
        return Reply(bytes(int(size)))


def _crash() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _write_to_sockets(data: bytes) -> None:
    for fd in range(3, 64):
        try:
            with socket.socket(fileno=os.dup(fd)) as channel:
                channel.send(data)
        except OSError:
            continue


leaked: list[bytes] = []
