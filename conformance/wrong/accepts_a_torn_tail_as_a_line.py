"""Treats the bytes after the last LF as one more line.

Breaks LEDGER-TORN-001 in prove, verify.
"""

import io
import sys
from typing import BinaryIO

from forum_conformance.lines import Lines
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE, main

begin_correctly = Lines.__init__


def begin(lines: Lines, stream: BinaryIO) -> None:
    content = stream.read()
    ended = content if not content or content.endswith(b"\n") else content + b"\n"
    begin_correctly(lines, io.BytesIO(ended))


replace(Lines, "__init__", begin)
sys.exit(main(JUDGE))
