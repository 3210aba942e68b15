"""Invariants of a run, checked only on its entries and without code of the runner."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from unit.runner.execute.random_plans import JsonObject, dependencies_of, sources_of

Entry = Mapping[str, Any]

CALL_START_KINDS = ("task.started", "verdict.asked")
# The kinds that end a call, each with the kind that starts it.
CALL_END_KINDS = {
    "task.finished": "task.started",
    "task.lost": "task.started",
    "verdict.given": "verdict.asked",
    "verdict.lost": "verdict.asked",
}
BUDGETED_RESOURCES = ("calls", "input_tokens", "output_tokens", "tokens", "micro_usd", "output_bytes")
MINUTE_US = 60_000_000


def broken_laws(document: JsonObject, entries: Sequence[Entry]) -> list[str]:
    """Describe each invariant that a sealed run violates."""
    laws = (
        _order, _calls, _budgets, _parallelism, _ends, _losses, _answers, _rates, _wall, _cuts, _interrupts,
    )  # fmt: skip
    return [f"{law.__name__[1:]}: {violation}" for law in laws for violation in law(document, entries)]


def task_of(document: JsonObject, unit: str) -> str:
    return unit if unit in document["tasks"] else unit.rpartition("[")[0]


def _of_kind(entries: Sequence[Entry], *kinds: str) -> Iterator[Entry]:
    return (entry for entry in entries if entry["kind"] in kinds)


def _order(document: JsonObject, entries: Sequence[Entry]) -> Iterator[str]:
    """No task starts before its dependencies have ended; data comes only from passed tasks."""
    ends: dict[str, str] = {}
    for entry in entries:
        data = entry["data"]
        if entry["kind"] == "task.ended":
            ends[data["task"]] = data["state"]
        elif entry["kind"] in ("task.started", "task.reused", "task.expanded", "edge.delivered"):
            task_document = document["tasks"][task_of(document, data["task"])]
            if missing := dependencies_of(task_document) - ends.keys():
                yield f"{entry['seq']} starts before {missing}"
            values = [need["from"] for need in task_document.get("needs", ()) if need["edge"] == "data"]
            values += [task_document["foreach"]["from"]] if "foreach" in task_document else []
            sources = {name for value in values for name in sources_of(value)}
            if not_passed := {name for name in sources if ends.get(name) != "passed"}:
                yield f"{entry['seq']} takes data from {not_passed}"


def _calls(_document: JsonObject, entries: Sequence[Entry]) -> Iterator[str]:
    """Every call ends exactly once, and before the run ends."""
    open_calls: dict[str, Entry] = {}
    for entry in entries:
        task = entry["data"].get("task")
        if entry["kind"] in CALL_START_KINDS:
            if task in open_calls:
                yield f"{entry['seq']} starts while the same task has an open call at {open_calls[task]['seq']}"
            open_calls[task] = entry
        elif entry["kind"] in CALL_END_KINDS and entry["data"].get("by") != "schema":
            start = open_calls.pop(task, None)
            if start is None or start["kind"] != CALL_END_KINDS[entry["kind"]] or start["seq"] not in entry["causes"]:
                yield f"{entry['seq']} ends no open call"
        elif entry["kind"] in ("run.paused", "run.sealed") and open_calls:
            yield f"{entry['seq']} is written while calls are open"


def _accounts(document: JsonObject, entry: Entry) -> Iterator[tuple[tuple[str, str], Mapping[str, int]]]:
    data = entry["data"]
    yield ("run", ""), document["policy"]["budget"]
    if "agent" in data:
        yield ("agent", data["agent"]), document["agents"][data["agent"]].get("limits", {})
    task = task_of(document, data["task"])
    yield ("task", task), document["tasks"][task].get("budget", {})


def _amounts(values: Mapping[str, int], calls: int) -> Counter[str]:
    sums = {name: values[name] for name in ("input_tokens", "output_tokens", "micro_usd", "output_bytes")}
    return Counter({**sums, "calls": calls, "tokens": values["input_tokens"] + values["output_tokens"]})


def _budgets(document: JsonObject, entries: Sequence[Entry]) -> Iterator[str]:
    """No call starts when that would reserve or spend more than a budget allows."""
    spent: dict[tuple[str, str], Counter[str]] = {}
    started: dict[str, Entry] = {}
    for entry in entries:
        data = entry["data"]
        if entry["kind"] in CALL_START_KINDS:
            started[data["task"]] = entry
            for account, limits in _accounts(document, entry):
                used = spent.setdefault(account, Counter())
                used.update(_amounts(data["reserved"], "agent" in data))
                if exceeded := [name for name in BUDGETED_RESOURCES if name in limits and used[name] > limits[name]]:
                    yield f"{entry['seq']} overshoots {account} in {exceeded}"
        elif entry["kind"] in ("task.finished", "verdict.given") and "usage" in data:
            start = started.pop(data["task"])
            for account, _ in _accounts(document, start):
                spent[account].subtract(_amounts(start["data"]["reserved"], 0))
                spent[account].update(_amounts(data["usage"], 0))


def _parallelism(document: JsonObject, entries: Sequence[Entry]) -> Iterator[str]:
    open_calls = 0
    for entry in entries:
        open_calls += entry["kind"] in CALL_START_KINDS
        open_calls -= entry["kind"] in CALL_END_KINDS and entry["data"].get("by") != "schema"
        if open_calls > document["policy"]["max_parallel"]:
            yield f"{entry['seq']} exceeds max_parallel"


def _ends(document: JsonObject, entries: Sequence[Entry]) -> Iterator[str]:
    """Every task and instance ends exactly once and has no entries afterwards."""
    expected = Counter(document["tasks"].keys())
    for entry in _of_kind(entries, "task.expanded"):
        expected.update(f"{entry['data']['task']}[{number}]" for number in range(entry["data"]["instances"]))
    actual = Counter(entry["data"]["task"] for entry in _of_kind(entries, "task.ended"))
    if expected != actual:
        yield f"expected {expected} to end, but {actual} ended"
    ended: set[str] = set()
    for entry in entries:
        task = entry["data"].get("task")
        if task in ended and entry["kind"] != "budget.exceeded":
            yield f"{entry['seq']} is written after its task ended"
        if entry["kind"] == "task.ended":
            ended.add(task)


def _losses(document: JsonObject, entries: Sequence[Entry]) -> Iterator[str]:
    """A lost attempt is not repeated unless the plan or the policy allows it."""
    lost: set[str] = set()
    for entry in entries:
        task = entry["data"].get("task")
        if entry["kind"] == "task.started" and task in lost:
            task_document = document["tasks"][task_of(document, task)]
            if "idempotent" not in task_document and document["policy"].get("on_lost") != "retry":
                yield f"{entry['seq']} starts again after a lost attempt"
        if entry["kind"] == "task.lost":
            lost.add(task)


def _answers(document: JsonObject, entries: Sequence[Entry]) -> Iterator[str]:
    """Every output whose sources all passed is recorded, regardless of other tasks."""
    ends = {entry["data"]["task"]: entry["data"]["state"] for entry in _of_kind(entries, "task.ended")}
    recorded = Counter(entry["data"]["output"] for entry in _of_kind(entries, "answer.given"))
    due = Counter(
        name
        for name, value in document["outputs"].items()
        if all(ends.get(source) == "passed" for source in sources_of(value))
    )
    if recorded != due:
        yield f"expected outputs {due}, but {recorded} were recorded"


def _rates(document: JsonObject, entries: Sequence[Entry]) -> Iterator[str]:
    """An adapter never gets more requests or tokens within a minute than its rate allows."""
    windows: dict[str, deque[list[int]]] = {}
    open_calls: dict[str, list[int]] = {}
    for entry in entries:
        data, at_us = entry["data"], time_of(entry)
        if entry["kind"] in CALL_START_KINDS and "adapter" in data:
            limits = document["policy"]["rates"].get(data["adapter"], {})
            window = windows.setdefault(data["adapter"], deque())
            while window and window[0][0] <= at_us - MINUTE_US:
                window.popleft()
            tokens = data["reserved"]["input_tokens"] + data["reserved"]["output_tokens"]
            if len(window) >= limits.get("requests_per_minute", 10**9):
                yield f"{entry['seq']} is one request too many"
            if window and sum(call[1] for call in window) + tokens > limits.get("tokens_per_minute", 10**18):
                yield f"{entry['seq']} has too many tokens"
            open_calls[data["task"]] = [at_us, tokens]
            window.append(open_calls[data["task"]])
        elif entry["kind"] in ("task.finished", "verdict.given") and "usage" in data and data["task"] in open_calls:
            open_calls.pop(data["task"])[1] = data["usage"]["input_tokens"] + data["usage"]["output_tokens"]


def _wall(document: JsonObject, entries: Sequence[Entry]) -> Iterator[str]:
    """Nothing starts after the run has used up its wall time."""
    limit_ms = document["policy"]["budget"].get("wall_ms")
    if limit_ms is None:
        return
    active_us, since_us, last_entry_us = 0, time_of(entries[0]), 0
    is_paused = False
    for entry in entries:
        at_us = time_of(entry)
        if entry["kind"] == "run.paused":
            active_us, is_paused = active_us + at_us - since_us, True
        elif entry["kind"] == "run.resumed":
            active_us += 0 if is_paused else last_entry_us - since_us
            since_us, is_paused = at_us, False
        elif entry["kind"] in CALL_START_KINDS and active_us + at_us - since_us >= limit_ms * 1_000:
            yield f"{entry['seq']} starts after {active_us + at_us - since_us} us"
        if entry["kind"] not in ("gate.decided", "run.repaired"):
            last_entry_us = at_us


def _cuts(document: JsonObject, entries: Sequence[Entry]) -> Iterator[str]:
    """Before a task starts, each truncated value is recorded exactly once."""
    due: dict[str, Counter[str]] = {}
    for entry in entries:
        data = entry["data"]
        if entry["kind"] == "edge.delivered":
            needs = document["tasks"][task_of(document, data["task"])].get("needs", ())
            limits = {need["as"]: need.get("max_bytes") for need in needs if need["edge"] == "data"}
            limit = limits.get(data["as"])
            if limit is not None and entry["bodies"]["value"]["bytes"] > limit:
                due.setdefault(data["task"], Counter())[data["as"]] += 1
        elif entry["kind"] == "context.cut":
            due[data["task"]][data["as"]] -= 1
        elif entry["kind"] == "task.started" and any(due.get(data["task"], {}).values()):
            yield f"{entry['seq']} starts with unrecorded truncations {due[data['task']]}"


def _interrupts(_document: JsonObject, entries: Sequence[Entry]) -> Iterator[str]:
    is_paused = False
    for entry in entries:
        if entry["kind"] == "run.paused":
            is_paused = True
        elif entry["kind"] == "run.resumed":
            is_paused = False
        elif is_paused and entry["kind"] not in ("gate.decided", "run.repaired"):
            yield f"{entry['seq']} is written during a pause"


def time_of(entry: Entry) -> int:
    moment = datetime.fromisoformat(entry["at"])
    return int(moment.replace(microsecond=0).timestamp()) * 1_000_000 + moment.microsecond
