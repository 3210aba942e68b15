"""The subcommands. Each module has `add_to`, which adds its parser, and a function that runs the command."""
