"""`python -m forum_conformance.program ROLE`, or `serve`."""

import sys

from forum_conformance.program.serve import JUDGE_ROLES, main

sys.exit(main(JUDGE_ROLES))
