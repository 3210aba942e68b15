"""The entry point of `forum`. An interrupt while the command line loads exits without a traceback."""

from __future__ import annotations

import sys
from typing import NoReturn

# `ExitCode.INTERRUPTED`, repeated here because importing it could be interrupted, too.
_INTERRUPTED = 130


def main() -> NoReturn:
    try:
        from forum_runner import cli
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    cli.main()


if __name__ == "__main__":
    main()
