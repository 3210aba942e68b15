"""Violations of LEDGER-SEMANTICS-002 to 009: wave plan, names, pauses, waves, hand-over, routes, gates."""

from collections.abc import Mapping
from typing import Any

from fake_ledger.files import OTHER_DIGEST, ZEROS, Body, json_body
from fake_ledger.ledger_builder import NO_USAGE
from fake_ledger.run_builder import DISPLAYED, NOTHING_RESERVED
from fake_ledger.wave_plans import data_edge, order_edge
from vector_generator.ledgers.edits import (
    again,
    body,
    both,
    drop,
    facts,
    insert,
    members,
    move,
    plan,
    plan_bytes,
    renamed,
)
from vector_generator.ledgers.row import Row
from vector_generator.ledgers.runs import DEADLINE, TEXT

FOREACH = {"as": "item", "max": 1}
MATCHES = "0" * 64
START = {
    "attempt": 1, "agent": "worker", "tier": "cheap", "adapter": "small", "fingerprint": ZEROS,
    "reserved": NOTHING_RESERVED,
}  # fmt: skip
CUT = {"as": "x", "bytes": 2, "kept_bytes": 1}
REUSED = {"fingerprint": ZEROS, "source": "cache", "run": "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f", "seq": 3}


def started(unit: str, **facts_: Any) -> Mapping[str, Any]:
    return {"task": unit, **START, **facts_}


PLAN = (
    Row("plan-with-a-line-feed", "handed-over", "002", "L401", 0, "the wave plan is not in RFC 8785 form",
        plan_bytes("a line feed follows the wave plan", lambda document: document + b"\n")),
    Row("plan-without-a-field", "handed-over", "002", "L401", 0, "the wave plan does not fit its schema",
        plan("the policy has no `retry`", lambda found: found["policy"].pop("retry"))),
    Row("plan-with-a-digest-of-another", "handed-over", "002", "L401", 0, "the wave plan's digest is not its own",
        plan_bytes("the wave plan has another name, and the digest that it had", renamed)),
    Row("plan-of-another-digest", "handed-over", "002", "L401", 0, "the first entry names another wave plan",
        facts(0, wave_plan=OTHER_DIGEST)),
    Row("plan-of-another-bundle", "handed-over", "002", "L401", 0, "the first entry names another bundle",
        facts(0, bundle=OTHER_DIGEST)),
    Row("plan-with-a-task-in-no-wave", "handed-over", "002", "L401", 0, "a task stands in no wave",
        plan("the last wave is gone", lambda found: found["waves"].pop())),
    Row("plan-with-a-task-in-two-waves", "handed-over", "002", "L401", 0, "a task stands in two waves",
        plan("a third wave has the task `a` too", lambda found: found["waves"].append(["a"]))),
    Row("plan-with-an-unknown-task-in-a-wave", "handed-over", "002", "L401", 0, "a wave names a task that is not there",
        plan("a third wave has a task `c`", lambda found: found["waves"].append(["c"]))),
    Row("plan-with-an-order-edge-to-nobody", "in-order", "002", "L401", 0,
        "an order edge names a task that is not there",
        plan("`b` comes after a task `d`", lambda found: found["tasks"]["b"].update(needs=[order_edge("d")]))),
    Row("plan-with-a-value-of-nobody", "handed-over", "002", "L401", 0, "a data edge names a task that is not there",
        plan("`b` takes the output of a task `c`",
             lambda found: found["tasks"]["b"].update(needs=[data_edge({"task": "c"}, "x")]))),
    Row("plan-with-a-condition-on-nobody", "in-order", "002", "L401", 0, "a condition names a task that is not there",
        plan("`c` looks at a task `d`",
             lambda found: found["tasks"]["c"].update(when=[{"from": {"task": "d"}, "matches": MATCHES}]))),
    Row("plan-with-a-foreach-over-nobody", "expanded", "002", "L401", 0, "a foreach names a task that is not there",
        plan("`each` is expanded from a task `d`",
             lambda found: found["tasks"]["each"]["foreach"].update({"from": {"task": "d"}}))),
    Row("plan-with-an-answer-of-nobody", "handed-over", "002", "L401", 0, "an output names a task that is not there",
        plan("the output `notes` is made of a task `c`",
             lambda found: found["outputs"].update(notes={"list": [{"task": "c"}]}))),
    Row("plan-with-each-of-a-single-task", "handed-over", "002", "L401", 0, "`each` names a task without foreach",
        plan("the output `notes` is `each` of `b`", lambda found: found["outputs"].update(notes={"each": "b"}))),
    Row("plan-with-task-of-an-expanded-one", "expanded", "002", "L401", 0, "`task` names a task with foreach",
        plan("the output `all` is `task` of `each`", lambda found: found["outputs"].update(all={"task": "each"}))),
    Row("plan-with-an-unknown-agent", "handed-over", "002", "L401", 0, "a task names an agent that is not there",
        plan("`a` has the agent `nobody`", lambda found: found["tasks"]["a"].update(agent="nobody"))),
    Row("plan-with-an-unknown-judge", "checked", "002", "L401", 0, "a check names an agent that is not there",
        plan("the third check of `a` has the agent `nobody`",
             lambda found: found["tasks"]["a"]["accept"][2].update(agent="nobody"))),
    Row("plan-with-an-unknown-adapter-on-a-ladder", "handed-over", "002", "L401", 0,
        "a ladder names an adapter that is not there",
        plan("the ladder of `a` has the adapter `none`",
             lambda found: found["tasks"]["a"].update(ladder=[{"tier": "cheap", "adapter": "none"}]))),
    Row("plan-with-an-unknown-adapter-of-an-agent", "handed-over", "002", "L401", 0,
        "an agent names an adapter that is not there",
        plan("`critic` has the adapter `none` for its tier",
             lambda found: found["agents"]["critic"]["adapters"].update(cheap="none"))),
    Row("plan-without-a-ladder", "handed-over", "002", "L401", 0, "a task has an agent and no ladder",
        plan("`a` has no ladder", lambda found: found["tasks"]["a"].pop("ladder"))),
    Row("plan-with-agent-and-lane", "handed-over", "002", "L401", 0, "a task has an agent and a lane",
        plan("`a` has a lane too", lambda found: found["tasks"]["a"].update(lane="auto"))),
    Row("plan-with-nobody-for-a-task", "handed-over", "002", "L401", 0, "a task has neither an agent nor a lane",
        plan("`a` has neither agent nor ladder",
             lambda found: [found["tasks"]["a"].pop(name) for name in ("agent", "ladder")])),
    Row("plan-with-a-task-beside-its-source", "handed-over", "002", "L401", 0,
        "a task stands in the wave of a task that it depends on",
        plan("`a` and `b` stand in one wave", lambda found: found.update(waves=[["a", "b"]]))),
    Row("plan-with-waves-turned-round", "in-waves", "002", "L401", 0,
        "a task stands in an earlier wave than a task that it depends on",
        plan("the waves are turned round", lambda found: found["waves"].reverse())),
)  # fmt: skip

