"""Checks the adapters of a roster, that names are defined, and that each task fits the adapters of its agent.

The names are those of agents, adapters, tiers and tasks.
"""

import posixpath
from collections.abc import Collection, Iterator, Mapping

from forum_runner.compile.expand import ExpandedTask
from forum_runner.compile.project import Project
from forum_runner.document import Origin
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.raw_value import has_unknown_performer, is_present, raw_value
from forum_runner.manifest.roster_reader import is_url
from forum_runner.manifest.suggest import hint_for
from forum_runner.model import Agent, Plan, Policy, Reference, Roster, ScriptAnswer, Task, Text
from forum_runner.wave_plan.unit_id import task_of_numbered, without_instances

# These fields belong to the tasks of a used plan, not to the task that uses it.
_FORBIDDEN_WITH_USES = (
    "instruction run output done_when accept retry escalate budget gate foreach "
    "allow_failure idempotent sensitive cache"
).split()


def check_roster(roster: Roster) -> Iterator[ManifestFinding]:
    for adapter in roster.adapters.values():
        if adapter.base_url is not None and not is_url(adapter.base_url):
            hint = "write http:// or https://, a host, and optionally a port below 65536"
            yield adapter.origin.at("base_url").finding("F205", "'base_url' has the wrong format", hint)
        if adapter.argv is not None and not adapter.argv[0]:
            yield adapter.origin.at("argv", 0).finding("F310", "the program has no name")
        folder = posixpath.normpath(str(adapter.settings.get("cwd", ".")))
        if folder.startswith(("/", "..")):
            message = f"'{folder}' leaves the workspace"
            yield adapter.origin.at("cwd").finding("F120", message, "write a relative path inside the workspace")
    for agent in roster.agents.values():
        origin = agent.origin
        for tier, name in agent.adapters.items():
            if name not in roster.adapters:
                place = origin.at("adapters", tier) if agent.is_tiered else origin.at("adapter")
                yield place.finding("F011", *_unknown_adapter(name, roster))
        if agent.adapters and agent.tier not in agent.adapters:
            message = f"agent '{agent.name}' starts at tier '{agent.tier}', but has no adapter for it"
            yield origin.at("tier").finding("F014", message, _tiers_hint(agent))


def check_rates(policy: Policy, roster: Roster) -> Iterator[ManifestFinding]:
    for name in policy.rates:
        if name not in roster.adapters:
            yield policy.origin.at("rates", name).key_finding("F011", *_unknown_adapter(name, roster))


def check_answers(answers: tuple[ScriptAnswer, ...], project: Project) -> Iterator[ManifestFinding]:
    tasks = {task.id for task in project.tasks()}
    for answer in answers:
        name = without_instances(answer.task).rpartition("/")[2] if answer.task else None
        if name is not None and name not in tasks and tasks:
            yield _unknown_task(name, tasks, answer.origin)
        if answer.agent is not None and project.roster and answer.agent not in project.roster.agents:
            yield _unknown_agent(answer.agent, project.roster, answer.origin.at("agent"))


def check_answer_ids(answers: tuple[ScriptAnswer, ...], tasks: Mapping[str, ExpandedTask]) -> Iterator[ManifestFinding]:
    """Checks the task names of a script against the expanded plan.

    An answer can contain the name of a task in its plan, the id of a task, or the id of a `foreach` instance.
    """
    if not answers:
        return
    known = {name for id_ in tasks for name in (id_, without_instances(id_))}
    known |= {name.rpartition("/")[2] for name in known}
    foreach_tasks = {name for name in known if name in tasks and "foreach" in tasks[name].document}
    for answer in answers:
        if answer.task is None or answer.task in known:
            continue
        if task_of_numbered(answer.task) not in foreach_tasks:
            yield _unknown_task(answer.task, known, answer.origin, "expanded plan")


def check_names(plan: Plan, project: Project) -> Iterator[ManifestFinding]:
    for task in plan.tasks.values():
        for selection in task.selections:
            if selection.task not in plan.tasks:
                yield _unknown_task(selection.task, plan.tasks, selection.origin, excluded=task.id)
        if task.uses is not None:
            yield from _check_uses(task)
        else:
            if task.arguments and not has_unknown_performer(task):
                yield task.origin.at("with").key_finding("F312", "'with' is only allowed with 'uses'")
            yield from _check_agents(task, project)
    for output in plan.outputs.values():
        if output.task not in plan.tasks and plan.tasks:
            yield _unknown_task(output.task, plan.tasks, output.origin)


def _check_uses(task: Task) -> Iterator[ManifestFinding]:
    if task.agent is not None or task.lane is not None:
        # The task has both. The allowed fields depend on which of the two the user removes.
        return
    for field in _FORBIDDEN_WITH_USES:
        if getattr(task, field) not in (None, (), False):
            message = f"'{field}' is not allowed with 'uses'"
            yield task.origin.at(field).key_finding("F312", message, "set it on the tasks of the used plan")


