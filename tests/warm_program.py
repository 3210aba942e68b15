"""Run calls of a program in processes forked from one that has imported everything.

Started by warm.py: a call costs a fifth of starting a new interpreter. Each line of standard input is a request; the
answer is the exit code.
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
_FAILED = 99


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
    code: Any = _FAILED
    try:
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, target in enumerate((nothing, *map(_create, (request["out"], request["err"])))):
            os.dup2(target, number)
        sys.argv = [program, *request["arguments"]]
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 - to the end
        code = importlib.import_module(f"{_PACKAGES[program][0]}.cli").main()
    except SystemExit as end:
        code = end.code
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
