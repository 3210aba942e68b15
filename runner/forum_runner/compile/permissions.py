"""Checks agents, adapters, commands, hosts and environment variables against the policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from forum_runner.compile.project import Project
from forum_runner.document import Origin
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.policy_reader import ANY
from forum_runner.manifest.raw_value import raw_value
from forum_runner.manifest.roster_reader import is_url
from forum_runner.manifest.suggest import hint_for
from forum_runner.model import Agent, Allow, Plan, Policy, Roster, RosterAdapter, Task, Text

_PORTS = {"http": 80, "https": 443}


def is_allowed(name: str, allowed: Iterable[str]) -> bool:
    return ANY in allowed or name in allowed


def is_host_allowed(url: str, allowed: Iterable[str]) -> bool:
    """`name` allows every port, `name:port` one port, `*.name` all subdomains."""
    if not is_url(url):
        return False
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    port = parts.port or _PORTS.get(parts.scheme)
    bracketed = f"[{host}]" if ":" in host else host
    for pattern in (item.lower() for item in allowed):
        if pattern in (ANY, host, bracketed, f"{bracketed}:{port}"):
            return True
        if pattern.startswith("*.") and host.endswith(pattern[1:]):
            return True
    return False


def candidates(project: Project) -> list[Agent]:
    """The agents to which a task can be routed: those that accept an instruction and that the policy allows."""
    if project.policy is None:
        return []
    allow = project.policy.allow
    agents = (agent for agent in project.instructable() if is_allowed(agent.name, allow.agents))
    return [agent for agent in agents if is_allowed(agent.adapters.get(agent.tier, ""), allow.adapters)]


def allowed_adapters(agent: Agent, project: Project) -> list[str]:
    allow = project.policy.allow.adapters if project.policy else (ANY,)
    return [name for name in agent.adapters.values() if is_allowed(name, allow)]


def reachable_adapters(project: Project) -> dict[str, RosterAdapter]:
    """The adapters that tasks can use: those of workers, of judges and, with a lane, of all candidates."""
    found: dict[str, RosterAdapter] = {}
    tasks = [task for plan in project.plans() for task in plan.tasks.values()]
    routed = candidates(project) if any(task.lane for task in tasks) else []
    names = [name for agent in routed for name in allowed_adapters(agent, project)]
    names += [agent.adapters.get(agent.tier, "") for agent in _judges(project, tasks)]
    found |= {adapter.name: adapter for name in names if (adapter := project.adapter(name)) is not None}
    seen = set()
    for task in tasks:
        if (task.agent, task.escalate) not in seen:
            seen.add((task.agent, task.escalate))
            found |= {adapter.name: adapter for _, adapter in project.ladder(task)}
    return found


def check_allow_lists(policy: Policy, roster: Roster) -> Iterator[ManifestFinding]:
    """An unknown name in an allow-list is probably misspelled."""
    for kind, names, known in (
        ("agents", policy.allow.agents, roster.agents),
        ("adapters", policy.allow.adapters, roster.adapters),
    ):
        at = policy.origin.at("allow", kind)
        for name in names:
            if name != ANY and name not in known:
                message = f"the policy allows {kind.removesuffix('s')} '{name}', which the roster does not define"
                yield at.at(raw_value(at).index(name)).finding("F506", message, hint_for(name, known, kind))


def check_permissions(project: Project) -> Iterator[ManifestFinding]:
    if project.policy is None:
        return
    allow = project.policy.allow
    is_routable = bool(candidates(project)) or not project.instructable()
    for plan in project.plans():
        yield from _check_tasks(plan, project, allow)
        for task in plan.tasks.values():
            if task.lane is not None and not is_routable:
                message = f"the policy allows no agent to which task '{task.id}' can be routed"
                yield task.origin.at("lane").finding("F501", message)
            elif task.lane is not None:
                yield from _check_routed_tiers(task, project)
    for adapter in reachable_adapters(project).values():
        yield from _check_adapter(adapter, allow)


def _check_tasks(plan: Plan, project: Project, allow: Allow) -> Iterator[ManifestFinding]:
    refused: dict[tuple[str | None, tuple[str, ...]], list[str]] = {}
    for task in plan.tasks.values():
        yield from _check_agents(task, project, allow)
        key = (task.agent, task.escalate)
        if key not in refused:
            names = (adapter.name for _, adapter in project.ladder(task))
            refused[key] = [name for name in names if not is_allowed(name, allow.adapters)]
        for name in refused[key]:
            yield _refused_adapter(name, task.agent, task.origin)
        if task.run is not None:
            yield from _check_program(task.run, task.origin.at("run"), allow)
        for check in task.accept:
            if check.command is not None:
                yield from _check_program(check.command, check.origin.at("command"), allow)
            judge = project.agent(check.agent)
            adapter = project.adapter(judge.adapters.get(judge.tier)) if judge else None
            if judge and adapter and not is_allowed(adapter.name, allow.adapters):
                yield _refused_adapter(adapter.name, judge.name, check.origin)


def _check_routed_tiers(task: Task, project: Project) -> Iterator[ManifestFinding]:
    """Each tier to which a routed task escalates needs an allowed adapter of at least one candidate."""
    routed = candidates(project)
    for index, tier in enumerate(task.escalate):
        offered = [agent.adapters[tier] for agent in routed if tier in agent.adapters]
        if offered and not any(is_allowed(name, project.policy.allow.adapters) for name in offered if project.policy):
            message = f"the policy does not allow adapter '{offered[0]}', to which the routed task could escalate"
            yield task.origin.at("escalate", index).finding("F502", message, _allow_hint("adapters", offered[0]))


def _refused_adapter(name: str, agent: str | None, origin: Origin) -> ManifestFinding:
    message = f"the policy does not allow adapter '{name}', which agent '{agent}' uses"
    return origin.at("agent").finding("F502", message, _allow_hint("adapters", name))


def _check_agents(task: Task, project: Project, allow: Allow) -> Iterator[ManifestFinding]:
    if ANY in allow.agents:
        return
    named = [(task.agent, task.origin.at("agent"))]
    named += [(check.agent, check.origin.at("agent")) for check in task.accept]
    for name, at in named:
        if name is not None and project.agent(name) and name not in allow.agents:
            yield at.finding("F501", f"the policy does not allow agent '{name}'", _allow_hint("agents", name))


def _check_program(command: tuple[Text, ...], at: Origin, allow: Allow) -> Iterator[ManifestFinding]:
    program = command[0] if command else ()
    if len(program) == 1 and isinstance(program[0], str) and not is_allowed(program[0], allow.commands):
        name = program[0]
        yield at.at(0).finding("F503", f"the policy does not allow the command '{name}'", _allow_hint("commands", name))


def _check_adapter(adapter: RosterAdapter, allow: Allow) -> Iterator[ManifestFinding]:
    at = adapter.origin
    if adapter.argv and not is_allowed(adapter.argv[0], allow.commands):
        name = adapter.argv[0]
        message = f"the policy does not allow the command '{name}'"
        yield at.at("argv", 0).finding("F503", message, _allow_hint("commands", name))
    if adapter.base_url and is_url(adapter.base_url) and not is_host_allowed(adapter.base_url, allow.hosts):
        host = urlsplit(adapter.base_url).netloc
        yield at.at("base_url").finding(
            "F504", f"the policy does not allow the host '{host}'", _allow_hint("hosts", host)
        )
    named = [(name, at.at("env", index)) for index, name in enumerate(adapter.env)]
    named += [(name, at.at(field)) for field, name in adapter.env_fields.items()]
    for name, place in named:
        if not is_allowed(name, allow.env):
            message = f"the policy does not allow the environment variable '{name}'"
            yield place.finding("F505", message, _allow_hint("env", name))


def _judges(project: Project, tasks: list[Task]) -> list[Agent]:
    names = dict.fromkeys(check.agent for task in tasks for check in task.accept if check.agent)
    return [agent for name in names if (agent := project.agent(name)) is not None]


def _allow_hint(field: str, name: str) -> str:
    return f"to allow it, add '{name}' to 'allow.{field}' in the policy"
