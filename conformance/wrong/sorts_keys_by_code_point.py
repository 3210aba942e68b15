"""Sorts the keys of an object by code points, not by UTF-16 code units.

Breaks LEDGER-LINE-005. Roles: canonicalize, verify.
"""

import sys

from forum_conformance import canonical
from forum_conformance.program.json_form import Form
from forum_conformance.program.patch import replace
from forum_conformance.program.serve import JUDGE_ROLES, main

replace(canonical, "form", Form(sort_key=str))
sys.exit(main(JUDGE_ROLES))
