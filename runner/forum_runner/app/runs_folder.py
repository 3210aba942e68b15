"""The folder that runs are kept in, where no other is named."""

from __future__ import annotations

from forum_runner.ledger.source import RUNS


def keep_out_of_git() -> None:
    """Runs hold prompts and outputs: whoever wants them in a repository says so."""
    folder = RUNS.parent
    if not folder.exists():
        folder.mkdir(parents=True)
        (folder / ".gitignore").write_text("runs/\ncache/\n")
