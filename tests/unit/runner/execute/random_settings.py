"""Hypothesis settings: a few fixed examples, or as many random ones as FORUM_EXAMPLES requests."""

import os

from hypothesis import HealthCheck, settings

_REQUESTED = os.environ.get("FORUM_EXAMPLES")


def examples(number: int, share: float = 1.0) -> settings:
    """Return the settings of a test. `share` is the fraction of FORUM_EXAMPLES for tests with slow examples."""
    return settings(
        max_examples=number if _REQUESTED is None else max(round(int(_REQUESTED) * share), 1),
        derandomize=_REQUESTED is None,
        database=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
