"""Changed fields in a ledger with a recomputed chain and seal: not a valid run of the plan (level 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from random import Random
from typing import Any

from forum_conformance.mutation.change import (
    UNKNOWN_DIGEST,
    Change,
    Edit,
    Mutator,
    entry_label,
    files_with,
    with_data,
    without_data_field,
)
from forum_conformance.mutation.original import Entry, Original
from forum_conformance.mutation.units import (
    SeqEntry,
    find_entries,
    has_later_entry,
    has_started,
    is_followed_by_a_check,
    is_part_of_final_result,
    is_task,
    task_of,
)

CALL_KINDS = ("task.started", "verdict.asked")
RESULT_KINDS = ("task.finished", "verdict.given")
ATTEMPT_KINDS = ("task.started", "task.finished", "task.lost", "verdict.asked", "verdict.given", "verdict.lost")
TASK_KINDS = (
    *ATTEMPT_KINDS,
    "route.decided",
    "task.expanded",
    "task.reused",
    "task.ended",
    "edge.delivered",
    "context.cut",
    "gate.opened",
    "gate.decided",
    "escalation.raised",
    "budget.exceeded",
)
# Kinds whose cause the specification requires (L426).
KINDS_WITH_REQUIRED_CAUSE = (
    "task.finished",
    "task.lost",
    "edge.delivered",
    "gate.decided",
    "verdict.asked",
    "verdict.given",
    "verdict.lost",
    "escalation.raised",
    "answer.given",
)
TIERS = ("cheap", "capable", "frontier")
BAD_STATES = ("failed", "stopped", "refused", "cancelled")
RESOURCES = ("input_tokens", "output_tokens", "micro_usd", "output_bytes")


def changes(original: Original, targets: Iterable[SeqEntry], edit: Edit) -> Iterator[Change]:
    """One change per target."""
    for seq, entry in targets:
        yield Change(entry_label(seq, entry), partial(files_with, original, seq, edit(entry)))


def _edit_kinds(kinds: tuple[str, ...], edit: Edit) -> Mutator:
    return lambda original, _: changes(original, find_entries(original, *kinds), edit)


def _raise_random_amount(entry: Entry, field: str, random: Random) -> Entry:
    amounts = entry["data"][field]
    name = random.choice(sorted(amounts))
    return with_data(entry, **{field: {**amounts, name: amounts[name] + 1}})


def _raise_usage(original: Original, random: Random) -> Iterator[Change]:
    targets = [(seq, entry) for seq, entry in find_entries(original, *RESULT_KINDS) if "usage" in entry["data"]]
    return changes(original, targets, lambda entry: _raise_random_amount(entry, "usage", random))


def _raise_sum(field: str, original: Original, random: Random) -> Iterator[Change]:
    targets = find_entries(original, "run.sealed")
    return changes(original, targets, lambda entry: _raise_random_amount(entry, field, random))


def _change_status(original: Original, random: Random) -> Iterator[Change]:
    def edit(entry: Entry) -> Entry:
        passed = entry["data"]["status"] == "passed"
        return with_data(entry, status=random.choice(BAD_STATES) if passed else "passed")

    return changes(original, find_entries(original, "run.sealed"), edit)


def _raise_attempt(entry: Entry) -> Entry:
    return with_data(entry, attempt=entry["data"]["attempt"] + 1)


def _raise_wave(entry: Entry) -> Entry:
    return with_data(entry, wave=entry["data"]["wave"] + 1)


def _agent_calls(original: Original) -> Iterator[SeqEntry]:
    return ((seq, entry) for seq, entry in find_entries(original, *CALL_KINDS) if "agent" in entry["data"])


def _change_worker(name: str, original: Original, _: Random) -> Iterator[Change]:
    return changes(original, _agent_calls(original), lambda entry: with_data(entry, **{name: "nobody"}))


def _change_tier(original: Original, random: Random) -> Iterator[Change]:
    def edit(entry: Entry) -> Entry:
        return with_data(entry, tier=random.choice([tier for tier in TIERS if tier != entry["data"]["tier"]]))

    return changes(original, _agent_calls(original), edit)


def _change_pass_to_fail(original: Original, _: Random) -> Iterator[Change]:
    targets = [
        (seq, entry)
        for seq, entry in find_entries(original, "verdict.given")
        if entry["data"]["verdict"] == "pass"
        and (is_followed_by_a_check(original, seq, entry) or is_part_of_final_result(original, seq, entry))
    ]
    return changes(original, targets, lambda entry: with_data(entry, verdict="fail"))


def _change_fail_to_pass(original: Original, _: Random) -> Iterator[Change]:
    """Change the last check of an attempt to `pass`: then the task continued or failed although its result passed."""
    targets = [
        (seq, entry)
        for seq, entry in find_entries(original, "verdict.given")
        if entry["data"]["verdict"] == "fail"
        and entry["data"]["check"] == len(task_of(original, entry["data"]["task"])["accept"]) - 1
    ]
    return changes(original, targets, lambda entry: with_data(entry, verdict="pass"))


def _flip_decision(original: Original, _: Random) -> Iterator[Change]:
    opposite = {"approved": "rejected", "rejected": "approved"}
    targets = [
        (seq, entry)
        for seq, entry in find_entries(original, "gate.decided")
        if entry["data"]["by"] == "deadline"
        or (entry["data"]["decision"] == "approved" and has_started(original, entry["data"]["task"]))
    ]
    return changes(original, targets, lambda entry: with_data(entry, decision=opposite[entry["data"]["decision"]]))


def _change_decider(entry: Entry) -> Entry:
    return with_data(entry, by="deadline" if entry["data"]["by"] == "person" else "person")


def _change_deadline(entry: Entry) -> Entry:
    return (
        without_data_field(entry, "deadline") if "deadline" in entry["data"] else with_data(entry, deadline=entry["at"])
    )


def _limits(original: Original, entry: Entry) -> Iterator[Mapping[str, int]]:
    yield original.plan["policy"]["budget"]
    yield task_of(original, entry["data"]["task"]).get("budget", {})
    yield original.plan["agents"].get(entry["data"].get("agent"), {}).get("limits", {})


def _reserve_too_much(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in find_entries(original, *CALL_KINDS):
        for budget in _limits(original, entry):
            for name in sorted(budget.keys() & {*RESOURCES, "tokens"}):
                resource = "input_tokens" if name == "tokens" else name
                raised = {**entry["data"]["reserved"], resource: budget[name] + 1}
                edited = with_data(entry, reserved=raised)
                yield Change(f"{entry_label(seq, entry)}, {name}", partial(files_with, original, seq, edited))


def _needs_causes(original: Original, entry: Entry) -> bool:
    unit = entry["data"].get("task", "")
    if entry["kind"] == "task.started" and entry["data"]["attempt"] == 1:
        task = task_of(original, unit)
        return "gate" in task or "foreach" in task or any(edge["edge"] == "data" for edge in task.get("needs", ()))
    if entry["kind"] == "task.ended":
        return has_later_entry(original, unit, -1, "task.started")
    return entry["kind"] in KINDS_WITH_REQUIRED_CAUSE or entry["kind"] == "task.started"


def _empty_causes(original: Original, _: Random) -> Iterator[Change]:
    targets = [
        (seq, entry)
        for seq, entry in find_entries(original, *TASK_KINDS, "answer.given")
        if _needs_causes(original, entry)
    ]
    return changes(original, targets, lambda entry: {**entry, "causes": []})


def _change_state(original: Original, random: Random) -> Iterator[Change]:
    for seq, entry in find_entries(original, "task.ended"):
        state = entry["data"]["state"]
        other_states = ["failed"] if state == "passed" else ["passed"]
        if is_task(original, entry["data"]["task"]):
            other_states = [other for other in (*BAD_STATES, "passed", "tolerated", "skipped") if other != state]
        new_state = random.choice(other_states)
        edited = (
            without_data_field(entry, "reason")
            if new_state == "passed"
            else with_data(entry, state=new_state, reason="error")
        )
        yield Change(entry_label(seq, entry), partial(files_with, original, seq, with_data(edited, state=new_state)))


def _expand_too_much(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in find_entries(original, "task.expanded"):
        max_instances = task_of(original, entry["data"]["task"])["foreach"]["max"]
        yield Change(
            entry_label(seq, entry), partial(files_with, original, seq, with_data(entry, instances=max_instances + 1))
        )


def _set_data(kinds: tuple[str, ...], **fields: Any) -> Mutator:
    return _edit_kinds(kinds, lambda entry: with_data(entry, **fields))


def _reverse_escalation(entry: Entry) -> Entry:
    return with_data(entry, **{"from": entry["data"]["to"], "to": entry["data"]["from"]})


KINDS: dict[str, Mutator] = {
    "semantic-usage-raised": _raise_usage,
    "semantic-totals-raised": partial(_raise_sum, "totals"),
    "semantic-counts-raised": partial(_raise_sum, "counts"),
    "semantic-status-changed": _change_status,
    "semantic-attempt-raised": _edit_kinds(ATTEMPT_KINDS, _raise_attempt),
    "semantic-agent-changed": partial(_change_worker, "agent"),
    "semantic-adapter-changed": partial(_change_worker, "adapter"),
    "semantic-tier-changed": _change_tier,
    "semantic-task-unknown": _set_data(TASK_KINDS, task="nobody"),
    "semantic-edge-unknown": _set_data(("edge.delivered", "context.cut"), **{"as": "nothing"}),
    "semantic-output-unknown": _set_data(("answer.given",), output="nothing"),
    "semantic-check-unknown": _set_data(("verdict.asked", "verdict.given", "verdict.lost"), check=99),
    "semantic-route-unknown": _set_data(("route.decided",), agent="nobody"),
    "semantic-wave-changed": _edit_kinds(("wave.opened",), _raise_wave),
    "semantic-pass-changed-to-fail": _change_pass_to_fail,
    "semantic-fail-changed-to-pass": _change_fail_to_pass,
    "semantic-decision-flipped": _flip_decision,
    "semantic-decider-changed": _edit_kinds(("gate.decided",), _change_decider),
    "semantic-other-body-displayed": _set_data(("gate.decided",), displayed=UNKNOWN_DIGEST),
    "semantic-deadline-changed": _edit_kinds(("gate.opened",), _change_deadline),
    "semantic-reserved-beyond-a-budget": _reserve_too_much,
    "semantic-causes-emptied": _empty_causes,
    "semantic-state-changed": _change_state,
    "semantic-too-many-instances": _expand_too_much,
    "semantic-escalation-reversed": _edit_kinds(("escalation.raised",), _reverse_escalation),
    "semantic-plan-of-another-digest": _set_data(("run.opened",), wave_plan=UNKNOWN_DIGEST),
    "semantic-bundle-of-another-digest": _set_data(("run.opened",), bundle=UNKNOWN_DIGEST),
}
