"""`forum replay`"""

from __future__ import annotations

import json

import click

from forum_runner.commands.output import say, write_json
from forum_runner.errors import ExitCode


@click.command("replay", short_help="Tell a run again from its record, and compare.")
@click.argument("run", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(run: str, as_json: bool) -> int:
    """Execute a run again under its recorded answers, clock and ids, and compare to the byte.

    Nothing is called. What is compared shows that the runner decided what its rules say; what stands outside of it,
    such as what a model answered, is taken from the record. Exits 0 if the story is the same, 3 if it parts, and 7 if
    it is the same as far as an unfinished run goes.
    """
    from forum_runner.app.replay import ASSUMED, CHECKED, replay
    from forum_runner.report import counted

    found = replay(run)
    retold = found.retold
    code = _exit_code(is_same=found.is_same, is_sealed=found.report.status is not None)
    if as_json:
        parted = retold.divergence
        form = {
            "same": found.is_same,
            "entries": retold.entries,
            "calls": retold.calls,
            "checked": list(CHECKED),
            "assumed": list(ASSUMED),
            "divergence": parted and {"seq": parted.seq, "recorded": parted.recorded, "told": parted.told},
        }
        write_json(form)
        return code
    if retold.divergence is not None:
        say(_told(retold.divergence.seq, retold.divergence.recorded, retold.divergence.told), newline=False)
        return code
    what = "all" if code == ExitCode.OK else "an unfinished run:"
    answers = counted(retold.calls, "recorded answer")
    say(f"the same: {what} {retold.entries:,} entries, {answers}")
    for title, lines in (("checked", CHECKED), ("assumed", ASSUMED)):
        say(title)
        for line in lines:
            say(f"  {line}")
    return code


def _exit_code(*, is_same: bool, is_sealed: bool) -> int:
    if not is_same:
        return ExitCode.NOT_VERIFIED
    return ExitCode.OK if is_sealed else ExitCode.INCOMPLETE


def _told(seq: int, recorded: object, told: object) -> str:
    """The first entry at which the story parts, as both sides have it."""
    from forum_runner.finding import visible

    lines = [f"the story parts at entry {seq:,}"]
    for title, form in (("recorded", recorded), ("told", told)):
        text = "nothing more" if form is None else json.dumps(form, sort_keys=True, ensure_ascii=False)
        lines.append(f"  {title:<8}  {visible(text)}")
    return "\n".join(lines) + "\n"
