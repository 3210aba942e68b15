"""The command `forum graph`."""

from __future__ import annotations

from pathlib import Path

import click

from forum_runner.commands.options import WORKSPACE, bundle_options, output_path, read_inputs
from forum_runner.commands.output import echo, show_findings, write_document

_FORMATS = {"": "text", ".txt": "text", ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot"}
_FORMATS |= {".svg": "svg"}


@click.command("graph", short_help="Draw a workflow.")
@click.argument("file")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "mermaid", "dot", "svg"]),
    help="Draw in this format.  [default: inferred from the suffix of PATH; text if there is none]",
)
@click.option("-o", "--output", metavar="PATH", help="Write the drawing to PATH.  [default: standard output]")
@bundle_options
def command(
    file: str,
    format_name: str | None,
    output: str | None,
    root: Path | None,
    input_texts: tuple[str, ...],
    inputs_file: Path | None,
) -> int:
    """Draw a workflow: waves, tasks, and the edges between them.

    Needs no other program and no service. Inputs may be missing. If the workflow has errors, nothing is drawn.
    """
    from forum_runner import api
    from forum_runner.finding import exit_code_of
    from forum_runner.graph import GraphFormat

    graph_format = GraphFormat(format_name or _format_of(output))
    inputs, out = read_inputs(input_texts, inputs_file), output_path(output)
    drawing = api.draw(WORKSPACE, file, graph_format, root=root, inputs=inputs, out=out)
    show_findings(drawing.report)
    if drawing.text is None:
        return exit_code_of(drawing.report.findings)
    if out is None and graph_format is GraphFormat.TEXT:
        echo(drawing.text, newline=False)
    elif out is None:
        write_document(drawing.text)
    return 0


def _format_of(output: str | None) -> str:
    suffix = Path(output).suffix.lower() if output else ""
    if suffix not in _FORMATS:
        raise click.UsageError(f"cannot infer a format from the suffix '{suffix}'; use --format")
    return _FORMATS[suffix]
