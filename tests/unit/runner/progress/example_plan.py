"""The typed wave plan of an example ledger."""

from collections.abc import Mapping
from typing import Any

from forum_runner.wave_plan.wave_plan_reader import WavePlan, read_wave_plan


def typed_plan(document: Mapping[str, Any]) -> WavePlan | None:
    """Return the typed plan, or None for a ledger without a plan."""
    return read_wave_plan(document) if "policy" in document else None
