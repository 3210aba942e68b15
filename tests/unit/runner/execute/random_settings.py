"""How many examples hypothesis makes: few and always the same ones, or as many as FORUM_EXAMPLES asks for."""

import os

from hypothesis import HealthCheck, settings

_ASKED = os.environ.get("FORUM_EXAMPLES")


def examples(number: int, share: float = 1.0) -> settings:
    """`share` is the part of FORUM_EXAMPLES that a law gets whose examples are long."""
    return settings(
        max_examples=number if _ASKED is None else max(round(int(_ASKED) * share), 1),
        derandomize=_ASKED is None,
        database=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
