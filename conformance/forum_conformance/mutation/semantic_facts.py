"""Changed facts in a ledger with a recomputed chain and seal: not a valid run of the plan (level 4)."""

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
    Told,
    comes_later,
    has_started,
    is_followed_by_a_check,
    is_task,
    of_kind,
    settles,
    task_of,
)

CALLS = ("task.started", "verdict.asked")
RESULTS = ("task.finished", "verdict.given")
ATTEMPTS = ("task.started", "task.finished", "task.lost", "verdict.asked", "verdict.given", "verdict.lost")
OF_TASKS = (
    *ATTEMPTS,
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
CAUSED = (
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
ENDS = ("failed", "stopped", "refused", "cancelled")
AMOUNTS = ("input_tokens", "output_tokens", "micro_usd", "output_bytes")


def changes(original: Original, told: Iterable[Told], edit: Edit) -> Iterator[Change]:
    for seq, entry in told:
        yield Change(entry_label(seq, entry), partial(files_with, original, seq, edit(entry)))


def _always(kinds: tuple[str, ...], edit: Edit) -> Mutator:
    return lambda original, _: changes(original, of_kind(original, *kinds), edit)


def _raised(entry: Entry, part: str, name: str) -> Entry:
    amounts = entry["data"][part]
    return with_data(entry, **{part: {**amounts, name: amounts[name] + 1}})


def _usage_raised(original: Original, random: Random) -> Iterator[Change]:
    told = [(seq, entry) for seq, entry in of_kind(original, *RESULTS) if "usage" in entry["data"]]
    return changes(original, told, lambda entry: _raised(entry, "usage", random.choice(sorted(entry["data"]["usage"]))))


def _sum_raised(part: str, original: Original, random: Random) -> Iterator[Change]:
    told = of_kind(original, "run.sealed")
    return changes(original, told, lambda entry: _raised(entry, part, random.choice(sorted(entry["data"][part]))))


def _status_changed(original: Original, random: Random) -> Iterator[Change]:
    def edit(entry: Entry) -> Entry:
        passed = entry["data"]["status"] == "passed"
        return with_data(entry, status=random.choice(ENDS) if passed else "passed")

    return changes(original, of_kind(original, "run.sealed"), edit)


def _next_attempt(entry: Entry) -> Entry:
    return with_data(entry, attempt=entry["data"]["attempt"] + 1)


def _by_agent(original: Original) -> Iterator[Told]:
    return ((seq, entry) for seq, entry in of_kind(original, *CALLS) if "agent" in entry["data"])


def _worker_changed(name: str, original: Original, _: Random) -> Iterator[Change]:
    return changes(original, _by_agent(original), lambda entry: with_data(entry, **{name: "nobody"}))


def _tier_changed(original: Original, random: Random) -> Iterator[Change]:
    def edit(entry: Entry) -> Entry:
        return with_data(entry, tier=random.choice([tier for tier in TIERS if tier != entry["data"]["tier"]]))

    return changes(original, _by_agent(original), edit)


def _pass_to_fail(original: Original, _: Random) -> Iterator[Change]:
    told = [
        (seq, entry)
        for seq, entry in of_kind(original, "verdict.given")
        if entry["data"]["verdict"] == "pass"
        and (is_followed_by_a_check(original, seq, entry) or settles(original, seq, entry))
    ]
    return changes(original, told, lambda entry: with_data(entry, verdict="fail"))


def _fail_to_pass(original: Original, _: Random) -> Iterator[Change]:
    """The last check only: work continued or failed although the result passed."""
    told = [
        (seq, entry)
        for seq, entry in of_kind(original, "verdict.given")
        if entry["data"]["verdict"] == "fail"
        and entry["data"]["check"] == len(task_of(original, entry["data"]["task"])["accept"]) - 1
    ]
    return changes(original, told, lambda entry: with_data(entry, verdict="pass"))


def _decision_flipped(original: Original, _: Random) -> Iterator[Change]:
    flipped = {"approved": "rejected", "rejected": "approved"}
    told = [
        (seq, entry)
        for seq, entry in of_kind(original, "gate.decided")
        if entry["data"]["by"] == "deadline"
        or (entry["data"]["decision"] == "approved" and has_started(original, entry["data"]["task"]))
    ]
    return changes(original, told, lambda entry: with_data(entry, decision=flipped[entry["data"]["decision"]]))


def _decider_changed(entry: Entry) -> Entry:
    return with_data(entry, by="deadline" if entry["data"]["by"] == "person" else "person")


def _deadline_changed(entry: Entry) -> Entry:
    return (
        without_data_field(entry, "deadline") if "deadline" in entry["data"] else with_data(entry, deadline=entry["at"])
    )


def _limits(original: Original, entry: Entry) -> Iterator[Mapping[str, int]]:
    yield original.plan["policy"]["budget"]
    yield task_of(original, entry["data"]["task"]).get("budget", {})
    yield original.plan["agents"].get(entry["data"].get("agent"), {}).get("limits", {})


def _reserved_too_much(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in of_kind(original, *CALLS):
        for budget in _limits(original, entry):
            for name in sorted(budget.keys() & {*AMOUNTS, "tokens"}):
                amount = "input_tokens" if name == "tokens" else name
                raised = {**entry["data"]["reserved"], amount: budget[name] + 1}
                edited = with_data(entry, reserved=raised)
                yield Change(f"{entry_label(seq, entry)}, {name}", partial(files_with, original, seq, edited))


def _needs_causes(original: Original, entry: Entry) -> bool:
    unit = entry["data"].get("task", "")
    if entry["kind"] == "task.started" and entry["data"]["attempt"] == 1:
        task = task_of(original, unit)
        return "gate" in task or "foreach" in task or any(edge["edge"] == "data" for edge in task.get("needs", ()))
    if entry["kind"] == "task.ended":
        return comes_later(original, unit, -1, "task.started")
    return entry["kind"] in CAUSED or entry["kind"] == "task.started"


def _causes_emptied(original: Original, _: Random) -> Iterator[Change]:
    told = [
        (seq, entry) for seq, entry in of_kind(original, *OF_TASKS, "answer.given") if _needs_causes(original, entry)
    ]
    return changes(original, told, lambda entry: {**entry, "causes": []})


def _state_changed(original: Original, random: Random) -> Iterator[Change]:
    for seq, entry in of_kind(original, "task.ended"):
        state = entry["data"]["state"]
        others = ["failed"] if state == "passed" else ["passed"]
        if is_task(original, entry["data"]["task"]):
            others = [other for other in (*ENDS, "passed", "tolerated", "skipped") if other != state]
        chosen = random.choice(others)
        edited = (
            without_data_field(entry, "reason")
            if chosen == "passed"
            else with_data(entry, state=chosen, reason="error")
        )
        yield Change(entry_label(seq, entry), partial(files_with, original, seq, with_data(edited, state=chosen)))


def _too_many_instances(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in of_kind(original, "task.expanded"):
        most = task_of(original, entry["data"]["task"])["foreach"]["max"]
        yield Change(entry_label(seq, entry), partial(files_with, original, seq, with_data(entry, instances=most + 1)))


def _named(kinds: tuple[str, ...], **facts: Any) -> Mutator:
    return _always(kinds, lambda entry: with_data(entry, **facts))


def _turned_round(entry: Entry) -> Entry:
    return with_data(entry, **{"from": entry["data"]["to"], "to": entry["data"]["from"]})


KINDS: dict[str, Mutator] = {
    "semantic-usage-raised": _usage_raised,
    "semantic-totals-raised": partial(_sum_raised, "totals"),
    "semantic-counts-raised": partial(_sum_raised, "counts"),
    "semantic-status-changed": _status_changed,
    "semantic-attempt-raised": _always(ATTEMPTS, _next_attempt),
    "semantic-agent-changed": partial(_worker_changed, "agent"),
    "semantic-adapter-changed": partial(_worker_changed, "adapter"),
    "semantic-tier-changed": _tier_changed,
    "semantic-task-unknown": _named(OF_TASKS, task="nobody"),
    "semantic-edge-unknown": _named(("edge.delivered", "context.cut"), **{"as": "nothing"}),
    "semantic-output-unknown": _named(("answer.given",), output="nothing"),
    "semantic-check-unknown": _named(("verdict.asked", "verdict.given", "verdict.lost"), check=99),
    "semantic-route-unknown": _named(("route.decided",), agent="nobody"),
    "semantic-wave-changed": _always(("wave.opened",), lambda entry: with_data(entry, wave=entry["data"]["wave"] + 1)),
    "semantic-pass-changed-to-fail": _pass_to_fail,
    "semantic-fail-changed-to-pass": _fail_to_pass,
    "semantic-decision-flipped": _decision_flipped,
    "semantic-decider-changed": _always(("gate.decided",), _decider_changed),
    "semantic-other-body-displayed": _named(("gate.decided",), displayed=UNKNOWN_DIGEST),
    "semantic-deadline-changed": _always(("gate.opened",), _deadline_changed),
    "semantic-reserved-beyond-a-budget": _reserved_too_much,
    "semantic-causes-emptied": _causes_emptied,
    "semantic-state-changed": _state_changed,
    "semantic-too-many-instances": _too_many_instances,
    "semantic-escalation-reversed": _always(("escalation.raised",), _turned_round),
    "semantic-plan-of-another-digest": _named(("run.opened",), wave_plan=UNKNOWN_DIGEST),
    "semantic-bundle-of-another-digest": _named(("run.opened",), bundle=UNKNOWN_DIGEST),
}
