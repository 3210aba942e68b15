"""The subcommands. Each module has `add_to`, which adds its parser, and what runs it and returns an exit code."""
