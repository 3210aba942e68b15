"""The files of a workflow. Each is read once and identified by its digest and its path from the bundle's root."""

from __future__ import annotations

from dataclasses import dataclass

from forum_runner.canonical import digest
from forum_runner.document import Document, Origin
from forum_runner.finding import ManifestFinding, Place
from forum_runner.manifest.bundle_files import FileProblem, Files, is_reserved, read_built_in, resolve_path
from forum_runner.manifest.yaml_reader import read_yaml

_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A file with its YAML documents. `name` is its path from the bundle's root."""

    name: str
    data: bytes
    text: str
    documents: tuple[Document, ...]

    @property
    def digest(self) -> str:
        return digest(self.data)


class Bundle:
    """Opens the files of a workflow, each once. `findings` collects the findings of all readers and checks."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._opened: dict[str, BundleFile | FileProblem] = {}
        self.findings: list[ManifestFinding] = []

    @property
    def sources(self) -> dict[str, BundleFile]:
        return {name: item for name, item in sorted(self._opened.items()) if isinstance(item, BundleFile)}

    def open_path(self, name: str) -> BundleFile | None:
        """Opens a file by its path from the bundle's root, such as one that was passed to a command.

        If it cannot be read, adds a finding at the start of the file and returns None.
        """
        opened = self._open(name)
        if isinstance(opened, FileProblem):
            self.findings.append(ManifestFinding(opened.code, Place(name), opened.message, opened.hint))
            return None
        return opened

    def open_reference(self, reference: str, origin: Origin) -> BundleFile | None:
        """Opens a file that a manifest refers to. If it cannot be read, adds a finding at `origin` and returns None."""
        try:
            opened = self._open(resolve_path(origin.document.file, reference))
        except FileProblem as problem:
            opened = problem
        if isinstance(opened, FileProblem):
            self.findings.append(origin.finding(opened.code, opened.message, opened.hint))
            return None
        return opened

    def single_document(self, source: BundleFile, hint: str | None = None) -> Document | None:
        """The document of a file that must contain only one, such as a schema or a file of inputs.

        None if the file contains several (which is a finding) or none (which already has one). `hint` is for the
        finding.
        """
        if len(source.documents) > 1:
            place = source.documents[1].origin().place()
            message = f"'{source.name}' contains several documents, but only one is allowed"
            self.findings.append(ManifestFinding("F124", place, message, hint))
            return None
        return source.documents[0] if source.documents else None

    def _open(self, name: str) -> BundleFile | FileProblem:
        if name not in self._opened:
            try:
                self._opened[name] = self._read(name)
            except FileProblem as problem:
                self._opened[name] = problem
        return self._opened[name]

    def _read(self, name: str) -> BundleFile:
        data = read_built_in(name) if is_reserved(name) else self._files.read(name)
        text = self._decode(name, data)
        if text is None:
            return BundleFile(name, data, "", ())
        documents, findings = read_yaml(name, text)
        self.findings += findings
        if not documents and not findings:
            state = "contains only comments" if text.strip() else "is empty"
            self.findings.append(ManifestFinding("F107", Place(name), f"'{name}' {state}"))
        return BundleFile(name, data, text, tuple(documents))

    def _decode(self, name: str, data: bytes) -> str | None:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            before = data[data.rfind(b"\n", 0, error.start) + 1 : error.start].decode("utf-8", "replace")
            place = Place(name, line, len(before) + 1, line, len(before) + 2)
            message = f"invalid UTF-8: byte 0x{data[error.start]:02x}"
            self.findings.append(ManifestFinding("F105", place, message, "save the file as UTF-8"))
            return None
        if text.startswith(_BOM):
            message = "the file starts with a byte order mark"
            self.findings.append(ManifestFinding("F106", Place(name), message, "save it as UTF-8 without a BOM"))
            return text.removeprefix(_BOM)
        return text
