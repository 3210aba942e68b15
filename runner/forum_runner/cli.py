"""The command line: finds the command, and turns every way in which it can end into an exit code.

A command's module is imported when it is called, so that `--help` stays quick.
"""

from __future__ import annotations

import gc
import importlib
import keyword
import signal
import sys
from typing import NoReturn

import click

from forum_runner import __version__
from forum_runner.commands.failure import describe_failure
from forum_runner.commands.output import discard, prepare_streams, say_aside
from forum_runner.errors import ExitCode
from forum_runner.execute.drive.process_exit import leave

# The sections of `forum --help`: each command with the one line that is said about it.
COMMANDS: dict[str, dict[str, str]] = {
    "Write": {
        "init": "Begin a workflow that runs offline.",
        "check": "Say what is wrong with manifests, and where.",
        "compile": "Turn a workflow into a wave plan.",
        "graph": "Draw a workflow.",
    },
    "Run": {
        "run": "Run a workflow, and record what happens.",
        "resume": "Go on with a run that stopped.",
        "gate": "List what waits for a person, and decide it.",
        "replay": "Tell a run again from its record, and compare.",
        "doctor": "Say what is installed, and what answers.",
    },
    "Check": {
        "verify": "Say whether a ledger holds, and where it was touched.",
        "checkpoint": "Print the size and Merkle root of a ledger, signed if you like.",
        "prove": "Prove something about a ledger to somebody who does not have it.",
        "keygen": "Make a key that signs checkpoints.",
        "redact": "Take a body out of a ledger, and leave a record of it.",
        "import": "Make a ledger from the records of another program.",
    },
    "Read a ledger": {
        "show": "Tell what happened in a run.",
        "log": "List the entries of a ledger.",
        "trace": "Tell why something happened: the causes of an entry.",
        "diff": "Say where two runs part.",
    },
    "Look up": {
        "explain": "Tell more about the code of a finding.",
        "schema": "Print a JSON Schema, or write all of them for an editor.",
    },
    "Test": {
        "conform": "Answer the conformance suite, as a program under test.",
    },
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        # A word of Python's own cannot be the name of a module that is imported by it.
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        module = importlib.import_module(f"forum_runner.commands.{name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            from forum_runner.manifest.suggest import hint_for

            hint = hint_for(args[0], self.list_commands(ctx), "commands")
            raise click.UsageError(f"there is no command '{args[0]}'; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        for title, section in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl(list(section.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="forum")
def cli() -> None:
    """Run agent work and command work from checked-in files, and leave a record that a stranger can check."""


def main() -> NoReturn:
    # A command builds what it needs and ends: looking for garbage in it costs a fifth of the time, and finds none.
    gc.disable()
    prepare_streams()
    code = _run()
    # All is done and said: an interrupt would only let Python tell of its own shutdown.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    leave(code)


def _run() -> int:
    try:
        code = cli.main(prog_name="forum", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        say_aside(_usage_message(error))
        return ExitCode.INVALID
    except SystemExit:
        return ExitCode.OK  # click's answer to a reader of its help that has seen enough
    except (KeyboardInterrupt, Exception) as error:
        said, failed = describe_failure(error)
        say_aside(said)
        if isinstance(error, OSError):
            # A disk that is full, or the like: what is still in the buffer would fail once more at the end.
            discard(sys.stdout)
        return failed
    return code if isinstance(code, int) else ExitCode.OK


def _usage_message(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    usage = f"{context.get_usage()}\n" if context else ""
    return f"{usage}forum: {error.format_message()}"