def _check_agents(task: Task, project: Project) -> Iterator[ManifestFinding]:
    roster = project.roster
    if roster is None:
        return
    if task.agent is not None and task.agent not in roster.agents:
        yield _unknown_agent(task.agent, roster, task.origin.at("agent"))
    for check in task.accept:
        if check.command:
            yield from _check_program(check.command[0], check.origin.at("command", 0))
        if check.agent is not None and check.agent not in roster.agents:
            yield _unknown_agent(check.agent, roster, check.origin.at("agent"))
        elif check.agent is not None and check.agent == task.agent:
            message = f"agent '{check.agent}' judges its own work"
            yield check.origin.at("agent").finding("F315", message, "use a different agent")
    if task.escalate:
        yield from _check_escalation(task, project)
    yield from _check_run_or_instruction(task, project)


def _check_escalation(task: Task, project: Project) -> Iterator[ManifestFinding]:
    agent = project.agent(task.agent)
    if agent and _has_invalid_adapters(agent):
        agent = None
    rank = agent.tier.rank if agent else -1
    for index, tier in enumerate(task.escalate):
        origin = task.origin.at("escalate", index)
        if agent and tier not in agent.adapters:
            yield origin.finding("F014", f"agent '{agent.name}' has no adapter for tier '{tier}'", _tiers_hint(agent))
        elif tier.rank <= rank and tier not in task.escalate[:index]:
            yield origin.finding(
                "F313", f"tier '{tier}' is not higher than the one before", "order: cheap, capable, frontier"
            )
        rank = max(rank, tier.rank)


def _has_invalid_adapters(agent: Agent) -> bool:
    raw = raw_value(agent.origin.at("adapters")) if agent.is_tiered else None
    tiers = [name for name in raw if not name.startswith("x-")] if isinstance(raw, dict) else []
    return not agent.adapters or (agent.is_tiered and len(tiers) != len(agent.adapters))


def _check_run_or_instruction(task: Task, project: Project) -> Iterator[ManifestFinding]:
    """Checks that the task has `run` if all its adapters run programs, and `instruction` otherwise."""
    adapters = [adapter for _, adapter in project.ladder(task)]
    if task.lane is not None and task.agent is None:
        yield from _check_routed_task(task, project)
    if not adapters:
        return
    runs_programs = [adapter for adapter in adapters if adapter.runs_programs]
    if len(runs_programs) == len(adapters):
        if task.run:
            yield from _check_program(task.run[0], task.origin.at("run", 0))
        elif not is_present(task.origin.at("run")):
            message = f"task '{task.id}' has no program to run"
            yield task.origin.key_finding("F309", message, "add 'run: [program, argument, ...]'")
        return
    if task.run is not None:
        other = next(adapter for adapter in adapters if adapter not in runs_programs)
        hint = "use 'instruction', or an agent whose adapter is a command without 'argv'"
        message = f"adapter '{other.name}' does not run programs"
        yield task.origin.at("run").key_finding("F310", message, hint)
    elif not task.instruction:
        yield from _check_instruction(task)


def _check_routed_task(task: Task, project: Project) -> Iterator[ManifestFinding]:
    if task.run is not None:
        yield task.origin.at("run").key_finding(
            "F310", "a routed task cannot have 'run'", "set 'agent' instead of 'lane'"
        )
    elif not task.instruction:
        yield from _check_instruction(task)
    agents = project.instructable_agents()
    all_agents = project.roster.agents.values() if project.roster else ()
    if not agents and all(project.adapter(agent.adapters.get(agent.tier)) for agent in all_agents):
        message = f"the roster has no agent to which task '{task.id}' can be routed"
        yield task.origin.at("lane").finding("F316", message, "agents that run programs do not accept an instruction")
    for index, tier in enumerate(task.escalate):
        if agents and not any(tier in agent.adapters for agent in agents):
            message = f"no agent to which the task can be routed has an adapter for tier '{tier}'"
            yield task.origin.at("escalate", index).finding("F014", message)


def _check_instruction(task: Task) -> Iterator[ManifestFinding]:
    origin = task.origin.at("instruction")
    message = f"task '{task.id}' has no instruction"
    if raw_value(origin) == "":
        yield origin.finding("F308", message, "it is empty")
    elif not is_present(origin):
        yield task.origin.key_finding("F308", message, "add 'instruction'")


def _check_program(program: Text, origin: Origin) -> Iterator[ManifestFinding]:
    """Checks that the program is known at compile time, because the policy allows programs by name."""
    if any(isinstance(part, Reference) for part in program):
        yield origin.finding("F310", "the program cannot be a reference")
    elif not program and raw_value(origin) == "":
        yield origin.finding("F310", "the program has no name")


def _tiers_hint(agent: Agent) -> str:
    tiers = sorted(agent.adapters.keys(), key=lambda tier: tier.rank)
    return f"tiers: {', '.join(tiers)}"


def _unknown_adapter(name: str, roster: Roster) -> tuple[str, str | None]:
    return f"no adapter named '{name}' in the roster", hint_for(name, roster.adapters, "available")


def _unknown_agent(name: str, roster: Roster, origin: Origin) -> ManifestFinding:
    return origin.finding("F012", f"no agent named '{name}' in the roster", hint_for(name, roster.agents, "available"))


def _unknown_task(
    name: str, known: Collection[str], origin: Origin, where: str = "plan", excluded: str | None = None
) -> ManifestFinding:
    hint = hint_for(name, known, "available", excluded)
    return origin.at("task").finding("F013", f"no task named '{name}' in the {where}", hint)
