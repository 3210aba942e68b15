"""An adapter whose instruction names the method to run: most methods misbehave."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from forum_adapters.base import Attempt, Reply


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
            with open(self.settings["closed"], "a", encoding="utf-8") as lines:  # noqa: PTH123 - a path in a manifest
                lines.write("closed\n")

    async def succeed(self, delay_s: str = "0") -> None:
        await asyncio.sleep(float(delay_s))

    async def return_pid(self) -> Reply:
        return Reply(str(os.getpid()).encode())

    async def return_variable(self, name: str) -> Reply:
        return Reply(os.environ.get(name, "").encode())

    async def print_output(self) -> None:
        print("on stdout", flush=True)
        print("on stderr", file=sys.stderr, flush=True)
        os.write(1, b"on file 1\n")
        os.write(2, b"on file 2\n")

    async def block(self, seconds: str = "1000") -> None:
        time.sleep(float(seconds))

    async def block_ignoring_signals(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)

    async def ignore_cancellation(self) -> None:
        while True:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                continue

    async def crash(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

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
        await self.crash()

    async def fork_and_return(self) -> None:
        os.fork()

    async def write_garbage(self) -> None:
        """Write to every socket of the process."""
        for fd in range(3, 64):
            try:
                with socket.socket(fileno=os.dup(fd)) as channel:
                    channel.send(b"\xff\xff\xff\xff garbage")
            except OSError:
                continue

    async def return_wrong_type(self) -> Any:
        return Reply(content="text")  # type: ignore[arg-type]

    async def return_unencodable_model(self) -> Reply:
        return Reply(b"", model="\ud800")

    async def return_zeros(self, size: str) -> Reply:
        return Reply(bytes(int(size)))


leaked: list[bytes] = []
