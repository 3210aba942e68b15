"""Replace a function of the judge, to build a wrong implementation."""

from collections.abc import Callable
from types import ModuleType
from typing import Any


def replace(owner: ModuleType | type, name: str, part: Callable[..., Any]) -> None:
    """Replace a part for the whole process. An unknown name is an error: the program would be correct by accident."""
    if not hasattr(owner, name):
        raise AttributeError(f"{owner.__name__} has no part '{name}'")
    setattr(owner, name, part)
