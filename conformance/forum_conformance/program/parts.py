"""Puts another function in the place of one of the judge's own: what a wrong implementation is made with."""

from collections.abc import Callable
from types import ModuleType
from typing import Any


def replace(owner: ModuleType | type, name: str, part: Callable[..., Any]) -> None:
    """For the whole process. A name that is not there is a mistake: the program would be right by accident."""
    if not hasattr(owner, name):
        raise AttributeError(f"{owner.__name__} has no part '{name}'")
    setattr(owner, name, part)
