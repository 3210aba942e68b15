"""Monkeypatch the judge to build deliberately wrong implementations."""

from collections.abc import Callable
from types import ModuleType
from typing import Any


def replace(owner: ModuleType | type, name: str, replacement: Callable[..., Any]) -> None:
    """Replace an attribute for the whole process.

    Raises AttributeError if the name does not exist: otherwise nothing would be replaced, and the wrong implementation
    would behave correctly.
    """
    if not hasattr(owner, name):
        raise AttributeError(f"{owner.__name__} has no attribute '{name}'")
    setattr(owner, name, replacement)
