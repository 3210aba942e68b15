"""Recompute symposium's own digest: SHA-256 over the RFC 8785 form of the transcript."""

import json
from typing import BinaryIO

from forum_conformance import canonical

ARTIFACT = "artifact.json"
MAX_BYTES = 1 << 26


def check_transcript(stream: BinaryIO) -> str:
    """Check the digest, and describe the result in a sentence."""
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        return f"its own digest was not checked: the file has more than {MAX_BYTES:,} bytes"
    try:
        artifact = json.loads(data)
        transcript, claimed = artifact["canonical_transcript"], artifact["transcript_digest"]
        messages = len(transcript)
        computed = canonical.digest(canonical.form(transcript))
    except (ValueError, KeyError, TypeError, RecursionError):
        return "its own digest was not checked: the file is not a readable artifact"
    result = "matches" if claimed == computed else "does not match"
    return f"its transcript_digest {result} its transcript ({messages} messages); it covers nothing else"
