"""The command `forum import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner.commands.options import JSON, OUT, WORKSPACE
from forum_runner.commands.output import echo, echo_err, write_json

if TYPE_CHECKING:
    from forum_runner.app.record_import import ImportResult

_FORMATS = ("auto", "forum-engine", "symposium", "otel")


@click.command("import", short_help="Import the record of another program as a ledger.")
@click.argument("source", metavar="SOURCE")
@click.option("--format", "format_name", type=click.Choice(_FORMATS), default="auto", help="Set the format of SOURCE.")
@OUT
@JSON
def command(source: str, format_name: str, out: Path | None, as_json: bool) -> int:
    """Import the record of another program as a ledger.

    SOURCE is a folder or file of forum-engine (entries.jsonl and payloads.jsonl) or of symposium (artifact.json),
    OpenTelemetry traces as OTLP JSON (one document, or one per line), or `-` for standard input.

    Each record becomes an entry. The first entry has the digests of the imported files. The ledger shows whether
    anything changed after the import; events before it are only as trustworthy as the source.

    Exits 2 and writes nothing if the source cannot be read.
    """
    from forum_runner import api
    from forum_runner.importing.parsed_source import ImportFormat

    source_format = None if format_name == "auto" else ImportFormat(format_name)
    result = api.import_record(WORKSPACE, source, source_format=source_format, out=out)
    if as_json:
        write_json(_document(result))
    else:
        _print(result)
    return 0


def _print(result: ImportResult) -> None:
    from forum_runner.manifest.units import counted

    parsed = result.parsed
    files = ", ".join(file.name for file in parsed.files)
    echo(f"{result.directory}: {counted(result.records, f'{parsed.format} record')} from {files}")
    if parsed.check == "fail":
        echo_err(f"forum: the source is invalid: {parsed.reason}; imported unchanged")
    else:
        echo(f"source {'checked' if parsed.check == 'ok' else 'not checked'}: {parsed.reason}")
    for remark in parsed.remarks:
        echo(f"note: {remark}")
    echo("events before the import are only as trustworthy as their source")
    echo(f"head {result.head}")


def _document(result: ImportResult) -> dict[str, object]:
    parsed = result.parsed
    return {
        "apiVersion": "forum/v1",
        "kind": "Import",
        "run": result.run,
        "directory": str(result.directory),
        "head": result.head,
        "format": parsed.format.value,
        "records": result.records,
        "files": [{"name": file.name, "bytes": file.bytes, "digest": file.digest} for file in parsed.files],
        "check": parsed.check.value,
        "reason": parsed.reason,
        "remarks": list(parsed.remarks),
    }
