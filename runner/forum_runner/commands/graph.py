"""`forum graph`"""

from __future__ import annotations

from pathlib import Path

import click

from forum_runner.commands.options import bundle_options, read_inputs
from forum_runner.commands.output import say, show_findings, write_document

_ENDINGS = {"": "text", ".txt": "text", ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot"}
_ENDINGS |= {".svg": "svg"}


@click.command("graph", short_help="Draw a workflow.")
@click.argument("file")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "mermaid", "dot", "svg"]),
    help="[default: by PATH's ending, else text]",
)
@click.option("-o", "--output", metavar="PATH", help="Write the drawing there.  [default: standard output]")
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

    Everything is drawn here; no other program and no service is asked. Inputs may be missing.
    """
    from forum_runner.app.workflows import compile_file
    from forum_runner.finding import exit_code_of
    from forum_runner.graph import GraphFormat, render
    from forum_runner.write_file import write_file

    chosen = GraphFormat(form or _by_ending(output))
    compiled = compile_file(file, root, read_inputs(input_texts, inputs_file), complete=False)
    show_findings(compiled.report)
    if compiled.wave_plan is None:
        return exit_code_of(compiled.report.findings)
    drawing = render(compiled.wave_plan, chosen)
    if output is not None and output != "-":
        write_file(Path(output), drawing.encode(), keep=compiled.sources)
    elif chosen is GraphFormat.TEXT:
        say(drawing, newline=False)
    else:
        write_document(drawing)
    return 0


def _by_ending(output: str | None) -> str:
    ending = Path(output).suffix.lower() if output else ""
    if ending not in _ENDINGS:
        raise click.UsageError(f"cannot tell the format from the ending '{ending}'; give --format")
    return _ENDINGS[ending]
