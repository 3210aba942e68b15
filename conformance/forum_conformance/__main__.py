"""`python -m forum_conformance`."""

import sys

from forum_conformance.cli import main

sys.exit(main())
