"""The command `forum replay`."""

from __future__ import annotations

import json

import click

from forum_runner.commands.options import JSON, WORKSPACE
from forum_runner.commands.output import echo, write_json
from forum_runner.errors import ExitCode


@click.command("replay", short_help="Replay a run from its ledger and compare.")
@click.argument("run", metavar="RUN")
@JSON
def command(run: str, as_json: bool) -> int:
    """Replay a run with its recorded answers, clock and ids, and compare every entry byte for byte.

    Calls nothing. Replay shows that the runner followed its rules. Answers from outside, such as those of a
    model, come from the ledger.

    Exits 0 if the replay is identical, 3 if it diverges or the ledger is invalid, and 7 if it is identical but the run
    has not finished.
    """
    from forum_runner import api
    from forum_runner.finding import visible
    from forum_runner.manifest.units import counted

    result = api.replay(WORKSPACE, run)
    outcome, divergence = result.outcome, result.outcome.divergence
    code = _exit_code(is_same=result.is_same, is_sealed=result.report.status is not None)
    sides = {} if divergence is None else {"recorded": divergence.recorded, "replayed": divergence.replayed}
    if as_json:
        document = {
            "same": result.is_same,
            "entries": outcome.entries,
            "calls": outcome.calls,
            "checked": list(result.checked),
            "assumed": list(result.assumed),
            "divergence": divergence and {"seq": divergence.seq, **sides},
        }
        write_json(document)
        return code
    if divergence is not None:
        echo(f"replay diverges at entry {divergence.seq:,}")
        for side, entry in sides.items():
            text = "no more entries" if entry is None else json.dumps(entry, sort_keys=True, ensure_ascii=False)
            echo(f"  {side:<8}  {visible(text)}")
        return code
    entries, answers = counted(outcome.entries, "entry", "entries"), counted(outcome.calls, "recorded answer")
    scope = f"all {entries}" if code == ExitCode.OK else f"{entries} of an unfinished run"
    echo(f"identical: {scope}, {answers}")
    for title, lines in (("checked", result.checked), ("assumed", result.assumed)):
        echo(title)
        for line in lines:
            echo(f"  {line}")
    return code


def _exit_code(*, is_same: bool, is_sealed: bool) -> int:
    if not is_same:
        return ExitCode.NOT_VERIFIED
    return ExitCode.OK if is_sealed else ExitCode.INCOMPLETE
