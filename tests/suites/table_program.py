"""A program under test whose table lists the actions for each vector. Run as a script with the table's path."""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_entrypoint(table: Mapping[str, Any], folder: Path) -> str:
    """Write the table and return the command of the program. The table maps a vector's id, a role, or `*` to actions:

    `answer` (an object), `write` (a text, or texts by path), `stdout` and `stderr` (texts), `exit`, `signal`, `sleep`,
    `spoil` (a file of the vector to overwrite), `child` (a file that gets the id of a started child process).
    """
    path = folder / "table.json"
    path.write_text(json.dumps(table), encoding="utf-8")
    return shlex.join([sys.executable, str(Path(__file__)), str(path)])


def main() -> int:
    table = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    role = sys.argv[2]
    if role != "serve":
        return respond(table, json.loads(sys.stdin.read()))
    for line in sys.stdin:
        if status := respond(table, json.loads(line)):
            return status
    return 0


def respond(table: Mapping[str, Any], request: Mapping[str, Any]) -> int:
    actions = table.get(request["id"], table.get(request["role"], table.get("*", {})))
    if "child" in actions:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        Path(actions["child"]).write_text(str(child.pid))
    if "spoil" in actions:
        (Path(request["input"]) / actions["spoil"]).write_bytes(b"spoiled")
    if "write" in actions:
        write(Path(request["output"]), actions["write"])
    sys.stderr.write(actions.get("stderr", ""))
    sys.stderr.flush()
    time.sleep(actions.get("sleep", 0))
    if "signal" in actions:
        os.kill(os.getpid(), actions["signal"])
    answer = json.dumps({"protocol": 1, "id": request["id"], **actions["answer"]}) + "\n" if "answer" in actions else ""
    # Write once: a reader could take the first of two writes for the whole answer.
    sys.stdout.write(answer + actions.get("stdout", ""))
    sys.stdout.flush()
    status: int = actions.get("exit", 0)
    return status


def write(output: Path, content: Any) -> None:
    texts = {"": content} if isinstance(content, str) else content
    for name, text in texts.items():
        path = output / name if name else output
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
