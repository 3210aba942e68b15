"""Checks the installation, adapters and credentials. Never reports the value of a credential."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from forum_adapters.base import Adapter
from forum_adapters.plugins import PluginError
from forum_adapters.registry import ADAPTER_TYPES, make_adapter
from forum_runner import __version__
from forum_runner.app.run_preparation import ENV_FIELDS, secret_variables
from forum_runner.app.workflows import Compiled
from forum_runner.execute.engines import ENGINES
from forum_runner.execute.secrets import Scrubber
from forum_runner.wave_plan.wave_plan_reader import WavePlan

_LIBRARIES = ("click", "cryptography", "httpx", "jsonschema-rs", "orjson", "PyYAML", "rfc8785", "rich")
_PROBE_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class AdapterState:
    """Whether an adapter can be used. `variables` maps the environment variables that it needs to whether they are set.

    `problem` is None if the adapter answers.
    """

    name: str
    type: str
    variables: Mapping[str, bool]
    problem: str | None

    @property
    def is_ok(self) -> bool:
        return self.problem is None and all(self.variables.values())


@dataclass(frozen=True, slots=True)
class Health:
    """The state of an installation. `types` and `engines` map adapter types and engines to their packages.

    `versions` and `programs` map libraries to their versions and programs to their paths; None if one is missing.
    """

    versions: Mapping[str, str | None]
    types: Mapping[str, str]
    engines: Mapping[str, str]
    programs: Mapping[str, str | None] = field(default_factory=dict)
    adapters: tuple[AdapterState, ...] = ()

    @property
    def is_ok(self) -> bool:
        """Whether everything is installed, every program is found, and every adapter answers."""
        has_all = all((*self.versions.values(), *self.programs.values()))
        return has_all and all(adapter.is_ok for adapter in self.adapters)


async def examine(compiled: Compiled | None) -> Health:
    """Lists what is installed, and probes each adapter of a workflow."""
    versions: dict[str, str | None] = {"forum": __version__, "Python": platform.python_version()}
    versions |= {library: _version(library) for library in _LIBRARIES}
    health = Health(versions, ADAPTER_TYPES.known(), ENGINES.known())
    if compiled is None:
        return health
    plan = compiled.plan
    programs = {name: shutil.which(name) for name in sorted(_programs(plan)) if "/" not in name}
    return replace(health, adapters=await _probe_all(plan, compiled.root.resolve()), programs=programs)


def _programs(plan: WavePlan) -> Iterator[str]:
    """The programs that tasks, checks and adapters name. The first word of a command is always literal."""
    for task in plan.tasks.values():
        for command in (task.run, *(check.command for check in task.checks)):
            yield from (part for part in (command or ((),))[0][:1] if isinstance(part, str))
    yield from (adapter.argv[0] for adapter in plan.adapters.values() if adapter.argv)


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


async def _probe_all(plan: WavePlan, root: Path) -> tuple[AdapterState, ...]:
    scrubber = Scrubber(secret_variables(plan))
    settings = {name: adapter.settings for name, adapter in sorted(plan.adapters.items())}
    # A run passes its root with each attempt. A probe has no attempt, so the settings name the folder.
    located = {name: {**item, "cwd": str(root / item.get("cwd", "."))} for name, item in settings.items()}
    return tuple(await asyncio.gather(*(_adapter_state(name, item, scrubber) for name, item in located.items())))


async def _adapter_state(name: str, settings: Mapping[str, Any], scrubber: Scrubber) -> AdapterState:
    names = (settings[field_name] for field_name in ENV_FIELDS if field_name in settings)
    variables = {variable: bool(os.environ.get(variable)) for variable in names}
    problem = await _find_problem(name, settings, [variable for variable, is_set in variables.items() if not is_set])
    return AdapterState(name, settings["type"], variables, problem and scrubber.scrub_text(problem))


async def _find_problem(name: str, settings: Mapping[str, Any], missing: Sequence[str]) -> str | None:
    try:
        adapter = make_adapter(name, settings)
    except PluginError as error:
        return str(error)
    if missing:
        noun, verb = ("variable", "is") if len(missing) == 1 else ("variables", "are")
        return f"not contacted because the environment {noun} {' and '.join(missing)} {verb} not set"
    # Not asyncio.wait_for, which would wait forever for an adapter that ignores its cancellation.
    probe = asyncio.create_task(_probe(adapter))
    await asyncio.wait({probe}, timeout=_PROBE_TIMEOUT_S)
    if probe.done():
        return probe.result()
    probe.cancel()
    return f"no answer within {_PROBE_TIMEOUT_S:g} s"


async def _probe(adapter: Adapter) -> str | None:
    try:
        problem = await adapter.probe()
        await adapter.close()
        return problem
    except asyncio.CancelledError:
        problem = "the check was cancelled"
    except (Exception, SystemExit) as error:  # a plugin's adapter may raise anything
        problem = f"the probe failed: {type(error).__name__}: {error}"
    with suppress(Exception, SystemExit):
        await adapter.close()
    return problem