NAMES = (
    Row("attempt-of-nobody", "one-task", "003", "L402", 1, "an attempt of a task that is not there",
        facts(1, task="nobody")),
    Row("end-of-nobody", "one-task", "003", "L402", 3, "a task ends that is not there", facts(3, task="nobody")),
    Row("delivery-over-no-edge", "handed-over", "003", "L402", 4,
        "a value is handed over under a name that no edge has",
        facts(4, **{"as": "y"})),
    Row("cut-of-no-edge", "handed-over", "003", "L402", 5, "a cut names an edge that is not there",
        insert(5, "context.cut", {"task": "b", **CUT, "as": "y"})),
    Row("check-beyond-the-last", "checked", "003", "L402", 4, "a check is asked that the task does not have",
        facts(4, check=3)),
    Row("answer-to-nothing", "handed-over", "003", "L402", 8, "an answer is given that the plan does not have",
        facts(8, output="other")),
    Row("route-to-nobody", "routed", "003", "L402", 1, "a task is routed to an agent that is not there",
        facts(1, agent="nobody")),
    Row("expansion-of-a-single-task", "expanded", "003", "L402", 4, "a task without foreach is expanded",
        facts(4, task="a")),
    Row("instance-beyond-the-last", "expanded", "003", "L402", 5, "an entry names an instance beyond the last",
        facts(5, task="each[2]")),
    Row("instance-before-the-expansion", "expanded", "003", "L402", 4, "an instance is named before there are any",
        insert(4, "context.cut", {"task": "each[0]", **CUT, "as": "item"})),
    Row("attempt-of-a-task-with-foreach", "expanded", "003", "L402", 6,
        "an attempt of the task with foreach itself, and not of an instance", facts(6, task="each")),
    Row("instance-with-a-leading-zero", "expanded", "003 KIND-003", "L402", 9,
        "an instance is named with a leading zero",
        facts(9, task="each[01]")),
)  # fmt: skip

