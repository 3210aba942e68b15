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
from forum_conformance.mutation.units import find_entries, has_later_entry, requires_answers, task_of

Plan = dict[str, Any]
CALL_KINDS = ("task.started", "verdict.asked")
CLOSING_KINDS = ("task.finished", "task.lost", "verdict.given", "verdict.lost")


def with_body(original: Original, seq: int, name: str, content: bytes, **fields: str) -> Files:
    """The files after one body of an entry is replaced and some of its data is changed."""
    entry = with_data(original.entries[seq], **fields)
    member = Member(f"sha256/{hashlib.sha256(content).hexdigest()}", content)
    unsalted = {key: value for key, value in entry["bodies"][name].items() if key != "salted"}
    body = {**unsalted, "digest": member.digest, "bytes": len(content)}
    changed = {**entry, "bodies": {**entry["bodies"], name: body}}
    return original.rewrite(Draft(entries_with(original, seq, changed), bodies=[member]))


def _replace_values(kind: str, name: str, original: Original, random: Random) -> Iterator[Change]:
    """Replace a value. Skip ledgers with redactions: values that come from redacted bodies cannot be checked."""
    if not original.redacted:
        for seq, entry in find_entries(original, kind):
            content = canonical(["another value", random.randrange(2**32)])
            yield Change(entry_label(seq, entry), partial(with_body, original, seq, name, content))


def _replace_outputs(original: Original, random: Random) -> Iterator[Change]:
    """Replace an output that was delivered unchanged, so that the delivered value differs from it."""
    if original.redacted:
        return
    for seq, entry in find_entries(original, "task.finished", "task.reused"):
        unit = entry["data"]["task"]
        is_last = not has_later_entry(original, unit, seq, "task.started")
        if is_last and "output" in entry["bodies"] and _is_delivered_unchanged(original, unit):
            content = canonical(["another output", random.randrange(2**32)])
            yield Change(entry_label(seq, entry), partial(with_body, original, seq, "output", content))


