"""Reads integers as doubles, as JavaScript does, and so silently changes integers beyond 2^53.

Breaks LEDGER-LINE-004. Roles: canonicalize.
"""

import sys

from forum_conformance.program import canonicalize
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main

replace(canonicalize, "read_integer", float)
sys.exit(main(JUDGE_ROLES))