PAUSES = (
    Row("work-while-paused", "gated", "003", "L424", 4, "an attempt begins while the run is paused", move(5, 4)),
    Row("paused-twice", "gated", "003", "L424", 3, "a run that is paused is paused", again(2, 3)),
    Row("sealed-while-paused", "one-task", "003", "L424", 5, "a run that is paused is sealed",
        insert(4, "run.paused", {"reason": "interrupted"})),
    Row("paused-with-an-open-call", "one-task", "003", "L424", 2, "a run is paused while a call is open",
        insert(2, "run.paused", {"reason": "interrupted"})),
    Row("call-beside-an-orphan", "gone-on-with", "003", "L424", 3, "a call begins before every orphan is lost",
        move(9, 3)),
    Row("orphan-finished", "gone-on-with", "003", "L408", 3, "an attempt whose process was killed is finished",
        both(
            members(3, kind="task.finished"),
            facts(3, status="cancelled", usage=NO_USAGE, measured=False),
        )),
    Row("orphan-verdict-given", "checked", "003", "L408", 6, "a verdict comes from a check whose process was killed",
        insert(5, "run.resumed", {"implementation": {"name": "by-hand", "version": "1"}})),
)  # fmt: skip

WAVES = (
    Row("wave-without-waves", "one-task", "004", "L405", 1,
        "a wave is opened, and the policy does not dispatch by waves",
        insert(1, "wave.opened", {"wave": 0})),
    Row("second-wave-first", "in-waves", "004", "L405", 1, "the second wave is opened first", facts(1, wave=1)),
    Row("wave-twice", "in-waves", "004", "L405", 2, "a wave is opened twice", again(1, 2)),
    Row("wave-beyond-the-last", "in-waves", "004", "L405", 9, "a wave is opened that the plan does not have",
        insert(9, "wave.opened", {"wave": 2})),
    Row("wave-too-early", "in-waves", "004", "L405", 4, "a wave is opened, and a task of the one before has not ended",
        move(5, 4)),
    Row("task-before-its-wave", "in-waves", "005", "L405", 1, "a task begins before its wave is open", drop(1)),
    Row("reuse-before-its-wave", "in-waves", "011 005", "L405", 1, "a result is reused before its wave is open",
        insert(1, "task.reused", {"task": "a", **REUSED}, bodies={"output": TEXT})),
    Row("task-before-the-one-it-follows", "in-order", "005", "L403", 3, "a task begins before one that it comes after",
        move(4, 3)),
    Row("task-before-its-condition", "in-order", "005", "L403", 3,
        "a task begins before the one that its condition looks at has ended", move(7, 3)),
    Row("expansion-before-its-source", "expanded", "005 006", "L403", 3,
        "a task is expanded before the one that it takes its items from has ended", move(4, 3)),
    Row("task-after-a-failed-source", "failed", "005", "L404", 4,
        "a task begins, and one that it takes a value from failed",
        insert(4, "task.started", started("b"))),
    Row("expansion-after-a-failed-source", "failed", "005 006", "L404", 5,
        "a task is expanded, and the one that it takes its items from failed",
        insert(5, "task.expanded", {"task": "each", "instances": 0}, bodies={"items": json_body([])})),
)  # fmt: skip

EXPANSIONS = (
    Row("expanded-twice", "expanded", "006", "L409", 5, "a task is expanded twice", again(4, 5)),
    Row("expanded-after-its-end", "failed", "006", "L409", 6, "a task is expanded after it has ended",
        insert(6, "task.expanded", {"task": "each", "instances": 0}, bodies={"items": json_body([])})),
    Row("more-instances-than-allowed", "expanded", "006", "L419", 4, "there are more instances than the foreach allows",
        plan("the foreach has a `max` of 1", lambda found: found["tasks"]["each"]["foreach"].update(max=1))),
    Row("fewer-instances-than-items", "expanded", "006", "L419", 4, "there are fewer instances than items",
        facts(4, instances=1)),
    Row("items-that-are-no-list", "expanded", "006", "L419", 4, "the items are not a list",
        body(4, "items", json_body({}))),
    Row("items-not-canonical", "expanded", "006 KIND-004", "L419", 4, "the list of items is not in RFC 8785 form",
        body(4, "items", Body(b'[{"i":0}, {"i":1}]', "application/json"))),
    Row("other-items", "expanded", "006", "L419", 4, "the items are not the value of the foreach",
        body(4, "items", json_body([{"i": 0}, {"i": 2}]))),
)  # fmt: skip

