"""A program that leaves a daemon behind: forked twice, in its own session, without open files."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from suites.processes import is_running

LEAVE = """\
import json, os, sys, time

def leave(path, cleans=False):
    # Returns once the daemon has written its process id.
    path = os.path.abspath(path)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            for number in (0, 1, 2):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            if cleans:
                os.execve(sys.executable, [sys.executable, "-c", STAY, path], {})
            sys.argv[1:] = [path]
            exec(STAY)
        os._exit(0)
    os.wait()
    while not os.path.exists(path):
        time.sleep(0.01)

STAY = '''
import os, sys, time
with open(sys.argv[1] + ".part", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(3600)
'''
"""


def is_daemon_running(path: Path) -> bool:
    """Return whether the process whose id is in the file is running."""
    return is_running(int(path.read_text()))


def kill_daemon(path: Path) -> None:
    """Kill the daemon that a failed test left behind."""
    if path.exists() and is_daemon_running(path):
        with suppress(ProcessLookupError):
            os.kill(int(path.read_text()), signal.SIGKILL)
