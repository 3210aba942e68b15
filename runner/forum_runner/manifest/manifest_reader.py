"""Reads the manifests of a bundle into values of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from forum_runner.document import Origin
from forum_runner.manifest.bundle import Bundle
from forum_runner.manifest.bundle_files import BUILT_IN
from forum_runner.manifest.manifests import Manifest, Manifests
from forum_runner.manifest.plan_reader import PlanReader
from forum_runner.manifest.raw_value import is_present
from forum_runner.manifest.user_schema import SchemaReader
from forum_runner.model import Plan

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class ManifestKind:
    """How to read one kind of manifest.

    `schema` is the name of its JSON Schema, and of the field in which a workflow refers to it. `read` returns None if
    an essential part is missing. `has_default` means that forum ships a default manifest of this kind.
    """

    name: str
    schema: str
    read: Callable[[ManifestReader, Mapping[str, Any], Origin], Any]
    has_default: bool = False


class ManifestReader:
    """Reads manifests and the manifests that they refer to. Each plan is read once."""

    def __init__(self, bundle: Bundle, kinds: Mapping[str, ManifestKind]) -> None:
        self.bundle = bundle
        self.manifests = Manifests(bundle, {kind.name: kind.schema for kind in kinds.values()})
        self._kinds = kinds
        self._plan_reader = PlanReader(SchemaReader(bundle), bundle.findings)
        self._plans: dict[tuple[str, tuple[str | int, ...], int], Plan] = {}

    def read(self, manifest: Manifest) -> Any:
        return self._kinds[manifest.kind].read(self, manifest.value, manifest.origin)

    def plan(self, value: Mapping[str, Any], origin: Origin) -> Plan:
        key = (origin.document.file, origin.path, id(origin.document))
        if key not in self._plans:
            self._plans[key] = self._plan_reader.read(value, origin)
        return self._plans[key]

    def used_plan(self, reference: str, origin: Origin) -> Plan | None:
        """The plan that a task's `uses` refers to. If it cannot be found, adds a finding and returns None."""
        manifest = self.manifests.by_reference(reference, "Plan", origin)
        return self.plan(manifest.value, manifest.origin) if manifest else None

    def workflow_part(self, value: Mapping[str, Any], origin: Origin, kind_name: str, *, required: bool = False) -> Any:
        """Reads the roster, policy, plan or script of a workflow: a path, an inline mapping or `default`.

        If the field is missing, the manifest of that kind in the same file is used, or else the default, if there is
        one. Returns None if there is no manifest (a finding if it is `required`) or it cannot be read.
        """
        kind = self._kinds[kind_name]
        field, field_origin = value.get(kind.schema), origin.at(kind.schema)
        if isinstance(field, dict):
            return kind.read(self, field, field_origin)
        if field is None and is_present(field_origin):
            return None
        neighbors = self.manifests.same_file_manifests(origin, kind_name) if field is None else []
        if len(neighbors) > 1:
            return None
        manifest = neighbors[0] if neighbors else None
        if field == DEFAULT or (field is None and manifest is None and kind.has_default):
            manifest = self._default(kind, field_origin)
        elif isinstance(field, str):
            manifest = self.manifests.by_reference(field, kind_name, field_origin)
        elif manifest is None and required:
            message, hint = f"the workflow has no {kind.schema}", f"add '{kind.schema}': a path or a mapping"
            self.bundle.findings.append(origin.at("kind").finding("F203", message, hint))
        return self.read(manifest) if manifest else None

    def _default(self, kind: ManifestKind, origin: Origin) -> Manifest | None:
        if not kind.has_default:
            message = f"there is no default {kind.schema}"
            self.bundle.findings.append(origin.finding("F005", message, "write a path or a mapping"))
            return None
        source = self.bundle.open_path(f"{BUILT_IN}default/{kind.schema}.yaml")
        return self.manifests.single_manifest(source, [kind.name], None) if source else None
