"""The command `forum compile`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner.commands.options import WORKSPACE, bundle_options, output_path, read_inputs
from forum_runner.commands.output import echo, show_findings, write_document

if TYPE_CHECKING:
    from forum_runner.wave_plan.wave_plan_reader import WavePlan


_MAX_WAVES = 20
_MAX_TASKS_PER_WAVE = 8


@click.command("compile", short_help="Compile a workflow into a wave plan.")
@click.argument("file")
@click.option("-o", "--output", metavar="PATH", help="Write the wave plan to PATH; `-` is standard output.")
@click.option("--json", "as_json", is_flag=True, help="Print the wave plan. Same as `-o -`.")
@bundle_options
def command(
    file: str,
    output: str | None,
    as_json: bool,
    root: Path | None,
    input_texts: tuple[str, ...],
    inputs_file: Path | None,
) -> int:
    """Compile a workflow into a wave plan.

    The wave plan is one RFC 8785 document, byte-for-byte identical on every machine. Without -o or --json, prints only
    a summary. Findings go to standard error; if one of them is an error, nothing is written.

    Exits 0 if there are no errors, 2 if there are, and 6 if the only errors are refusals by the policy.
    """
    from forum_runner import api
    from forum_runner.finding import exit_code_of

    inputs, out = read_inputs(input_texts, inputs_file), output_path(output, as_json)
    compiled = api.compile(WORKSPACE, file, root=root, inputs=inputs, out=out)
    show_findings(compiled.report)
    if compiled.data is None:
        return exit_code_of(compiled.report.findings)
    if as_json or output == "-":
        write_document(compiled.data)
    elif output is not None:
        echo(f"{output}: {len(compiled.data):,} bytes, digest {compiled.digest}")
    else:
        echo(_summary(compiled.plan), newline=False)
    return 0


def _summary(plan: WavePlan) -> str:
    from forum_runner.manifest.units import counted
    from forum_runner.report import join_lines

    waves = plan.waves
    head = f"{plan.metadata.name}: {counted(len(plan.tasks), 'task')} in {counted(len(waves), 'wave')}"
    lines = [f"  wave {number}  {_wave_text(wave)}" for number, wave in enumerate(waves[:_MAX_WAVES], 1)]
    if len(waves) > _MAX_WAVES:
        lines.append(f"  ... and {len(waves) - _MAX_WAVES:,} more")
    return join_lines([head, *lines, f"digest {plan.digest}"])


def _wave_text(wave: Sequence[str]) -> str:
    more = f", ... ({len(wave):,} total)" if len(wave) > _MAX_TASKS_PER_WAVE else ""
    return ", ".join(wave[:_MAX_TASKS_PER_WAVE]) + more
