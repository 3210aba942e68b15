"""Prepares a compiled workflow for a run: script, secrets, credentials, selected tasks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from forum_adapters.base import is_valid_header_value
from forum_adapters.plugins import PluginError
from forum_adapters.registry import make_adapter
from forum_runner.app.invocation import Invocation
from forum_runner.app.recorded_answers import RecordedRun, recorded_run
from forum_runner.app.requests import RunRequest, TaskSelection
from forum_runner.app.workflows import Compiled
from forum_runner.canonical import canonical
from forum_runner.compile.partial_plan import Dependencies, select_tasks
from forum_runner.errors import ExitCode, ForumError, UsageError
from forum_runner.execute.machine import route
from forum_runner.execute.secrets import MIN_SECRET_CHARACTERS, Scrubber
from forum_runner.ledger.source import find_ledger
from forum_runner.wave_plan.wave_plan_reader import WavePlan, decode_wave_plan
from forum_runner.workspace import Workspace

# The fields of adapters that name environment variables.
ENV_FIELDS = ("api_key_env", "proxy_env")


class NoCredentialError(ForumError):
    """An environment variable that the roster names is not set."""

    exit_code = ExitCode.NO_CREDENTIAL

    def __init__(self, missing: Mapping[str, Sequence[str]]) -> None:
        self.missing = missing
        super().__init__(
            f"the roster needs environment variables that are not set: {_variable_list(missing)}; nothing was run"
        )


class UnusableCredentialError(ForumError):
    """The value of an environment variable cannot be sent in an HTTP header."""

    exit_code = ExitCode.NO_CREDENTIAL

    def __init__(self, unusable: Mapping[str, Sequence[str]]) -> None:
        self.unusable = unusable
        reason = "a key may contain only printable ASCII characters, without spaces or newlines"
        super().__init__(f"unusable environment variables: {_variable_list(unusable)}; {reason}; nothing was run")


def _variable_list(variables: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{name} (for {', '.join(adapters)})" for name, adapters in sorted(variables.items()))


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A wave plan, whose bytes are `data`, and everything that is needed to run it.

    `recorded` is an earlier run whose answers are used. `to_reuse` are the tasks whose results must come from an
    earlier run. `secrets` are keyed by input, `scrubbed` by the name that replaces them in the ledger. `resumes` is the
    run directory, if the run is resumed.
    """

    plan: WavePlan
    data: bytes = field(repr=False)
    invocation: Invocation
    recorded: RecordedRun | None = field(default=None, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    scrubbed: Mapping[str, str] = field(default_factory=dict, repr=False)
    to_reuse: frozenset[str] = frozenset()
    resumes: Path | None = None

    @property
    def root(self) -> Path:
        return self.invocation.root

    @property
    def engine(self) -> str:
        return self.invocation.engine or self.plan.policy.engine

    @property
    def stand_in(self) -> Mapping[str, Any] | None:
        """The adapter settings for every call, if a script or a recorded run answers all calls; otherwise None."""
        if self.recorded is not None:
            return {"type": "replay", "recorded": self.recorded.calls}
        answers = self.invocation.answers
        return None if answers is None else {"type": "scripted", "answers": answers}


def prepare(
    compiled: Compiled, request: RunRequest, workspace: Workspace, *, require_secrets: bool = True
) -> PreparedRun:
    """Collects and checks all that a run needs. Without `require_secrets`, secrets and credentials may be missing."""
    plan, data = compiled.plan, compiled.data or b""
    to_reuse: frozenset[str] = frozenset()
    if request.tasks:
        data, to_reuse = _narrow_plan(plan, data, request.tasks)
        plan = decode_wave_plan(data)
    if request.uses_script and compiled.answers is None:
        raise UsageError("the workflow has no script; pass one with --scripted FILE")
    answers_from = request.answers_from
    recorded = None if answers_from is None else recorded_run(find_ledger(answers_from, workspace))
    prepared = PreparedRun(plan, data, _invocation(compiled, request, recorded), recorded, to_reuse=to_reuse)
    return with_secrets(prepared, compiled.secrets, require_secrets=require_secrets)


def _invocation(compiled: Compiled, request: RunRequest, recorded: RecordedRun | None) -> Invocation:
    root, file, inputs = compiled.root.resolve(), request.inputs.file, compiled.plan.inputs
    answers = (compiled.answers or ()) if request.uses_script else None
    return Invocation(
        root=root,
        workflow=os.path.relpath(Path(request.workflow).absolute(), root),
        answers=None if answers is None else [dict(answer.declaration) for answer in answers],
        script=Path(request.script).absolute() if request.script else None,
        answers_from=None if recorded is None else recorded.directory,
        base=None,
        eligible_tasks=None,
        inputs={k: v for k, v in request.inputs.texts.items() if k not in inputs or not inputs[k].is_secret},
        inputs_file=None if file is None else file.absolute(),
        selection=asdict(request.tasks),
        engine=request.engine,
    )


def with_secrets(prepared: PreparedRun, values: Mapping[str, Any], *, require_secrets: bool = True) -> PreparedRun:
    """Adds the values of secret inputs and of environment variables that must not be recorded.

    Also checks the adapters that the run can call, and their credentials.
    """
    secret_names = prepared.plan.secret_names()
    missing = sorted(name for name in secret_names if name not in values)
    if missing and require_secrets and prepared.stand_in is None:
        hint = f"pass it in a file with --inputs FILE, or with --input {missing[0]}=VALUE"
        raise UsageError(f"the secret input '{missing[0]}' has no value; {hint}")
    secrets = {name: _as_text(values[name]) for name in secret_names if name in values}
    for name, value in secrets.items():
        if len(value) < MIN_SECRET_CHARACTERS:
            reason = f"with fewer than {MIN_SECRET_CHARACTERS} characters it cannot be distinguished from other text"
            raise UsageError(f"the secret input '{name}' is too short: {reason}")
    if prepared.stand_in is None:
        adapters = _called_adapters(prepared)
        _check_types(adapters)
        if require_secrets:
            _check_credentials(adapters)
    scrubbed = secret_variables(prepared.plan) | secrets
    for name in secret_names:
        scrubbed |= {f"{name}, part {number}": text for number, text in enumerate(_texts_in(values.get(name)), 1)}
    _check_contains_no_secret(prepared, scrubbed)
    if prepared.stand_in is not None:
        # A script does not need the value, so the name replaces it. A recorded run has only the name.
        unknown = secret_names if prepared.recorded is not None else missing
        secrets |= {name: f"[secret: {name}]" for name in unknown}
    return replace(prepared, secrets=secrets, scrubbed=scrubbed)


def secret_variables(plan: WavePlan) -> dict[str, str]:
    """The values of the variables that must not be recorded: credentials, and those that the policy names."""
    settings = {name: adapter.settings for name, adapter in plan.adapters.items()}
    variables = {*plan.policy.privacy.scrub_env, *_adapters_by_variable(settings)}
    return {name: os.environ[name] for name in sorted(variables) if os.environ.get(name)}


def _texts_in(value: Any) -> Iterator[str]:
    """The strings inside a structured secret: a program may print any one of them."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        if isinstance(item, str) and len(item) >= MIN_SECRET_CHARACTERS:
            yield item
        yield from _texts_in(item)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value).decode()


def _called_adapters(prepared: PreparedRun) -> dict[str, Mapping[str, Any]]:
    """The adapters that tasks can call through their ladders and judges. Reused tasks call none."""
    plan = prepared.plan
    found: set[str] = set()
    for task in plan.tasks.values():
        if task.id not in prepared.to_reuse:
            agent = task.agent or route(plan, task).agent
            found.update(rung.adapter for rung in plan.ladder_of(task, agent))
            judges = [plan.agents[check.agent] for check in task.checks if check.agent is not None]
            found.update(judge.own_rung.adapter for judge in judges)
    return {name: plan.adapters[name].settings for name in sorted(found)}


def _check_types(adapters: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuses adapters whose type cannot be loaded, because its package is missing or broken."""
    for name, settings in adapters.items():
        try:
            make_adapter(name, settings)
        except PluginError as error:
            raise UsageError(f"the adapter '{name}' cannot be used: {error}") from error


def _adapters_by_variable(adapters: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """The environment variables that adapters name, each with the names of these adapters."""
    users: dict[str, list[str]] = {}
    for adapter, settings in sorted(adapters.items()):
        for variable in (settings[name] for name in ENV_FIELDS if name in settings):
            users.setdefault(variable, []).append(adapter)
    return users


def unset_variables(prepared: PreparedRun) -> list[str]:
    """The environment variables that must be set before the run can start."""
    variables = {} if prepared.stand_in is not None else _adapters_by_variable(_called_adapters(prepared))
    return sorted(variable for variable in variables if not os.environ.get(variable))


def _check_credentials(adapters: Mapping[str, Mapping[str, Any]]) -> None:
    users = _adapters_by_variable(adapters)
    missing = {variable: names for variable, names in users.items() if not os.environ.get(variable)}
    if missing:
        raise NoCredentialError(missing)
    keys = {settings["api_key_env"] for settings in adapters.values() if "api_key_env" in settings}
    unusable = {key: users[key] for key in keys if not is_valid_header_value(os.environ[key])}
    if unusable:
        raise UnusableCredentialError(unusable)


def _check_contains_no_secret(prepared: PreparedRun, scrubbed: Mapping[str, str]) -> None:
    """Refuses a secret in the wave plan or the script, which are stored unchanged."""
    answers = prepared.invocation.answers
    script = b"" if answers is None else json.dumps(answers, ensure_ascii=False).encode()
    for name, value in scrubbed.items():
        scrubber = Scrubber({name: value})
        for place, data in (("workflow", prepared.data), ("script", script)):
            if scrubber.contains_secret(data):
                raise UsageError(f"the {place} contains the value of {name}, which would be recorded; remove it")


def _narrow_plan(plan: WavePlan, data: bytes, selection: TaskSelection) -> tuple[bytes, frozenset[str]]:
    """The wave plan of the selected tasks and their dependencies, and the dependencies, whose results are reused."""
    dependencies = Dependencies(plan)
    selected_ids = _selected_ids(dependencies, selection)
    upstream_ids = dependencies.ancestors(selected_ids) - selected_ids
    return select_tasks(data, selected_ids | upstream_ids), frozenset(upstream_ids)


def _selected_ids(dependencies: Dependencies, selection: TaskSelection) -> set[str]:
    """The tasks to run, even if an earlier run has results for them."""
    if selection.only and (selection.start or selection.until):
        raise UsageError("--only cannot be combined with --from or --until")
    if selection.only:
        return dependencies.find_all_tasks(selection.only)
    first, last = dependencies.find_all_tasks(selection.start), dependencies.find_all_tasks(selection.until)
    downstream, upstream = first | dependencies.descendants(first), last | dependencies.ancestors(last)
    if not selection.until:
        return downstream
    if not selection.start:
        return upstream
    for name in selection.start:
        if dependencies.find_tasks(name).isdisjoint(upstream):
            raise UsageError(f"--from '{name}' has no effect: no task of --until is downstream of it")
    for name in selection.until:
        if dependencies.find_tasks(name).isdisjoint(downstream):
            raise UsageError(f"--until '{name}' is not downstream of any task of --from")
    return downstream & upstream
