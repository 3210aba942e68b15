"""Enable assertion rewriting for the shared modules."""

import pytest

pytest.register_assert_rewrite("faults.aftermath", "faults.process")
