"""`forum graph`"""

from __future__ import annotations

from pathlib import Path

import click

from forum_runner.commands.options import bundle_options, read_inputs, show_findings


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
    from forum_runner.app import compile_file
    from forum_runner.finding import exit_code_of
    from forum_runner.graph import GraphFormat, render
    from forum_runner.write_file import write_file

    endings = {".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg"}
    by_ending = endings.get(Path(output).suffix, "text") if output else "text"
    compiled = compile_file(file, root, read_inputs(input_texts, inputs_file), complete=False)
    show_findings(compiled.report)
    if compiled.wave_plan is None:
        return exit_code_of(compiled.report.findings)
    drawing = render(compiled.wave_plan, GraphFormat(form or by_ending))
    if output is None or output == "-":
        click.echo(drawing, nl=False)
    else:
        write_file(Path(output), drawing.encode())
    return 0
