"""Finds manifests by path, by name, or by kind in the same file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from forum_runner.document import Document, Origin
from forum_runner.manifest.bundle import Bundle, BundleFile
from forum_runner.manifest.bundle_files import split_reference
from forum_runner.manifest.schema_check import check_header, check_schema
from forum_runner.manifest.suggest import hint_for


@dataclass(frozen=True, slots=True)
class Manifest:
    """One document of a known kind. `value` contains only its valid fields."""

    kind: str
    name: str
    value: Any
    document: Document

    @property
    def origin(self) -> Origin:
        return self.document.origin()


class Manifests:
    """The manifests of a bundle, each validated once, when its file is first opened."""

    def __init__(self, bundle: Bundle, schemas: Mapping[str, str]) -> None:
        """`schemas` maps each kind to the name of its schema."""
        self._bundle = bundle
        self._schemas = schemas
        self._manifests: dict[str, list[Manifest]] = {}

    def manifests_in(self, source: BundleFile) -> list[Manifest]:
        if source.name not in self._manifests:
            read = [self._read_manifest(document) for document in source.documents]
            self._manifests[source.name] = [manifest for manifest in read if manifest is not None]
        return self._manifests[source.name]

    def single_manifest(self, source: BundleFile, kinds: Collection[str], name: str | None) -> Manifest | None:
        """The manifest with one of these kinds and this name in a file that was passed to a command.

        Returns None if none or several match. Adds a finding, unless a document of unknown kind, which has a finding
        already, may be the manifest.
        """
        matches = [m for m in self.manifests_in(source) if m.kind in kinds and name in (None, m.name)]
        kind = " or ".join(kinds)
        if len(matches) == 1:
            return matches[0]
        origin = source.documents[0].origin() if source.documents else None
        if origin is not None and not matches and self._has_known_kinds(source):
            hint = self._hint(source, kinds, name)
            self._add(origin, "F003", f"this file contains no {kind}{_name_suffix(name)}", hint)
        elif matches:
            names = ", ".join(sorted(m.name for m in matches))
            message = f"this file contains {len(matches)} documents of kind {kind}: {names}"
            self._add(matches[1].origin.at("kind"), "F004", message, f"select one with '{source.name}#NAME'")
        return None

    def same_file_manifests(self, workflow: Origin, kind: str) -> list[Manifest]:
        """The manifests of a kind in the file of a workflow that refers to none. More than one is a finding."""
        source = self._bundle.open_path(workflow.document.file)
        matches = [m for m in self.manifests_in(source) if m.kind == kind] if source else []
        if len(matches) > 1:
            message = f"this file contains {len(matches)} documents of kind {kind}, and the workflow refers to none"
            hint = f"select one: '{kind.lower()}: \"#{matches[0].name}\"'"
            self._add(matches[1].origin.at("kind"), "F004", message, hint)
        return matches

    def by_reference(self, reference: str, kind: str, origin: Origin) -> Manifest | None:
        """The manifest that a reference selects: `path`, `path#name` or, in the file of `origin`, `#name`.

        If none or several match, adds a finding and returns None.
        """
        path, name = split_reference(reference)
        file = origin.document.file
        source = self._bundle.open_reference(path, origin) if path else self._bundle.open_path(file)
        if source is None:
            return None
        matches = [m for m in self.manifests_in(source) if m.kind == kind and name in (None, m.name)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            self._add(
                origin, "F004", f"'{source.name}' contains {len(matches)} documents of kind {kind}", "add '#NAME'"
            )
        elif self._has_known_kinds(source):
            message = f"'{source.name}' contains no {kind}{_name_suffix(name)}"
            self._add(origin, "F005", message, self._hint(source, [kind], name))
        return None

    def _hint(self, source: BundleFile, kinds: Collection[str], name: str | None) -> str | None:
        manifests = self.manifests_in(source)
        known = [m.name for m in manifests if m.kind in kinds]
        if name and known:
            return hint_for(name, known, "names")
        present = {manifest.kind for manifest in manifests}
        listed = ", ".join(kind for kind in self._schemas if kind in present)
        return f"it contains: {listed}" if listed else "it contains no manifest"

    def _has_known_kinds(self, source: BundleFile) -> bool:
        """Whether the kind of every document is known. If not, an unknown one may be the missing manifest."""
        return bool(source.documents) and len(self.manifests_in(source)) == len(source.documents)

    def _read_manifest(self, document: Document) -> Manifest | None:
        kind, findings = check_header(document, tuple(self._schemas))
        self._bundle.findings += findings
        if kind is None:
            return None
        value, findings = check_schema(document, self._schemas[kind])
        # check_header has reported problems in the header with more specific findings.
        header = (document.origin("apiVersion").place(), document.origin("kind").place())
        self._bundle.findings += [f for f in findings if f.code != "F204" or f.place not in header]
        metadata = value.get("metadata", {})
        return Manifest(kind, metadata.get("name", ""), value, document)

    def _add(self, origin: Origin, code: str, message: str, hint: str | None) -> None:
        self._bundle.findings.append(origin.finding(code, message, hint))


def _name_suffix(name: str | None) -> str:
    return f" named '{name}'" if name else ""