def _is_delivered_unchanged(original: Original, unit: str) -> bool:
    answers = [original.plan["outputs"][entry["data"]["output"]] for _, entry in find_entries(original, "answer.given")]
    edges = [
        edge["from"]
        for _, entry in find_entries(original, "edge.delivered")
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


def _use_unknown_agents(plan: Plan) -> None:
    for task in plan["tasks"].values():
        if "agent" in task:
            task["agent"] = "nobody"


def _drop_ladders(plan: Plan) -> None:
    for task in plan["tasks"].values():
        task.pop("ladder", None)


def _add_lanes(plan: Plan) -> None:
    for task in plan["tasks"].values():
        task["lane"] = "auto"


def _add_output_of_other_form(plan: Plan) -> None:
    """Add an output that takes a single output as a list, or a list as a single output; it has no answer."""
    name, task = min(plan["tasks"].items())
    plan["outputs"]["zz_added"] = {"list": [{"task" if "foreach" in task else "each": name}]}


def _add_output(plan: Plan) -> None:
    """Add a constant output, which any run can produce."""
    plan["outputs"]["zz_added"] = {"list": []}


def _reverse_waves(plan: Plan) -> None:
    plan["waves"].reverse()


def _drop_field(plan: Plan) -> None:
    del plan["policy"]["retry"]


def _change_dispatch(plan: Plan) -> None:
    plan["policy"]["dispatch"] = "eager" if plan["policy"]["dispatch"] == "waves" else "waves"


def _change_plan(change: Callable[[Plan], None], original: Original, _: Random) -> Iterator[Change]:
    if original.plan:
        yield Change("the wave plan", partial(_with_plan, original, change))


def _has_dependencies(original: Original) -> bool:
    """Whether a task of the plan depends on another, so that the order of the waves matters."""
    tasks = original.plan.get("tasks", {}).values()
    return any(edge for task in tasks for edge in task.get("needs", ()))


def _reverse_dependent_waves(original: Original, _: Random) -> Iterator[Change]:
    if _has_dependencies(original):
        yield Change("the wave plan", partial(_with_plan, original, _reverse_waves))


def _change_plan_with_agents(change: Callable[[Plan], None], original: Original, _: Random) -> Iterator[Change]:
    if original.plan and any("agent" in task for task in original.plan["tasks"].values()):
        yield Change("the wave plan", partial(_with_plan, original, change))


def _require_another_answer(original: Original, _: Random) -> Iterator[Change]:
    if requires_answers(original):
        yield Change("the wave plan", partial(_with_plan, original, _add_output))


def _change_dispatch_mode(original: Original, _: Random) -> Iterator[Change]:
    has_begun = any(find_entries(original, "wave.opened", "task.started", "task.reused", "task.expanded"))
    if has_begun:
        yield Change("the wave plan", partial(_with_plan, original, _change_dispatch))


def _allow_fewer_calls(original: Original, _: Random) -> Iterator[Change]:
    calls = original.entries[-1]["data"]["totals"]["calls"]
    if original.plan and calls > 1:
        yield Change("the wave plan", partial(_with_plan, original, lambda plan: _limit_calls(plan, calls - 1)))


def _limit_calls(plan: Plan, calls: int) -> None:
    plan["policy"]["budget"]["calls"] = calls


def _forbid_parallel_calls(original: Original, _: Random) -> Iterator[Change]:
    open_calls = 0
    for _seq, entry in find_entries(original, *CALL_KINDS, *CLOSING_KINDS):
        open_calls += _open_calls_delta(entry)
        if open_calls > 1:
            yield Change("the wave plan", partial(_with_plan, original, _limit_parallel))
            return


def _open_calls_delta(entry: Entry) -> int:
    if entry["data"].get("by") == "schema":
        return 0
    return 1 if entry["kind"] in CALL_KINDS else -1


def _limit_parallel(plan: Plan) -> None:
    plan["policy"]["max_parallel"] = 1


def _replace_plan_bytes(form: Callable[[bytes], bytes], original: Original, _: Random) -> Iterator[Change]:
    if original.plan:
        content = form(canonical(original.plan))
        yield Change("the wave plan", partial(with_body, original, 0, "wave_plan", content))


def _rename_plan(document: bytes) -> bytes:
    """Change the name of the plan, but not the plan's own digest, which covers it."""
    plan = json.loads(document)
    plan["metadata"]["name"] += "-2"
    return canonical(plan)


KINDS: dict[str, Mutator] = {
    "semantic-other-value-delivered": partial(_replace_values, "edge.delivered", "value"),
    "semantic-other-answer": partial(_replace_values, "answer.given", "value"),
    "semantic-other-items": partial(_replace_values, "task.expanded", "items"),
    "semantic-other-output": _replace_outputs,
    "plan-with-another-task": partial(_change_plan, _add_task),
    "plan-with-a-task-in-two-waves": partial(_change_plan, _repeat_task),
    "plan-with-waves-reversed": _reverse_dependent_waves,
    "plan-with-unknown-agents": partial(_change_plan_with_agents, _use_unknown_agents),
    "plan-without-ladders": partial(_change_plan_with_agents, _drop_ladders),
    "plan-with-agents-and-lanes": partial(_change_plan_with_agents, _add_lanes),
    "plan-with-a-value-of-another-form": partial(_change_plan, _add_output_of_other_form),
    "plan-with-a-missing-answer": _require_another_answer,
    "plan-without-a-field": partial(_change_plan, _drop_field),
    "plan-with-another-dispatch": _change_dispatch_mode,
    "plan-with-fewer-calls": _allow_fewer_calls,
    "plan-with-one-call-at-a-time": _forbid_parallel_calls,
    "plan-with-a-line-feed": partial(_replace_plan_bytes, lambda document: document + b"\n"),
    "plan-with-its-digest-unsalted": partial(_replace_plan_bytes, _rename_plan),
    "plan-empty": partial(_replace_plan_bytes, lambda _: b"{}"),
}
