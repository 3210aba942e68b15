"""Adapter types by name: forum's own, and those that other packages offer as entry points. Loaded when asked for.

AdapterTypeError
├── UnknownAdapterError   nobody offers the type
├── ClashingAdapterError  more than one distribution offers it, or another one offers one of forum's own
└── BrokenAdapterError    it cannot be loaded or made, or is no adapter
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from forum_adapters.base import Adapter

GROUP = "forum.adapters"
AdapterType = Callable[[str, Mapping[str, Any]], Adapter]

_OWN_DISTRIBUTION = "forum-runner"
# Forum's own types are there without an installation, too: a checkout on the path has no entry points.
OWN_TYPES = {
    "anthropic": "forum_adapters.anthropic:AnthropicAdapter",
    "command": "forum_adapters.command:CommandAdapter",
    "openai": "forum_adapters.openai:OpenAIAdapter",
    "scripted": "forum_adapters.scripted:ScriptedAdapter",
}
# For the runner alone: no roster can name it.
_INTERNAL = {"replay": "forum_adapters.replay:ReplayAdapter"}
# Types of other packages begin like the users' own fields (docs/adr/0004).
_FOREIGN_PREFIX = "x-"
_METHODS = ("answer", "probe", "close")


class AdapterTypeError(Exception):
    """A type of adapter that a roster names cannot be used."""

    def __init__(self, type_name: str, message: str) -> None:
        self.type_name = type_name
        super().__init__(message)


class UnknownAdapterError(AdapterTypeError):
    """No installed package offers the type."""

    def __init__(self, type_name: str, known: Iterable[str]) -> None:
        self.known = tuple(known)
        message = f"no adapter type '{type_name}' is installed; there are {', '.join(self.known)}"
        super().__init__(type_name, f"{message}; another package that offers it must be installed")


class ClashingAdapterError(AdapterTypeError):
    """Which code would run is not for the order of installation to decide."""

    def __init__(self, type_name: str, distributions: Sequence[str]) -> None:
        self.distributions = tuple(distributions)
        offered = " and by ".join(self.distributions)
        super().__init__(type_name, f"adapter type '{type_name}' is offered by {offered}; all but one must go")


class BrokenAdapterError(AdapterTypeError):
    """The code that offers the type does not do what an adapter does."""

    def __init__(self, type_name: str, reason: str) -> None:
        self.reason = reason
        super().__init__(type_name, f"adapter type '{type_name}' is broken: {reason}")


def adapter_type(type_name: str) -> AdapterType:
    """What makes adapters of this type: `(name, settings) -> Adapter`."""
    if type_name in _INTERNAL:
        return _loaded(EntryPoint(type_name, _INTERNAL[type_name], GROUP))
    offers = _offers().get(type_name)
    if not offers:
        raise UnknownAdapterError(type_name, sorted(_offers()))
    if len(offers) > 1:
        raise ClashingAdapterError(type_name, [_distribution(offer) for offer in offers])
    return _loaded(offers[0])


def make_adapter(name: str, settings: Mapping[str, Any]) -> Adapter:
    """The roster's adapter of this name; `settings["type"]` says of which type it is."""
    type_name = settings["type"]
    make = adapter_type(type_name)
    try:
        adapter = make(name, settings)
    except (Exception, SystemExit) as problem:
        raise BrokenAdapterError(type_name, f"making '{name}' failed: {_described(problem)}") from problem
    _check_methods(type_name, adapter)
    return adapter


def known_types() -> dict[str, str]:
    """Every type that a roster can name, with the distributions that offer it and their versions."""
    return {name: ", ".join(map(_distribution, offers)) for name, offers in sorted(_offers().items())}


def _offers() -> dict[str, list[EntryPoint]]:
    """The entry points of each type, forum's own first."""
    offers = {name: [EntryPoint(name, value, GROUP)] for name, value in OWN_TYPES.items()}
    for offer in entry_points(group=GROUP):
        if offer.name in OWN_TYPES and _is_own(offer):
            offers[offer.name][0] = offer
        elif offer.name in OWN_TYPES or offer.name.startswith(_FOREIGN_PREFIX):
            offers.setdefault(offer.name, []).append(offer)
    return offers


def _is_own(offer: EntryPoint) -> bool:
    return offer.dist is not None and offer.dist.name == _OWN_DISTRIBUTION


def _distribution(offer: EntryPoint) -> str:
    if offer.dist is None:
        return f"{_OWN_DISTRIBUTION} (not installed)"
    return f"{offer.dist.name} {offer.dist.version}"


def _loaded(offer: EntryPoint) -> AdapterType:
    try:
        found = offer.load()
    except (Exception, SystemExit) as problem:
        raise BrokenAdapterError(offer.name, f"loading {offer.value} failed: {_described(problem)}") from problem
    if not callable(found):
        raise BrokenAdapterError(offer.name, f"{offer.value} is not callable")
    if isinstance(found, type):
        _check_methods(offer.name, found)
    make: AdapterType = found
    return make


def _check_methods(type_name: str, adapter: object) -> None:
    lacking = [method for method in _METHODS if not callable(getattr(adapter, method, None))]
    if lacking:
        raise BrokenAdapterError(type_name, f"it lacks {', '.join(lacking)}")


def _described(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"
