"""Finds plugins by name: the built-in ones and the entry points of other packages. They are loaded on first use.

PluginError
├── UnknownPluginError   no installed package provides the name
├── ClashingPluginError  several distributions provide it, or another one provides one of forum's own names
└── BrokenPluginError    it cannot be loaded or created, or lacks methods
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

_OWN_DISTRIBUTION = "forum-runner"
# Other packages must use names with the prefix of custom fields (docs/adr/0004).
_FOREIGN_PREFIX = "x-"


class PluginError(Exception):
    """A plugin that a manifest or an option names cannot be used."""

    def __init__(self, name: str, message: str) -> None:
        self.name = name
        super().__init__(message)


class UnknownPluginError(PluginError):
    """No installed package provides the plugin."""

    def __init__(self, noun: str, name: str, known: Iterable[str]) -> None:
        from difflib import get_close_matches

        self.known = tuple(known)
        similar = get_close_matches(name, self.known, n=1)
        hint = f"did you mean '{similar[0]}'?" if similar else "install the package that provides it"
        super().__init__(name, f"no {noun} '{name}' is installed (installed: {', '.join(self.known)}); {hint}")


class ClashingPluginError(PluginError):
    """Several packages provide the plugin. The order of installation must not decide which code runs."""

    def __init__(self, noun: str, name: str, distributions: Sequence[str]) -> None:
        self.distributions = tuple(distributions)
        providers = " and by ".join(self.distributions)
        super().__init__(name, f"{noun} '{name}' is provided by {providers}; uninstall all but one")


class BrokenPluginError(PluginError):
    """The plugin's code cannot be loaded, or does not implement the interface."""

    def __init__(self, noun: str, name: str, reason: str) -> None:
        self.reason = reason
        super().__init__(name, f"{noun} '{name}' is broken: {reason}")


@dataclass(frozen=True, slots=True)
class PluginGroup:
    """The plugins of one entry-point group, called `noun` in messages. Each creates an object with these `methods`.

    `own` also works in a checkout that is not installed and so has no entry points. Only the runner can use `internal`
    plugins; manifests cannot name them.
    """

    group: str
    noun: str
    methods: tuple[str, ...]
    own: Mapping[str, str]
    internal: Mapping[str, str]

    def load(self, name: str) -> Callable[..., Any]:
        if name in self.internal:
            return self._load(EntryPoint(name, self.internal[name], self.group))
        providers = self._providers()
        matches = providers.get(name)
        if not matches:
            raise UnknownPluginError(self.noun, name, sorted(providers))
        if len(matches) > 1:
            raise ClashingPluginError(self.noun, name, [_distribution(provider) for provider in matches])
        return self._load(matches[0])

    def factory(self, name: str, label: str) -> Callable[..., Any]:
        """Loads the plugin. Calling the result creates an object (`label` in messages) and checks its methods."""
        create = self.load(name)

        def create_checked(*arguments: Any) -> Any:
            try:
                plugin = create(*arguments)
            except (Exception, SystemExit) as error:
                raise BrokenPluginError(self.noun, name, f"creating {label} failed: {_describe(error)}") from error
            self._check_methods(name, plugin)
            return plugin

        return create_checked

    def known(self) -> dict[str, str]:
        """Every name that can be used, with the distributions that provide it and their versions."""
        return {name: ", ".join(map(_distribution, providers)) for name, providers in sorted(self._providers().items())}

    def _providers(self) -> dict[str, list[EntryPoint]]:
        """The entry points of each name, forum's own first."""
        providers = {name: [EntryPoint(name, value, self.group)] for name, value in self.own.items()}
        for provider in entry_points(group=self.group):
            if provider.name in self.own and _is_own(provider):
                providers[provider.name][0] = provider
            elif provider.name in self.own or provider.name.startswith(_FOREIGN_PREFIX):
                providers.setdefault(provider.name, []).append(provider)
        return providers

    def _load(self, provider: EntryPoint) -> Callable[..., Any]:
        try:
            implementation = provider.load()
        except (Exception, SystemExit) as error:
            reason = f"loading {provider.value} failed: {_describe(error)}"
            raise BrokenPluginError(self.noun, provider.name, reason) from error
        if not callable(implementation):
            raise BrokenPluginError(self.noun, provider.name, f"{provider.value} is not callable")
        if isinstance(implementation, type):
            self._check_methods(provider.name, implementation)
        create: Callable[..., Any] = implementation
        return create

    def _check_methods(self, name: str, plugin: object) -> None:
        missing = [method for method in self.methods if not callable(getattr(plugin, method, None))]
        if missing:
            methods = "methods" if len(missing) > 1 else "method"
            raise BrokenPluginError(self.noun, name, f"it lacks the {methods} {' and '.join(missing)}")


def _is_own(provider: EntryPoint) -> bool:
    return provider.dist is not None and provider.dist.name == _OWN_DISTRIBUTION


def _distribution(provider: EntryPoint) -> str:
    if provider.dist is None:
        return f"{_OWN_DISTRIBUTION} (not installed)"
    return f"{provider.dist.name} {provider.dist.version}"


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
