"""Run records written by other programs (foreign/README.md)."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from acceptance.workflow_folder import Folder, Result

FOREIGN = Path(__file__).with_name("foreign")
SAMPLES = {
    "forum-engine": FOREIGN / "forum-engine",
    "symposium": FOREIGN / "symposium",
    "otel-today": FOREIGN / "otel" / "today.jsonl",
    "otel-older": FOREIGN / "otel" / "older.json",
}


def import_sample(folder: Folder, source: Path, out: str = "run") -> Result:
    result = folder.forum("import", source, "--out", out)
    assert (result.code, result.err) == (0, "")
    return result


def copy_sample(name: str, folder: Path) -> Path:
    """Copy a sample so that a test can damage it."""
    source = SAMPLES[name]
    target = folder / source.name
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)
    return target


def file_facts(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"name": path.name, "bytes": len(data), "digest": hashlib.sha256(data).hexdigest()}


def read_entries(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "ledger.jsonl").read_bytes().split(b"\n")[:-1]]
