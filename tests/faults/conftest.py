"""Makes the assertions of the shared modules tell what they compared."""

import pytest

pytest.register_assert_rewrite("faults.aftermath", "faults.process")
