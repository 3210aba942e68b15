"""Lays out the files of a first workflow, and the schemas for an editor."""

from __future__ import annotations

from pathlib import Path

from forum_runner import resources
from forum_runner.errors import UsageError
from forum_runner.write_file import write_file

_TEMPLATE = "init"
SCHEMA_FOLDER = Path(".forum", "schemas")


def write_scaffold(folder: Path) -> list[Path]:
    """Writes the first workflow, unless one of its files is there already."""
    template = resources.manifest(_TEMPLATE)
    contents = {folder / item.name: item.read_bytes() for item in sorted(template.iterdir(), key=lambda i: i.name)}
    contents[folder / ".forum" / ".gitignore"] = b"runs/\n"
    in_the_way = [path for path in contents if path.exists()]
    if in_the_way:
        listed = ", ".join(f"'{path}'" for path in in_the_way)
        raise UsageError(f"not overwriting what is there already: {listed}")
    for path, data in contents.items():
        _make_folder(path.parent)
        write_file(path, data)
    return [*contents, *write_schemas(folder / SCHEMA_FOLDER)]


def write_schemas(folder: Path) -> list[Path]:
    """Writes every schema as it ships, below `v1`, so that their references to each other hold."""
    target = folder / "v1"
    _make_folder(target)
    paths = []
    for name in resources.schema_names():
        path = target / f"{name}.schema.json"
        write_file(path, resources.schema_text(name).encode())
        paths.append(path)
    return paths


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"'{error.filename}' is a file, not a folder") from error
