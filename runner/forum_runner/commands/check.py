"""The command `forum check`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from forum_runner.commands.options import WORKSPACE, bundle_options, read_inputs
from forum_runner.commands.output import echo, wants_color, write_document


@click.command("check", short_help="Check manifests and report errors with their location.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="Print findings in this format.",
)
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
@bundle_options
def command(
    files: tuple[str, ...],
    format_name: str,
    as_json: bool,
    root: Path | None,
    input_texts: tuple[str, ...],
    inputs_file: Path | None,
) -> int:
    """Check manifests and report errors with their location.

    Checks every manifest in each FILE, and everything that they refer to. `FILE#NAME` checks only one of several
    workflows in FILE.

    Exits 0 if there are no errors, 2 if there are, and 6 if the only errors are refusals by the policy.
    """
    from forum_runner import api
    from forum_runner.finding import exit_code_of
    from forum_runner.manifest.units import counted
    from forum_runner.report.finding_formats import RENDERERS, render_text

    report = api.check(WORKSPACE, files, root=root, inputs=read_inputs(input_texts, inputs_file))
    if as_json or format_name != "text":
        write_document(RENDERERS["json" if as_json else format_name](report))
    elif report.findings:
        color = wants_color(sys.stdout)
        echo(render_text(report, color=color), newline=False, color=color)
    else:
        echo(f"ok: {counted(len(report.texts), 'file')} checked, no findings")
    return exit_code_of(report.findings)
