"""What is installed, which adapters answer, which credentials are set: never their values."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from forum_adapters.registry import AdapterTypeError, known_types, make_adapter
from forum_runner import __version__

_LIBRARIES = ("click", "cryptography", "httpx", "jsonschema", "jsonschema-rs", "orjson", "PyYAML", "rfc8785", "rich")
_PROBE_S = 10.0


@dataclass(frozen=True, slots=True)
class AdapterState:
    name: str
    type: str
    variables: Mapping[str, bool]
    problem: str | None

    @property
    def is_well(self) -> bool:
        return self.problem is None and all(self.variables.values())


@dataclass(frozen=True, slots=True)
class Health:
    versions: Mapping[str, str | None]
    types: Mapping[str, str]
    adapters: tuple[AdapterState, ...]

    @property
    def is_well(self) -> bool:
        return all(self.versions.values()) and all(adapter.is_well for adapter in self.adapters)


def examine(adapters: Mapping[str, Mapping[str, Any]]) -> Health:
    """Looks at what is installed, and asks each adapter whether its other side answers."""
    versions: dict[str, str | None] = {"forum": __version__, "Python": platform.python_version()}
    versions |= {library: _version(library) for library in _LIBRARIES}
    return Health(versions, known_types(), asyncio.run(_examine(adapters)))


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


async def _examine(adapters: Mapping[str, Mapping[str, Any]]) -> tuple[AdapterState, ...]:
    return tuple(await asyncio.gather(*(_state(name, settings) for name, settings in sorted(adapters.items()))))


async def _state(name: str, settings: Mapping[str, Any]) -> AdapterState:
    named = (settings[item] for item in ("api_key_env", "proxy_env") if item in settings)
    variables = {variable: bool(os.environ.get(variable)) for variable in named}
    return AdapterState(name, settings["type"], variables, await _problem(name, settings))


async def _problem(name: str, settings: Mapping[str, Any]) -> str | None:
    try:
        adapter = make_adapter(name, settings)
    except AdapterTypeError as error:
        return str(error)
    try:
        async with asyncio.timeout(_PROBE_S):
            return await adapter.probe()
    except TimeoutError:
        return f"it did not answer in {_PROBE_S:g} s"
    except Exception as error:  # an adapter of somebody else may raise anything, and that is what is to be told
        return f"it failed: {type(error).__name__}: {error}"
    finally:
        await adapter.close()
