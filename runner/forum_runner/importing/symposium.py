"""Reads an artifact of symposium: its configuration, the messages of its transcript, and its outcome."""

from __future__ import annotations

from typing import Any

from forum_runner.canonical import canonical, digest
from forum_runner.errors import CanonicalError
from forum_runner.importing.import_file import ImportFile
from forum_runner.importing.imported_record import ImportedRecord, facts, micro_usd, texts
from forum_runner.importing.parsed_source import ImportFormat, ParsedSource, SourceCheck
from forum_runner.importing.source_error import SourceError
from forum_runner.importing.spool import RecordSpool
from forum_runner.importing.strict_json import JsonText, read_json
from forum_runner.ledger.body import JSON, Body

ARTIFACT = "artifact.json"
TRANSCRIPT = "canonical_transcript"
# The fields that can contain the text of a message; each message type has its own.
_TEXTS = ("text", "integrated_answer", "rationale")


def parse(spool: RecordSpool, file: ImportFile, max_source_bytes: int) -> ParsedSource:
    text = file.document()
    artifact = read_json(text)
    if not isinstance(artifact, dict) or not isinstance(artifact.get(TRANSCRIPT), list):
        raise SourceError(text.file, "", f"not a symposium artifact: '{TRANSCRIPT}' is missing or is not a list")
    spool.add(_session_record(text, artifact))
    numbers: dict[str, int] = {}
    for index, message in enumerate(artifact[TRANSCRIPT]):
        if not isinstance(message, dict) or not isinstance(message.get("id"), str):
            raise SourceError(
                text.file, f"/{TRANSCRIPT}/{index}", "not a message: it must be an object with a string 'id'"
            )
        numbers.setdefault(message["id"], spool.add(_message_record(text, index, message, numbers)))
    spool.add(_outcome_record(text, artifact, numbers))
    check, reason = _check_digest(artifact)
    source = file.content_if_small(max_source_bytes)
    return ParsedSource(ImportFormat.SYMPOSIUM, spool, (file.facts(),), check, reason, source)


def _session_record(text: JsonText, artifact: dict[str, Any]) -> ImportedRecord:
    data = facts(
        session=artifact.get("session_id"),
        schema_version=artifact.get("schema_version"),
        started=artifact.get("started_at"),
        messages=len(artifact[TRANSCRIPT]),
    )
    return ImportedRecord("x-import-session", data, {"config": _json(text, "/config", artifact.get("config"))})


def _message_record(text: JsonText, index: int, message: dict[str, Any], numbers: dict[str, int]) -> ImportedRecord:
    content = message.get("content")
    data = facts(
        id=message["id"],
        type=message.get("type"),
        speaker=message.get("speaker"),
        round=message.get("round"),
        turn=message.get("turn_index"),
        time=message.get("timestamp"),
        parent=message.get("parent_id"),
        **_usage(message.get("usage")),
    )
    members = content if isinstance(content, dict) else {}
    prose = content if isinstance(content, str) else next((members[name] for name in _TEXTS if name in members), None)
    bodies = {"record": _json(text, f"/{TRANSCRIPT}/{index}", message), **texts({"text": prose})}
    parent = numbers.get(str(message.get("parent_id")))
    # A message without a parent follows from the session, the first record.
    return ImportedRecord("x-import-message", data, bodies, (0,) if parent is None else (parent,))


def _outcome_record(text: JsonText, artifact: dict[str, Any], numbers: dict[str, int]) -> ImportedRecord:
    outcome = artifact.get("outcome")
    members = outcome if isinstance(outcome, dict) else {}
    data = facts(
        outcome=members.get("kind"),
        time=artifact.get("ended_at"),
        **_usage(artifact.get("cumulative_usage")),
        transcript_digest=artifact.get("transcript_digest"),
    )
    rest = {name: value for name, value in artifact.items() if name not in (TRANSCRIPT, "config")}
    answer = numbers.get(str(members.get("synthesis_message_id")))
    # Without a synthesis message, the session ended after the last message.
    last = max(numbers.values(), default=0)
    return ImportedRecord(
        "x-import-outcome", data, {"record": _json(text, "", rest)}, (last,) if answer is None else (answer,)
    )


def _usage(usage: Any) -> dict[str, Any]:
    members = usage if isinstance(usage, dict) else {}
    return {
        "input_tokens": members.get("prompt_tokens"),
        "output_tokens": members.get("completion_tokens"),
        "micro_usd": micro_usd(members.get("cost_usd")),
    }


def _check_digest(artifact: dict[str, Any]) -> tuple[SourceCheck, str]:
    claimed = artifact.get("transcript_digest")
    if not isinstance(claimed, str):
        return SourceCheck.NOT_CHECKED, "it has no transcript_digest"
    if digest(canonical(artifact[TRANSCRIPT])) != claimed:
        return SourceCheck.FAIL, "its transcript does not match its transcript_digest"
    return SourceCheck.OK, "its transcript matches its transcript_digest; the rest of the artifact has no digest"


def _json(text: JsonText, pointer: str, value: Any) -> Body:
    try:
        return Body(canonical(value), JSON)
    except CanonicalError as error:
        raise SourceError(text.file, pointer, str(error)) from error
