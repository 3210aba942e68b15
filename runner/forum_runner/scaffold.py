"""Lays out the files of a first workflow, and the schemas for an editor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from forum_runner import resources
from forum_runner.errors import UsageError
from forum_runner.write_file import write_file

_TEMPLATE = "init"
SCHEMA_FOLDER = Path(".forum", "schemas")
_OF_MANIFESTS = ("manifest", "plan", "policy", "roster", "script", "types", "workflow")


def write_scaffold(folder: Path) -> list[Path]:
    """Writes the first workflow and its schemas, all or nothing, unless one of the files is there already."""
    template = resources.manifest(_TEMPLATE)
    contents = {folder / item.name: item.read_bytes() for item in sorted(template.iterdir(), key=lambda i: i.name)}
    contents[folder / ".forum" / ".gitignore"] = b"runs/\ncache/\n"
    contents |= _schemas(folder / SCHEMA_FOLDER, _OF_MANIFESTS)
    in_the_way = [path for path in contents if path.exists()]
    if in_the_way:
        listed = ", ".join(f"'{path}'" for path in in_the_way)
        raise UsageError(f"not overwriting what is there already: {listed}")
    return _write_all(contents)


def write_schemas(folder: Path) -> list[Path]:
    """Writes every schema as it ships, below `v1`, so that their references to each other hold."""
    return _write_all(_schemas(folder, resources.schema_names()))


def _schemas(folder: Path, names: Iterable[str]) -> dict[Path, bytes]:
    return {folder / "v1" / f"{name}.schema.json": resources.schema_text(name).encode() for name in names}


def _write_all(contents: Mapping[Path, bytes]) -> list[Path]:
    """What was new when a file could not be written is taken away again, so that the command can be repeated."""
    made: list[Path] = []
    try:
        for path, data in contents.items():
            is_new = not path.exists()
            _make_folder(path.parent)
            write_file(path, data)
            if is_new:
                made.append(path)
    except UsageError:
        for path in made:
            path.unlink()
        raise
    return list(contents)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        in_the_way = next((p for p in (folder, *folder.parents) if p.exists() and not p.is_dir()), None)
        if in_the_way is not None:
            raise UsageError(f"'{in_the_way}' is a file, not a folder") from error
        raise UsageError(f"cannot make the folder '{folder}': {error.strerror}") from error
