"""Fork a process for each call of a program, from a process that has already imported all modules.

Started by warm.py. A call takes a fifth of the time of a new interpreter. Each line of standard input is a request, and
each line of standard output is the exit code of a call.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
import traceback
from typing import Any, NoReturn

_PACKAGES = {"forum": ("forum_runner", "forum_adapters"), "forum-conformance": ("forum_conformance",)}
_CRASHED = 99


def main(program: str) -> None:
    packages = [importlib.import_module(name) for name in _PACKAGES[program]]
    for package in packages:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _call(program, request)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _call(program: str, request: dict[str, Any]) -> NoReturn:
    code: Any = _CRASHED
    try:
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        null_fd = os.open(os.devnull, os.O_RDONLY)
        for fd, target in enumerate((null_fd, *map(_create, (request["out"], request["err"])))):
            os.dup2(target, fd)
        sys.argv = [program, *request["arguments"]]
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 - open until the process exits
        code = importlib.import_module(f"{_PACKAGES[program][0]}.cli").main()
    except SystemExit as exit_:
        code = exit_.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0)


def _create(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)


if __name__ == "__main__":
    main(sys.argv[1])
