"""Random wave plans: complete documents that a compiler could have written."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from forum_runner.canonical import canonical, digest

JsonObject = dict[str, Any]

SECRET = "hunter2-and-more"  # noqa: S105 - tests search for it in ledgers
IDS = ("k", "c", "m/a", "b[x=1]", "z", "e", "a", "y")
SCHEMAS: dict[str, Any] = {
    "anything": True,
    "thing": {"type": "object", "required": ["a", "items"]},
    "list": {"type": "array"},
    "short": {"type": "array", "maxItems": 1},
    "text": {"type": "string"},
    "number": {"type": "integer"},
    "nothing": {"type": "null"},
    "large": {"type": "object", "required": ["a"], "properties": {"a": {"minimum": 2}}},
}
DIGESTS = {name: digest(canonical(schema)) for name, schema in SCHEMAS.items()}
POINTERS = ("/a", "/items", "/a", "/items", "/a", "/items", "/items/0", "/0", "/nowhere")
LADDERS: dict[str, list[tuple[str, str]]] = {
    "operator": [("capable", "shell")],
    "writer": [("cheap", "small"), ("capable", "middle"), ("frontier", "large")],
    "editor": [("cheap", "tool"), ("frontier", "large")],
    "critic": [("capable", "middle")],
}
RESOURCES = {
    "calls": (1, 12),
    "input_tokens": (100, 6_000),
    "output_tokens": (8, 600),
    "tokens": (100, 6_000),
    "micro_usd": (0, 4_000),
    "output_bytes": (64, 20_000),
    "wall_ms": (0, 20_000),
}


class Draw:
    """Draws parts of a plan. `integer` draws from a range; small numbers leave optional parts out."""

    def __init__(self, integer: Callable[[int, int], int]) -> None:
        self.integer = integer

    def chance(self, percent: int) -> bool:
        return self.integer(0, 99) >= 100 - percent

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.integer(0, len(options) - 1)]

    def some(self, options: Sequence[Any], percent: int) -> list[Any]:
        return [option for option in options if self.chance(percent)]


@st.composite
def wave_plans(draw: st.DrawFn, max_tasks: int = 6) -> JsonObject:
    return draw_plan(Draw(lambda low, high: draw(st.integers(low, high))), max_tasks)


def draw_plan(d: Draw, max_tasks: int) -> JsonObject:
    policy = _policy(d)
    tasks: dict[str, JsonObject] = {}
    for id_ in IDS[: d.integer(1, max_tasks)]:
        tasks[id_] = _task(d, tasks)
    return complete_document(
        {
            "policy": policy,
            "adapters": _adapters(d),
            "agents": _agents(d),
            "tasks": tasks,
            "waves": waves_of(tasks, policy["max_parallel"]),
            "outputs": {f"out{number}": _output(d, tasks) for number in range(d.integer(0, 3))},
        }
    )


def small_plan(
    tasks: Mapping[str, JsonObject], outputs: Mapping[str, JsonObject] | None = None, **policy: Any
) -> JsonObject:
    """Return a plan with these tasks and a permissive policy. The writer performs tasks that name no agent."""
    permissive: JsonObject = {
        "max_parallel": 4,
        "dispatch": "eager",
        "budget": {},
        "allow": {"agents": ["*"], "adapters": ["*"], "commands": ["*"], "hosts": [], "env": []},
        "retry": {"attempts": 1, "backoff_ms": 0, "max_backoff_ms": 0},
        "rates": {},
        "on_failure": "stop",
        "privacy": {"sensitive": False, "scrub_env": []},
        "durability": "none",
    }
    complete = {id_: {**ladder_of("writer", 1), "instruction": ["write"], **task} for id_, task in tasks.items()}
    agents = {name: {"tier": ladder[0][0], "adapters": dict(ladder)} for name, ladder in LADDERS.items()}
    adapters: JsonObject = {name: {"type": "scripted"} for name in ("small", "middle", "large")}
    parts = {"policy": {**permissive, **policy}, "agents": agents, "tasks": complete, "outputs": outputs or {}}
    adapters |= {"shell": {"type": "command"}, "tool": {"type": "command", "argv": ["tool"]}}
    return complete_document({**parts, "adapters": adapters, "waves": waves_of(complete, permissive["max_parallel"])})


def ladder_of(agent: str, tiers: int) -> JsonObject:
    """Return the task fields that select its agent and tiers."""
    ladder = LADDERS[agent][:tiers]
    return {"agent": agent, "ladder": [{"tier": tier, "adapter": adapter} for tier, adapter in ladder]}


def data_edge(task: str, name: str = "in0", **more: Any) -> JsonObject:
    return {"edge": "data", "as": name, "from": {"task": task}, **more}


def complete_document(parts: Mapping[str, Any]) -> JsonObject:
    """Return a document with all fields that the schema requires, and its digest."""
    document: JsonObject = {
        "apiVersion": "forum/v1",
        "kind": "WavePlan",
        "metadata": {"name": "random"},
        "inputs": {"token": {"schema": DIGESTS["text"], "secret": True}},
        "schemas": {DIGESTS[name]: schema for name, schema in SCHEMAS.items()},
        **parts,
    }
    return {**document, "bundle": [], "digest": digest(canonical(document))}


def waves_of(tasks: Mapping[str, JsonObject], width: int) -> list[list[str]]:
    """Put each task one wave after its dependencies, and split waves wider than `width`."""
    depth: dict[str, int] = {}
    for id_, task in tasks.items():
        depth[id_] = 1 + max((depth[name] for name in dependencies_of(task)), default=-1)
    layers = [sorted(id_ for id_ in tasks if depth[id_] == level) for level in range(max(depth.values()) + 1)]
    return [layer[start : start + width] for layer in layers for start in range(0, len(layer), width)]


def dependencies_of(task: JsonObject) -> set[str]:
    values = [need["from"] for need in task.get("needs", ()) if need["edge"] == "data"]
    values += [condition["from"] for condition in task.get("when", ())]
    values += [task["foreach"]["from"]] if "foreach" in task else []
    ordered = {need["task"] for need in task.get("needs", ()) if need["edge"] == "order"}
    return ordered.union(*(sources_of(value) for value in values))


def sources_of(value: Mapping[str, Any]) -> set[str]:
    if "task" in value or "each" in value:
        return {value.get("task") or value["each"]}
    parts = value["list"] if "list" in value else list(value["object"].values())
    return set().union(*(sources_of(part) for part in parts))


def _policy(d: Draw) -> JsonObject:
    policy: JsonObject = {
        "max_parallel": d.integer(1, 4),
        "dispatch": d.pick(("eager", "waves")),
        "budget": _budget(d, 4),
        "allow": {"agents": ["*"], "adapters": ["*"], "commands": ["*"], "hosts": [], "env": []},
        "retry": _retry(d),
        "rates": {name: _rate(d) for name in d.some(("small", "middle", "large", "shell", "tool"), 10)},
        "on_failure": d.pick(("continue", "skip-dependents", "stop")),
        "privacy": {"sensitive": d.chance(5), "scrub_env": []},
        "durability": "none",
    }
    if d.chance(20):
        policy["on_lost"] = "retry"
    return policy


def _budget(d: Draw, percent: int) -> JsonObject:
    return {name: d.integer(*RESOURCES[name]) for name in d.some(sorted(RESOURCES), percent)}


def _retry(d: Draw) -> JsonObject:
    return {"attempts": d.integer(1, 3), "backoff_ms": d.pick((0, 1, 700)), "max_backoff_ms": d.pick((0, 1_000))}


def _rate(d: Draw) -> JsonObject:
    rate: JsonObject = {}
    if d.chance(60):
        rate["requests_per_minute"] = d.integer(1, 3)
    if d.chance(60):
        rate["tokens_per_minute"] = d.integer(50, 2_000)
    return rate


def _adapters(d: Draw) -> JsonObject:
    adapters: JsonObject = {"shell": {"type": "command", "max_output_bytes": d.pick((1_000, 100_000))}}
    adapters["tool"] = {"type": "command", "argv": ["tool"], "max_output_bytes": 1_000, **_prices(d)}
    for name in ("small", "middle", "large"):
        adapters[name] = {"type": "scripted", "max_tokens": d.pick((64, 8, 400)), **_prices(d)}
    for adapter in adapters.values():
        if d.chance(15):
            adapter["timeout_ms"] = d.pick((3_000, 500, 0))
    return adapters


def _prices(d: Draw) -> JsonObject:
    if not d.chance(50):
        return {}
    return {"prices": {"input": d.integer(0, 3_000_000), "cached_input": 100_000, "output": d.integer(0, 9_000_000)}}


def _agents(d: Draw) -> JsonObject:
    agents: JsonObject = {}
    for name, ladder in LADDERS.items():
        agents[name] = {"tier": ladder[0][0], "adapters": dict(ladder), "keywords": [name]}
        if d.chance(25):
            agents[name]["limits"] = _budget(d, 20)
    return agents


def _task(d: Draw, earlier: Mapping[str, JsonObject]) -> JsonObject:
    task = _worker(d)
    needs: list[JsonObject] = [{"edge": "order", "task": name} for name in sorted(d.some(list(earlier), 15))]
    names = [f"in{number}" for number in range(d.integer(0, 2))] if earlier else []
    needs += [_data_edge(d, name, earlier) for name in names]
    if needs:
        task["needs"] = needs
    if earlier and d.chance(30):
        task["foreach"] = {"from": _list_value(d, earlier), "as": "item", "max": d.pick((6, 3, 2, 1))}
        names.append("item")
    if earlier and d.chance(15):
        task["when"] = [{"from": _value(d, earlier, 1), "matches": _schema(d)} for _ in range(d.integer(1, 2))]
    _write_work(d, task, names)
    if d.chance(85):
        task["output"] = DIGESTS[d.pick(("thing", "thing", "thing", "thing", "thing", "list", "anything"))]
    if d.chance(35):
        task["accept"] = _checks(d)
    if d.chance(40):
        task["retry"] = _retry(d)
    if d.chance(20):
        task["budget"] = _budget(d, 20)
    if d.chance(15):
        task["gate"] = _gate(d, names)
    for flag, percent in (("allow_failure", 20), ("idempotent", 30), ("sensitive", 10), ("cache", 15)):
        if d.chance(percent):
            task[flag] = True
    return task


def _worker(d: Draw) -> JsonObject:
    if d.chance(15):
        return {"lane": "auto", "escalate": d.pick(([], ["frontier"], ["capable", "frontier"]))}
    agent = d.pick(("writer", "operator", "editor"))
    return ladder_of(agent, d.integer(1, len(LADDERS[agent])))


def _write_work(d: Draw, task: JsonObject, names: Sequence[str]) -> None:
    texts = [[{"need": name}] for name in names]
    texts += [[{"secret": "token"}]] if d.chance(15) else []
    texts += [[{"run": "id"}]] if d.chance(15) else []
    if task.get("agent") == "operator":
        task["run"] = [["do"], *texts]
        return
    task["instruction"] = [d.pick(("writer ", "editor ", "do it ")), *(part for text in texts for part in text)]
    if d.chance(15):
        task["done_when"] = [["it is ", *(part for text in texts for part in text)]]


def _data_edge(d: Draw, name: str, earlier: Mapping[str, JsonObject]) -> JsonObject:
    edge: JsonObject = {"edge": "data", "as": name, "from": _value(d, earlier, 2)}
    if d.chance(15):
        edge["expects"] = sorted({_schema(d) for _ in range(d.integer(1, 2))})
    if d.chance(20):
        edge["max_bytes"] = d.integer(1, 12)
    return edge


def _schema(d: Draw) -> str:
    """Pick the schema that accepts anything, or sometimes a random one."""
    return DIGESTS[d.pick(sorted(SCHEMAS)) if d.chance(30) else "anything"]


def _value(d: Draw, tasks: Mapping[str, JsonObject], depth: int) -> JsonObject:
    kind = d.integer(0, 7) if depth else 0
    if kind == 6:
        value: JsonObject = {"list": [_value(d, tasks, depth - 1) for _ in range(d.integer(1, 2))]}
    elif kind == 7:
        value = {"object": {key: _value(d, tasks, depth - 1) for key in ("a", "b")[: d.integer(1, 2)]}}
    else:
        value = _output_of(d, tasks)
    if "task" not in value and d.chance(10):
        value["select"] = d.pick(("/0", "/a"))
    return value


def _output_of(d: Draw, tasks: Mapping[str, JsonObject]) -> JsonObject:
    """Pick the output of a task or of all its instances, or a part that is likely to exist."""
    name = d.pick(list(tasks))
    is_thing = tasks[name].get("output") == DIGESTS["thing"]
    is_part = d.chance(25 if is_thing else 3)
    if "foreach" in tasks[name]:
        return {"each": name, "item": d.pick(POINTERS)} if is_part else {"each": name}
    return {"task": name, "select": d.pick(POINTERS)} if is_part else {"task": name}


def _list_value(d: Draw, tasks: Mapping[str, JsonObject]) -> JsonObject:
    """Pick a value that is probably a list."""
    name = d.pick(list(tasks))
    if "foreach" in tasks[name]:
        return {"each": name}
    is_list = tasks[name].get("output") == DIGESTS["list"]
    return {"task": name} if is_list or d.chance(10) else {"task": name, "select": "/items"}


def _output(d: Draw, tasks: Mapping[str, JsonObject]) -> JsonObject:
    """Pick a plan output. Never select from a composed value: the part might be missing though all tasks passed."""
    kind = d.integer(0, 3)
    if kind == 2:
        return {"list": [_output_of(d, tasks) for _ in range(d.integer(1, 2))]}
    return {"object": {"p": _output_of(d, tasks)}} if kind == 3 else _output_of(d, tasks)


def _checks(d: Draw) -> list[JsonObject]:
    checks: list[JsonObject] = [{"schema": _schema(d)} for _ in range(d.integer(0, 2))]
    checks += [{"command": [["check"]]} for _ in range(d.integer(0, 1))]
    return checks + [{"agent": name} for name in d.some(("critic", "writer"), 40)]


def _gate(d: Draw, names: Sequence[str]) -> JsonObject:
    gate: JsonObject = {"question": ["go on?", *({"need": name} for name in names)], "on_deadline": "reject"}
    if d.chance(60):
        gate["deadline_ms"] = d.pick((0, 1, 1_000, 5_000))
    if d.chance(50):
        gate["on_deadline"] = "approve"
    return gate
