"""Reads integers as doubles, as JavaScript does, and so silently changes integers beyond 2^53.

Breaks LEDGER-LINE-004 in canonicalize.
"""

import sys

from forum_conformance.program import canonicalizing
from forum_conformance.program.parts import replace
from forum_conformance.program.serving import JUDGE, main

replace(canonicalizing, "read_integer", float)
sys.exit(main(JUDGE))
