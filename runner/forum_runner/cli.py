"""The command line: finds and runs the command, and turns its result into an exit code.

A command's module is imported when the command is called, so `--help` stays fast.
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
from forum_runner.commands.output import discard, echo_err, prepare_streams
from forum_runner.commands.process_exit import exit_process
from forum_runner.errors import ExitCode

# The sections of `forum --help`: each command and its short help.
COMMANDS: dict[str, dict[str, str]] = {
    "Write workflows": {
        "init": "Create a workflow that runs offline.",
        "check": "Check manifests and report errors with their location.",
        "compile": "Compile a workflow into a wave plan.",
        "graph": "Draw a workflow.",
        "explain": "Explain the code of a finding.",
        "schema": "Print a JSON Schema, or write all of them for an editor.",
    },
    "Run workflows": {
        "run": "Run a workflow and record what happens.",
        "resume": "Resume an interrupted or paused run.",
        "gate": "List pending gates and decide them.",
        "doctor": "Check the installation, credentials and adapters.",
    },
    "Inspect runs": {
        "show": "Show what happened in a run.",
        "log": "List the entries of a ledger.",
        "trace": "Show the causes of an entry.",
        "diff": "Show where two runs diverge.",
    },
    "Verify runs": {
        "verify": "Verify a ledger and report where it was altered.",
        "replay": "Replay a run from its ledger and compare.",
        "checkpoint": "Print a ledger's size and Merkle root, optionally signed.",
        "prove": "Prove a claim about a ledger without sharing it.",
        "keygen": "Generate a key that signs checkpoints.",
    },
    "Manage ledgers": {
        "redact": "Remove a body from a run and record the redaction.",
        "import": "Import the record of another program as a ledger.",
    },
    "Test implementations": {
        "conform": "Answer the conformance suite as the program under test.",
    },
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        # A Python keyword cannot be the name of a module.
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
            raise click.UsageError(f"unknown command '{args[0]}'; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        for title, section in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl(list(section.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="forum")
def cli() -> None:
    """Run agents and commands from checked-in workflow files, and record every step in a verifiable ledger."""


def main() -> NoReturn:
    # Most commands end before there is garbage to collect. Collecting takes a fifth of their time.
    gc.disable()
    prepare_streams()
    code = _run()
    # The command has finished: an interrupt would only print a traceback of Python's shutdown.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    exit_process(code)


def _run() -> int:
    try:
        code = cli.main(prog_name="forum", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        echo_err(_usage_message(error))
        return ExitCode.INVALID
    except SystemExit:
        return ExitCode.OK  # click exits like this if the reader of its help closes the pipe
    except (KeyboardInterrupt, Exception) as error:
        message, exit_code = describe_failure(error)
        echo_err(message)
        if isinstance(error, OSError):
            # The disk may be full: flushing the buffer at the end would fail again.
            discard(sys.stdout)
        return exit_code
    return code if isinstance(code, int) else ExitCode.OK


def _usage_message(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    usage = f"{context.get_usage()}\n" if context else ""
    return f"{usage}forum: {error.format_message()}"
