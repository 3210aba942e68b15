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
from forum_runner.model import Agent, Allow, Policy, Roster, RosterAdapter, Task, Text

_DEFAULT_PORTS = {"http": 80, "https": 443}
# The code and the noun of the finding for each list of `allow`.
_REFUSALS = {
    "agents": ("F501", "agent"),
    "adapters": ("F502", "adapter"),
    "commands": ("F503", "the command"),
    "hosts": ("F504", "the host"),
    "env": ("F505", "the environment variable"),
}


def is_allowed(name: str, allowed: Iterable[str]) -> bool:
    return ANY in allowed or name in allowed


def is_host_allowed(url: str, allowed: Iterable[str]) -> bool:
    """Whether one of the patterns in `allowed` matches the host of the URL. An invalid URL is not allowed.

    `*` matches every host, `name` one host on every port, `name:port` one port, and `*.name` all subdomains.
    """
    if not is_url(url):
        return False
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
    bracketed = f"[{host}]" if ":" in host else host
    for pattern in (item.lower() for item in allowed):
        if pattern in (ANY, host, bracketed, f"{bracketed}:{port}"):
            return True
        if pattern.startswith("*.") and host.endswith(pattern[1:]):
            return True
    return False


def routable_agents(project: Project) -> list[Agent]:
    """The agents to which a task can be routed: they accept an instruction, and the policy allows them.

    Without a policy, there are none.
    """
    if project.policy is None:
        return []
    allow = project.policy.allow
    agents = (agent for agent in project.instructable_agents() if is_allowed(agent.name, allow.agents))
    return [agent for agent in agents if is_allowed(agent.adapters.get(agent.tier, ""), allow.adapters)]


def usable_adapters(task: Task, project: Project) -> list[RosterAdapter]:
    """The adapters of a task's agent and judges and, if the task is routed, the allowed ones of all routable agents."""
    names = [judge.adapters.get(judge.tier) for judge in project.judges(task)]
    if task.lane is not None and project.policy:
        adapters = (name for agent in routable_agents(project) for name in agent.adapters.values())
        names += [name for name in adapters if is_allowed(name, project.policy.allow.adapters)]
    others = [adapter for name in names if (adapter := project.adapter(name))]
    return [adapter for _, adapter in project.ladder(task)] + others


def reachable_adapters(project: Project) -> dict[str, RosterAdapter]:
    """The adapters that at least one task can use, by name."""
    distinct = {(task.agent, task.escalate, task.lane, task.accept): task for task in project.tasks()}
    return {adapter.name: adapter for task in distinct.values() for adapter in usable_adapters(task, project)}


def check_allow_lists(policy: Policy, roster: Roster) -> Iterator[ManifestFinding]:
    """Reports allowed agents and adapters that the roster does not define. Their names are probably misspelled."""
    for kind, names, known in (
        ("agents", policy.allow.agents, roster.agents),
        ("adapters", policy.allow.adapters, roster.adapters),
    ):
        origin = policy.origin.at("allow", kind)
        for name in names:
            if name != ANY and name not in known:
                message = f"the policy allows {kind.removesuffix('s')} '{name}', which the roster does not define"
                yield origin.at(raw_value(origin).index(name)).finding("F506", message, hint_for(name, known, kind))


def check_permissions(project: Project) -> Iterator[ManifestFinding]:
    if project.policy is None:
        return
    allow = project.policy.allow
    routable = routable_agents(project)
    is_routable = bool(routable) or not project.instructable_agents()
    refused_adapters: dict[tuple[str | None, tuple[str, ...]], list[str]] = {}
    for task in project.tasks():
        key = (task.agent, task.escalate)
        if key not in refused_adapters:
            names = (adapter.name for _, adapter in project.ladder(task))
            refused_adapters[key] = [name for name in names if not is_allowed(name, allow.adapters)]
        for name in refused_adapters[key]:
            yield _refused_adapter(name, task.agent, task.origin)
        yield from _check_task(task, project, allow)
        if task.lane is not None and not is_routable:
            message = f"the policy allows no agent to which task '{task.id}' can be routed"
            yield task.origin.at("lane").finding("F501", message)
        elif task.lane is not None:
            yield from _check_routed_tiers(task, routable, allow)
    for adapter in reachable_adapters(project).values():
        yield from _check_adapter(adapter, allow)


def _check_task(task: Task, project: Project, allow: Allow) -> Iterator[ManifestFinding]:
    if (agent := project.agent(task.agent)) and not is_allowed(agent.name, allow.agents):
        yield _refusal("agents", agent.name, task.origin.at("agent"))
    if task.run is not None:
        yield from _check_program(task.run, task.origin.at("run"), allow)
    for check in task.accept:
        if check.command is not None:
            yield from _check_program(check.command, check.origin.at("command"), allow)
        if judge := project.agent(check.agent):
            yield from _check_allowed("agents", judge.name, check.origin.at("agent"), allow)
            adapter = project.adapter(judge.adapters.get(judge.tier))
            if adapter and not is_allowed(adapter.name, allow.adapters):
                yield _refused_adapter(adapter.name, judge.name, check.origin)


def _check_routed_tiers(task: Task, routable: Iterable[Agent], allow: Allow) -> Iterator[ManifestFinding]:
    """Each tier to which a routed task escalates needs an allowed adapter of at least one routable agent."""
    for index, tier in enumerate(task.escalate):
        adapter_names = [agent.adapters[tier] for agent in routable if tier in agent.adapters]
        if adapter_names and not any(is_allowed(name, allow.adapters) for name in adapter_names):
            detail = ", to which the routed task could escalate"
            yield _refusal("adapters", adapter_names[0], task.origin.at("escalate", index), detail)


def _check_program(command: tuple[Text, ...], origin: Origin, allow: Allow) -> Iterator[ManifestFinding]:
    program = command[0] if command else ()
    if len(program) == 1 and isinstance(program[0], str):
        yield from _check_allowed("commands", program[0], origin.at(0), allow)


def _check_adapter(adapter: RosterAdapter, allow: Allow) -> Iterator[ManifestFinding]:
    origin = adapter.origin
    if adapter.argv:
        yield from _check_allowed("commands", adapter.argv[0], origin.at("argv", 0), allow)
    if adapter.base_url and is_url(adapter.base_url) and not is_host_allowed(adapter.base_url, allow.hosts):
        yield _refusal("hosts", urlsplit(adapter.base_url).netloc, origin.at("base_url"))
    for index, name in enumerate(adapter.env):
        yield from _check_allowed("env", name, origin.at("env", index), allow)
    for field, name in adapter.env_fields.items():
        yield from _check_allowed("env", name, origin.at(field), allow)


def _check_allowed(kind: str, name: str, origin: Origin, allow: Allow) -> Iterator[ManifestFinding]:
    if not is_allowed(name, getattr(allow, kind)):
        yield _refusal(kind, name, origin)


def _refused_adapter(name: str, agent: str | None, origin: Origin) -> ManifestFinding:
    return _refusal("adapters", name, origin.at("agent"), f", which agent '{agent}' uses")


def _refusal(kind: str, name: str, origin: Origin, detail: str = "") -> ManifestFinding:
    code, noun = _REFUSALS[kind]
    hint = f"to allow it, add '{name}' to 'allow.{kind}' in the policy"
    return origin.finding(code, f"the policy does not allow {noun} '{name}'{detail}", hint)
