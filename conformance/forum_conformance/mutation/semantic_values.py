"""Replaced values and wave plans with recomputed digests: the entries do not match them (level 4)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from random import Random
from typing import Any

from forum_conformance.mutation.archive import Member
from forum_conformance.mutation.change import Change, Mutator, entries_with, entry_label, with_data
from forum_conformance.mutation.original import Draft, Entry, Files, Original, canonical
from forum_conformance.mutation.units import comes_later, of_kind, owes_answers, task_of

Plan = dict[str, Any]
CALLS = ("task.started", "verdict.asked")
CLOSED = ("task.finished", "task.lost", "verdict.given", "verdict.lost")


def with_body(original: Original, seq: int, name: str, content: bytes, **facts: str) -> Files:
    """The directory with one body of an entry replaced, and other facts."""
    entry = with_data(original.entries[seq], **facts)
    member = Member(f"sha256/{hashlib.sha256(content).hexdigest()}", content)
    kept = {key: value for key, value in entry["bodies"][name].items() if key != "salted"}
    body = {**kept, "digest": member.digest, "bytes": len(content)}
    changed = {**entry, "bodies": {**entry["bodies"], name: body}}
    return original.rewritten(Draft(entries_with(original, seq, changed), bodies=[member]))


def _other_value(kind: str, name: str, original: Original, random: Random) -> Iterator[Change]:
    """Not in a ledger with redactions: values of redacted bodies cannot be checked."""
    if not original.redacted:
        for seq, entry in of_kind(original, kind):
            content = canonical(["another value", random.randrange(2**32)])
            yield Change(entry_label(seq, entry), partial(with_body, original, seq, name, content))


def _other_output(original: Original, random: Random) -> Iterator[Change]:
    """A result that was delivered unchanged."""
    if original.redacted:
        return
    for seq, entry in of_kind(original, "task.finished", "task.reused"):
        unit = entry["data"]["task"]
        is_last = not comes_later(original, unit, seq, "task.started")
        if is_last and "output" in entry["bodies"] and _is_handed_on(original, unit):
            content = canonical(["another output", random.randrange(2**32)])
            yield Change(entry_label(seq, entry), partial(with_body, original, seq, "output", content))


def _is_handed_on(original: Original, unit: str) -> bool:
    answers = [original.plan["outputs"][entry["data"]["output"]] for _, entry in of_kind(original, "answer.given")]
    edges = [
        edge["from"]
        for _, entry in of_kind(original, "edge.delivered")
        for edge in task_of(original, entry["data"]["task"]).get("needs", ())
        if edge.get("as") == entry["data"]["as"]
    ]
    return {"task": unit} in [*answers, *edges]


def _with_plan(original: Original, change: Callable[[Plan], None]) -> Files:
    """Replace the wave plan and all its digests."""
    plan = deepcopy(original.plan)
    change(plan)
    rest = {name: value for name, value in plan.items() if name not in ("bundle", "digest")}
    plan["digest"] = hashlib.sha256(canonical(rest)).hexdigest()
    bundle = hashlib.sha256(canonical(plan["bundle"])).hexdigest()
    return with_body(original, 0, "wave_plan", canonical(plan), wave_plan=plan["digest"], bundle=bundle)


def _add_task(plan: Plan) -> None:
    name, agent = min(plan["agents"].items())
    ladder = [{"tier": agent["tier"], "adapter": agent["adapters"][agent["tier"]]}]
    plan["tasks"]["zz_added"] = {"agent": name, "ladder": ladder, "instruction": ["x"]}
    plan["waves"].append(["zz_added"])


def _repeat_task(plan: Plan) -> None:
    plan["waves"].append([plan["waves"][0][0]])


def _drop_agent(plan: Plan) -> None:
    for task in plan["tasks"].values():
        if "agent" in task:
            task["agent"] = "nobody"


def _drop_ladders(plan: Plan) -> None:
    for task in plan["tasks"].values():
        task.pop("ladder", None)


def _add_lanes(plan: Plan) -> None:
    for task in plan["tasks"].values():
        task["lane"] = "auto"


def _take_otherwise(plan: Plan) -> None:
    """An output that takes one task's output as a list, or a list as one output; it has no answer."""
    name, task = min(plan["tasks"].items())
    plan["outputs"]["zz_added"] = {"list": [{"task" if "foreach" in task else "each": name}]}


def _add_output(plan: Plan) -> None:
    """A constant output, which any run could have produced."""
    plan["outputs"]["zz_added"] = {"list": []}


