"""The entry point of `forum`, which can be interrupted while the command line loads."""

from __future__ import annotations

import sys
from typing import NoReturn

_INTERRUPTED = 130


def main() -> NoReturn:
    try:
        from forum_runner import cli
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    cli.main()


if __name__ == "__main__":
    main()
