"""Write small sets of vectors."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rfc8785

LEVELS_OK = {str(number): {"status": "ok"} for number in range(1, 6)}


def case(id_: str, role: str, request: Mapping[str, Any], expected: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "title": f"The title of {id_}.",
        "role": role,
        "requirements": ["LEDGER-LINE-005"],
        **({"level": 2} if role == "verify" else {}),
        "request": dict(request),
        "expected": dict(expected),
        "verified_by": "by hand",
        **fields,
    }


def verify_case(id_: str, codes: Mapping[str, int | None] | None = None, **fields: Any) -> dict[str, Any]:
    """A case that expects findings with these codes, each at a seq or at none."""
    findings = codes or {}
    levels = {number: _level(number, findings) for number in LEVELS_OK}
    seqs = [seq for seq in findings.values() if seq is not None]
    incomplete = {"L310", "L501", "L502", "L503"}
    verdict = "invalid" if set(findings) - incomplete else "incomplete" if findings else "valid"
    expected = {
        "verdict": verdict,
        "codes": sorted(findings),
        "first_bad_seq": min(seqs, default=None),
        "levels": levels,
    }
    return case(id_, "verify", {"input": "run"}, expected, **fields)


def _level(number: str, findings: Mapping[str, int | None]) -> dict[str, Any]:
    codes = sorted(code for code in findings if code[1] == number)
    seqs = [seq for code in codes if (seq := findings[code]) is not None]
    status = "fail" if codes else "ok"
    return {"status": status, "codes": codes, "first_bad_seq": min(seqs, default=None)}


def canonicalize_case(id_: str, **fields: Any) -> dict[str, Any]:
    """A case whose text `[1.0]` is canonicalized to `[1]`."""
    return case(id_, "canonicalize", {"input": "input.json"}, {"verdict": "valid", "output": "output.json"}, **fields)


FILES: Mapping[str, Mapping[str, bytes]] = {
    "canonicalize": {"input.json": b"[1.0]", "output.json": b"[1]"},
    "verify": {"run/ledger.jsonl": b"{}\n", "run/bodies.tar": b""},
}


def write_set(folder: Path, *cases: Mapping[str, Any], files: Mapping[str, Mapping[str, bytes]] | None = None) -> Path:
    """Write vectors. `files` maps an id to the vector's files; by default, a vector has the files of its role."""
    written: dict[str, bytes] = {}
    for vector in cases:
        vector_files = (files or {}).get(vector["id"], FILES.get(vector["role"], {}))
        written |= {f"{vector['id']}/{name}": data for name, data in vector_files.items()}
        written[f"{vector['id']}/case.json"] = json.dumps(vector).encode()
    for name, data in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    write_manifest(folder, {name: hashlib.sha256(data).hexdigest() for name, data in written.items()})
    return folder


def write_manifest(folder: Path, digests: Mapping[str, str]) -> None:
    manifest: dict[str, Any] = {"format": 1, "files": dict(digests)}
    (folder / "MANIFEST.json").write_bytes(rfc8785.dumps(manifest) + b"\n")