def _turn_waves(plan: Plan) -> None:
    plan["waves"].reverse()


def _drop_field(plan: Plan) -> None:
    del plan["policy"]["retry"]


def _change_dispatch(plan: Plan) -> None:
    plan["policy"]["dispatch"] = "eager" if plan["policy"]["dispatch"] == "waves" else "waves"


def _always(change: Callable[[Plan], None], original: Original, _: Random) -> Iterator[Change]:
    if original.plan:
        yield Change("the wave plan", partial(_with_plan, original, change))


def _depends(original: Original) -> bool:
    """Whether a task of the plan takes a value from another, so that the order of the waves matters."""
    tasks = original.plan.get("tasks", {}).values()
    return any(edge for task in tasks for edge in task.get("needs", ()))


def _waves_turned(original: Original, _: Random) -> Iterator[Change]:
    if _depends(original):
        yield Change("the wave plan", partial(_with_plan, original, _turn_waves))


def _with_agents(change: Callable[[Plan], None], original: Original, _: Random) -> Iterator[Change]:
    if original.plan and any("agent" in task for task in original.plan["tasks"].values()):
        yield Change("the wave plan", partial(_with_plan, original, change))


def _further_output(original: Original, _: Random) -> Iterator[Change]:
    if owes_answers(original):
        yield Change("the wave plan", partial(_with_plan, original, _add_output))


def _other_dispatch(original: Original, _: Random) -> Iterator[Change]:
    begun = any(of_kind(original, "wave.opened", "task.started", "task.reused", "task.expanded"))
    if begun:
        yield Change("the wave plan", partial(_with_plan, original, _change_dispatch))


def _fewer_calls(original: Original, _: Random) -> Iterator[Change]:
    calls = original.entries[-1]["data"]["totals"]["calls"]
    if original.plan and calls > 1:
        yield Change("the wave plan", partial(_with_plan, original, lambda plan: _limit_calls(plan, calls - 1)))


def _limit_calls(plan: Plan, calls: int) -> None:
    plan["policy"]["budget"]["calls"] = calls


def _one_at_a_time(original: Original, _: Random) -> Iterator[Change]:
    is_open = 0
    for _seq, entry in of_kind(original, *CALLS, *CLOSED):
        is_open += _step(entry)
        if is_open > 1:
            yield Change("the wave plan", partial(_with_plan, original, _limit_parallel))
            return


def _step(entry: Entry) -> int:
    if entry["data"].get("by") == "schema":
        return 0
    return 1 if entry["kind"] in CALLS else -1


def _limit_parallel(plan: Plan) -> None:
    plan["policy"]["max_parallel"] = 1


def _unlike_canonical(form: Callable[[bytes], bytes], original: Original, _: Random) -> Iterator[Change]:
    if original.plan:
        content = form(canonical(original.plan))
        yield Change("the wave plan", partial(with_body, original, 0, "wave_plan", content))


def _with_other_name(document: bytes) -> bytes:
    """A change without an update of the plan's own digest, which covers it."""
    plan = json.loads(document)
    plan["metadata"]["name"] += "-2"
    return canonical(plan)


KINDS: dict[str, Mutator] = {
    "semantic-other-value-delivered": partial(_other_value, "edge.delivered", "value"),
    "semantic-other-answer": partial(_other_value, "answer.given", "value"),
    "semantic-other-items": partial(_other_value, "task.expanded", "items"),
    "semantic-other-output": _other_output,
    "plan-with-another-task": partial(_always, _add_task),
    "plan-with-a-task-in-two-waves": partial(_always, _repeat_task),
    "plan-with-waves-reversed": _waves_turned,
    "plan-with-unknown-agents": partial(_with_agents, _drop_agent),
    "plan-without-ladders": partial(_with_agents, _drop_ladders),
    "plan-with-agents-and-lanes": partial(_with_agents, _add_lanes),
    "plan-with-a-value-of-another-form": partial(_always, _take_otherwise),
    "plan-with-a-missing-answer": _further_output,
    "plan-without-a-field": partial(_always, _drop_field),
    "plan-with-another-dispatch": _other_dispatch,
    "plan-with-fewer-calls": _fewer_calls,
    "plan-with-one-call-at-a-time": _one_at_a_time,
    "plan-with-a-line-feed": partial(_unlike_canonical, lambda document: document + b"\n"),
    "plan-with-its-digest-kept": partial(_unlike_canonical, _with_other_name),
    "plan-empty": partial(_unlike_canonical, lambda _: b"{}"),
}
