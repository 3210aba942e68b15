"""`forum import`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner.commands.options import RUN_DIRECTORY
from forum_runner.commands.output import say, say_aside, write_json

if TYPE_CHECKING:
    from forum_runner.app.record_import import Imported

_FORMATS = ("auto", "forum-engine", "symposium", "otel")


@click.command("import", short_help="Make a ledger from the records of another program.")
@click.argument("source", metavar="SOURCE")
@click.option("--format", "format_name", type=click.Choice(_FORMATS), default="auto", help="What SOURCE is.")
@click.option("--out", type=RUN_DIRECTORY, metavar="DIR", help="A directory for it alone.  [default: .forum/runs/ID]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(source: str, format_name: str, out: Path | None, as_json: bool) -> int:
    """Make a ledger from the records of another program.

    SOURCE is a folder or file of forum-engine (entries.jsonl and payloads.jsonl) or of symposium (artifact.json),
    traces of OpenTelemetry as OTLP JSON (one document, or one a line), or `-` for standard input.

    Each record becomes an entry. The first one says what was imported, with the digests of the files: the ledger shows
    whether anything was changed since, and what came before is only as good as its source.

    Exits 2 if the source cannot be read; nothing is written then.
    """
    from forum_runner.app.record_import import import_records
    from forum_runner.importing.parsed_source import ImportFormat

    made = import_records(source, None if format_name == "auto" else ImportFormat(format_name), out)
    if as_json:
        write_json(_document(made))
    else:
        _tell(made)
    return 0


def _tell(made: Imported) -> None:
    from forum_runner.report import counted

    parsed = made.parsed
    files = ", ".join(file.name for file in parsed.files)
    say(f"{made.directory}: {counted(made.records, 'record')} of {parsed.format} from {files}")
    if parsed.check == "fail":
        say_aside(f"forum: the source does not hold: {parsed.reason}; it was imported as it is")
    else:
        say(f"{'checked' if parsed.check == 'ok' else 'not checked'}: {parsed.reason}")
    for remark in parsed.remarks:
        say(f"noted: {remark}")
    say("what happened before the import is only as good as its source")
    say(f"head {made.head}")


def _document(made: Imported) -> dict[str, object]:
    parsed = made.parsed
    return {
        "apiVersion": "forum/v1",
        "kind": "Import",
        "run": made.run,
        "directory": str(made.directory),
        "head": made.head,
        "format": parsed.format.value,
        "records": made.records,
        "files": [{"name": file.name, "bytes": file.bytes, "digest": file.digest} for file in parsed.files],
        "check": parsed.check.value,
        "ground": parsed.reason,
        "remarks": list(parsed.remarks),
    }
