"""`python -m forum_runner` is `forum`."""

from forum_runner.cli import main

main()
