"""Writes a starter workflow, and JSON schemas for editor support."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from forum_runner import resources
from forum_runner.errors import UsageError
from forum_runner.workspace import GITIGNORE
from forum_runner.write_file import write_file

SCHEMA_FOLDER = Path(".forum", "schemas")
_MANIFEST_SCHEMAS = ("manifest", "plan", "policy", "roster", "script", "types", "workflow")


def write_scaffold(folder: Path) -> list[Path]:
    """Writes a starter workflow and its schemas: all files, or none if one of them exists."""
    template = resources.manifest("init")
    contents = {folder / item.name: item.read_bytes() for item in sorted(template.iterdir(), key=lambda i: i.name)}
    contents[folder / ".forum" / ".gitignore"] = GITIGNORE.encode()
    contents |= _schemas(folder / SCHEMA_FOLDER, _MANIFEST_SCHEMAS)
    existing = [f"'{path}'" for path in contents if path.exists()]
    if existing:
        raise UsageError(f"not overwriting existing files: {', '.join(existing)}")
    return _write_all(contents)


def write_schemas(folder: Path) -> list[Path]:
    """Writes all schemas to `v1` in the folder. Their references to each other are relative to that folder."""
    return _write_all(_schemas(folder, resources.schema_names()))


def _schemas(folder: Path, names: Iterable[str]) -> dict[Path, bytes]:
    return {folder / "v1" / f"{name}.schema.json": resources.schema_text(name).encode() for name in names}


def _write_all(contents: Mapping[Path, bytes]) -> list[Path]:
    """Writes all files. If one fails, removes the files created before it, so that the command can be repeated."""
    created: list[Path] = []
    try:
        for path, data in contents.items():
            is_new = not path.exists()
            _make_folder(path.parent)
            write_file(path, data)
            if is_new:
                created.append(path)
    except UsageError:
        for path in created:
            path.unlink()
        raise
    return list(contents)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        file = next((path for path in (folder, *folder.parents) if path.exists() and not path.is_dir()), None)
        if file is not None:
            raise UsageError(f"'{file}' is a file, not a folder") from error
        raise UsageError(f"cannot create the folder '{folder}': {error.strerror}") from error
