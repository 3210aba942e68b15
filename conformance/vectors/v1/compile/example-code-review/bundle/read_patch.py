"""Print a unified diff as JSON, file by file. Usage: read_patch.py PATCH"""

import json
import sys
from pathlib import Path


def split_by_file(patch: str) -> list[dict[str, object]]:
    files: list[list[str]] = []
    for line in patch.splitlines():
        if line.startswith("diff --git "):
            files.append([])
        if files:
            files[-1].append(line)
    return [summarize(lines) for lines in files]


def summarize(lines: list[str]) -> dict[str, object]:
    """Return the path of a file, its numbers of added and removed lines, and its hunks."""
    # A deleted file's new name is /dev/null, but the header always has both names.
    path = lines[0].rpartition(" b/")[2]
    start = next((index for index, line in enumerate(lines) if line.startswith("@@")), len(lines))
    hunks = lines[start:]
    return {
        "path": path,
        "added": sum(line.startswith("+") for line in hunks),
        "removed": sum(line.startswith("-") for line in hunks),
        "diff": "\n".join(hunks),
    }


if __name__ == "__main__":
    patch = Path(sys.argv[1]).read_text(encoding="utf-8")
    json.dump({"files": split_by_file(patch)}, sys.stdout, indent=2)
