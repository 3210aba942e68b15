"""Writes the wave plan: one RFC 8785 document with everything that a run needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from forum_runner.canonical import canonical, digest, join_members
from forum_runner.compile.expand import ExpandedPlan
from forum_runner.compile.layer import layer, split_waves
from forum_runner.compile.permissions import reachable_adapters, routable_agents
from forum_runner.compile.project import Project
from forum_runner.compile.scope import Binding, KnownInput, SecretInput
from forum_runner.compile.task_document import budget_document, present_fields
from forum_runner.manifest.bundle import BundleFile
from forum_runner.manifest.workflow import Workflow
from forum_runner.model import Agent, Policy


def write_wave_plan(
    workflow: Workflow,
    project: Project,
    expansion: ExpandedPlan,
    bindings: Mapping[str, Binding],
    sources: Iterable[BundleFile],
) -> tuple[dict[str, Any], bytes]:
    """Builds the wave plan. Returns the document and its bytes."""
    policy = project.policy
    if policy is None:
        raise ValueError("the project has no policy")
    schemas = dict(expansion.schemas)
    adapters = reachable_adapters(project)
    waves = layer({id_: task.upstreams for id_, task in expansion.tasks.items()})
    document: dict[str, Any] = {
        "apiVersion": "forum/v1",
        "kind": "WavePlan",
        "metadata": present_fields(workflow, "name", "description"),
        "policy": _policy_document(policy),
        "adapters": {name: dict(adapter.settings) for name, adapter in adapters.items()},
        "agents": _agents_document(project, adapters),
        "inputs": _inputs_document(project, bindings, schemas),
        "schemas": schemas,
        "tasks": {id_: task.document for id_, task in expansion.tasks.items()},
        "waves": split_waves(waves, policy.max_parallel),
        "outputs": expansion.outputs,
    }
    bundle = [
        {"path": source.name, "digest": source.digest, "bytes": len(source.data)}
        for source in sorted(sources, key=lambda source: source.name)
    ]
    return add_digest(document, bundle)


def add_digest(document: dict[str, Any], bundle: list[dict[str, Any]]) -> tuple[dict[str, Any], bytes]:
    """Adds the digest and the bundle to a wave plan, and returns it with its bytes.

    Each member is encoded once. The digest does not cover the bundle, so the same plan in other files has the same
    digest.
    """
    members = {name: canonical(value) for name, value in document.items()}
    document |= {"digest": digest(join_members(members)), "bundle": bundle}
    members |= {name: canonical(document[name]) for name in ("digest", "bundle")}
    return document, join_members(members)


def _policy_document(policy: Policy) -> dict[str, Any]:
    rate_fields = ("requests_per_minute", "tokens_per_minute")
    document = {
        "max_parallel": policy.max_parallel,
        "dispatch": policy.dispatch,
        "budget": budget_document(policy.budget),
        "allow": {name: list(allowed) for name, allowed in asdict(policy.allow).items()},
        "retry": asdict(policy.retry),
        "rates": {name: present_fields(rate, *rate_fields) for name, rate in policy.rates.items()},
        "on_failure": policy.on_failure,
        "privacy": {"sensitive": policy.sensitive, "scrub_env": list(policy.scrub_env)},
        "durability": policy.durability,
    }
    default = Policy(policy.origin)
    optional = {name: getattr(policy, name) for name in ("on_lost", "engine")}
    return document | {name: value for name, value in optional.items() if value != getattr(default, name)}


def _agents_document(project: Project, reachable: Mapping[str, Any]) -> dict[str, Any]:
    """The agents that tasks can use: workers, judges and, if a task is routed, all routable agents."""
    tasks = list(project.tasks())
    names = {task.agent for task in tasks} | {check.agent for task in tasks for check in task.accept}
    if any(task.lane for task in tasks):
        names |= {agent.name for agent in routable_agents(project)}
    found = (project.agent(name) for name in names)
    return {agent.name: _agent_document(agent, reachable) for agent in found if agent is not None}


def _agent_document(agent: Agent, reachable: Mapping[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "tier": str(agent.tier),
        "adapters": {str(tier): name for tier, name in agent.adapters.items() if name in reachable},
        **present_fields(agent, "domain", "persona"),
    }
    if agent.keywords:
        document["keywords"] = list(agent.keywords)
    if agent.limits is not None:
        document["limits"] = budget_document(agent.limits)
    return document


def _inputs_document(project: Project, bindings: Mapping[str, Binding], schemas: dict[str, Any]) -> dict[str, Any]:
    inputs = {}
    for name, declared in project.root.inputs.items():
        if declared.schema is None:
            continue
        schemas[declared.schema.digest] = declared.schema.value
        document: dict[str, Any] = {"schema": declared.schema.digest}
        match bindings[name]:
            case KnownInput(value):
                document["value"] = value
            case SecretInput():
                document["secret"] = True
        inputs[name] = document
    return inputs