DELIVERIES = (
    Row("delivered-twice", "handed-over", "007", "L409", 5, "a value is handed over twice", again(4, 5)),
    Row("delivered-after-the-end", "stopped", "007", "L409", 6, "a value is handed to a task that has ended",
        insert(6, "edge.delivered", {"task": "b", "as": "x"}, [3], {"value": TEXT})),
    Row("delivered-too-early", "handed-over", "007", "L403", 3, "a value is handed over before its task has ended",
        move(4, 3)),
    Row("delivered-from-a-failed-task", "failed", "007", "L404", 4, "a value of a task that failed is handed over",
        insert(4, "edge.delivered", {"task": "b", "as": "x"}, [3], {"value": TEXT})),
    Row("delivered-without-its-cause", "handed-over", "007", "L426", 4,
        "a delivery does not name the end of the task that the value comes from", members(4, causes=[2])),
    Row("delivered-after-the-first-of-two", "with-values", "007", "L426", 7,
        "a delivery names the task that ended first, and not the one that ended last", members(7, causes=[3])),
    Row("other-value-delivered", "handed-over", "007 018", "L407", 4, "another value is handed over",
        body(4, "value", Body(b"texts"))),
    Row("item-of-another-instance", "expanded", "007", "L407", 9, "an instance is handed the item of another",
        body(9, "value", json_body({"i": 0}))),
    Row("item-without-its-cause", "expanded", "007", "L426", 5, "an item is handed over without naming the expansion",
        members(5, causes=[3])),
)  # fmt: skip

ROUTES = (
    Row("routed-without-a-lane", "one-task", "008", "L411", 1, "a task without a lane is routed",
        insert(1, "route.decided", {"task": "a", "agent": "worker", "by": "only"})),
    Row("routed-twice", "routed", "008", "L411", 2, "a task is routed twice", again(1, 2)),
    Row("routed-after-it-began", "reused", "008", "L411", 4, "a task is routed after a result was reused for it",
        insert(4, "route.decided", {"task": "b", "agent": "worker", "by": "only"})),
    Row("routed-after-its-end", "cancelled", "008", "L411", 2, "a task is routed after it has ended",
        insert(2, "route.decided", {"task": "a", "agent": "worker", "by": "only"})),
    Row("ladder-with-a-tier-too-many", "routed", "008 013", "L418", 4,
        "a routed task climbs to a tier that its agent has no adapter for", facts(4, to="frontier")),
)  # fmt: skip

GATES = (
    Row("gate-of-a-task-without-one", "one-task", "009", "L414", 1, "a gate is opened that the plan does not have",
        insert(1, "gate.opened", {"task": "a"}, bodies={"displayed": DISPLAYED})),
    Row("gate-opened-twice", "gated", "009", "L414", 2, "a gate is opened twice", again(1, 2)),
    Row("gate-opened-after-the-end", "stopped", "009", "L414", 6, "a gate is opened after the task has ended",
        insert(6, "gate.opened", {"task": "b"}, bodies={"displayed": DISPLAYED})),
    Row("gate-with-a-deadline-of-its-own", "gated", "009", "L414", 1,
        "a gate has a deadline that the plan does not have",
        facts(1, deadline=DEADLINE)),
    Row("gate-without-its-deadline", "gated-in-time", "009", "L414", 1, "a gate lacks the deadline that the plan has",
        facts(1, deadline=None)),
    Row("decided-at-no-gate", "gated", "009", "L414", 2, "a decision at a gate that was not opened", drop(1)),
    Row("decided-twice", "gated", "009", "L414", 4, "a gate is decided twice", again(3, 4)),
    Row("decided-about-something-else", "gated", "009", "L414", 3, "a decision about something else than was displayed",
        facts(3, displayed=OTHER_DIGEST)),
    Row("decided-by-no-deadline", "gated", "009", "L414", 3, "a deadline decides, and the gate has none",
        facts(3, by="deadline", decision="rejected")),
    Row("decided-before-the-deadline", "gated-in-time", "009", "L414", 2, "a deadline decides before it is reached",
        members(2, at="2026-11-15T09:00:59.999999Z")),
    Row("decided-otherwise-at-the-deadline", "gated-in-time", "009", "L414", 2,
        "a deadline decides otherwise than the plan says", facts(2, decision="rejected")),
    Row("person-at-the-deadline", "gated-in-time", "009", "L414", 2, "a person decides when the deadline is reached",
        facts(2, by="person")),
    Row("decided-without-its-cause", "gated", "009", "L426", 3, "a decision does not name the opening of its gate",
        members(3, causes=[0])),
)  # fmt: skip

ROWS = (*PLAN, *NAMES, *PAUSES, *WAVES, *EXPANSIONS, *DELIVERIES, *ROUTES, *GATES)
