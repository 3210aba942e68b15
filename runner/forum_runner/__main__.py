"""`python -m forum_runner` is `forum`."""

from forum_runner.entry import main

main()
