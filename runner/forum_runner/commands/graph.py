"""`forum graph`"""

from __future__ import annotations

from pathlib import Path

import click

from forum_runner.commands.options import WORKSPACE, bundle_options, output_path, read_inputs
from forum_runner.commands.output import echo, show_findings, write_document

_ENDINGS = {"": "text", ".txt": "text", ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot"}
_ENDINGS |= {".svg": "svg"}


@click.command("graph", short_help="Draw a workflow.")
@click.argument("file")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "mermaid", "dot", "svg"]),
    help="Draw in this format.  [default: by the suffix of PATH, else text]",
)
@click.option("-o", "--output", metavar="PATH", help="Write the drawing to PATH.  [default: standard output]")
@bundle_options
def command(
    file: str,
    form: str | None,
    output: str | None,
    root: Path | None,
    input_texts: tuple[str, ...],
    inputs_file: Path | None,
) -> int:
    """Draw a workflow: waves, tasks, and the edges between them.

    Needs no other program and no service. Inputs may be missing.
    """
    from forum_runner import api
    from forum_runner.finding import exit_code_of
    from forum_runner.graph import GraphFormat

    chosen = GraphFormat(form or _by_ending(output))
    inputs, out = read_inputs(input_texts, inputs_file), output_path(output)
    drawn = api.draw(WORKSPACE, file, chosen, root=root, inputs=inputs, out=out)
    show_findings(drawn.report)
    if drawn.text is None:
        return exit_code_of(drawn.report.findings)
    if out is None and chosen is GraphFormat.TEXT:
        echo(drawn.text, newline=False)
    elif out is None:
        write_document(drawn.text)
    return 0


def _by_ending(output: str | None) -> str:
    ending = Path(output).suffix.lower() if output else ""
    if ending not in _ENDINGS:
        raise click.UsageError(f"cannot choose a format for the suffix '{ending}'; use --format")
    return _ENDINGS[ending]
