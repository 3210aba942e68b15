"""Level 3: check the copies of bodies next to the archive, in outputs/ and wave-plan.json."""

import hashlib
import stat
from collections.abc import Iterator
from pathlib import Path

from forum_conformance.archive import SALT_TAG
from forum_conformance.bodies import Store
from forum_conformance.body_references import Body, BodyReferences
from forum_conformance.finding import Findings

_CHUNK_BYTES = 1 << 16
_SUFFIXES = {"application/json": ".json", "text/plain": ".txt"}


def check_copies(
    directory: Path, store: Store, references: BodyReferences, findings: Findings, *, ends_with_seal: bool
) -> None:
    expected = dict(_expected_copies(references))
    existing = set(_existing_names(directory))
    for name in sorted(existing - set(expected)):
        if name.startswith("outputs/") and not name.startswith("outputs/."):
            findings.add("L308", None, f"{name!a} is not a copy of any output")
    for name, body in expected.items():
        if name in existing:
            _check_copy(directory / name, name, body, store, references, findings)
        elif ends_with_seal and body.digest not in references.redacted:
            findings.add("L308", body.seq, f"{name} is missing")


def _existing_names(directory: Path) -> Iterator[str]:
    yield from (path.name for path in directory.iterdir())
    if (directory / "outputs").is_dir():
        yield from (f"outputs/{path.name}" for path in (directory / "outputs").iterdir())


def _expected_copies(references: BodyReferences) -> Iterator[tuple[str, Body]]:
    """Every copy, by its path in the run directory."""
    for name, body in references.outputs.items():
        yield f"outputs/{name}{_SUFFIXES.get(body.type, '.bin')}", body
    if references.wave_plan:
        yield "wave-plan.json", references.wave_plan


def _check_copy(
    path: Path, name: str, body: Body, store: Store, references: BodyReferences, findings: Findings
) -> None:
    if body.digest in references.redacted:
        sentence = f"{body.digest} is recorded as redacted, but its copy {name} still exists"
        findings.add("L306", references.first[body.digest].seq, sentence)
    # A link or a device is not a copy, and a device may be endless.
    elif not stat.S_ISREG(path.lstat().st_mode):
        findings.add("L308", body.seq, f"{name} is not a regular file")
    elif _differs(path, body, store):
        findings.add("L308", body.seq, f"{name} differs from the body it should be a copy of")


def _differs(path: Path, body: Body, store: Store) -> bool:
    salt = store.read_salt(body) if body.is_salted else b""
    if salt is None:
        return False  # The body is missing or altered, which is already a finding.
    hasher = hashlib.sha256(SALT_TAG + salt if body.is_salted else b"")
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            hasher.update(chunk)
    return hasher.hexdigest() != body.digest
