"""Gives the package its data when it is built: a checkout keeps vectors, protocol and schemas outside of it."""

from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PACKAGE = "forum_conformance"
_SCHEMA_FILES = f"{_PACKAGE}/schema_files"


class DataFiles(BuildHookInterface[BuilderConfig]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # a copy would hide what is edited
        root = Path(self.root)
        placed = {}
        # A source distribution has its schemas in the package already: what stands beside it is not ours.
        if not (root / _SCHEMA_FILES).is_dir():
            placed[str(root.parent / "schemas")] = _SCHEMA_FILES
        if self.target_name == "wheel":
            placed[str(root / "vectors")] = f"{_PACKAGE}/vectors"
            placed[str(root / "PROTOCOL.md")] = f"{_PACKAGE}/PROTOCOL.md"
        build_data["force_include"] |= placed
