"""Check that everything that an entry refers to exists (L402). This comes before the rules of its kind."""

from forum_conformance.entry import Entry
from forum_conformance.semantics.state import Run, Unit
from forum_conformance.semantics.violation import Violation, require

_KINDS_WITH_CHECK = frozenset({"verdict.asked", "verdict.given", "verdict.lost"})
_KINDS_WITH_EDGE = frozenset({"edge.delivered", "context.cut"})


def unit_of(run: Run, entry: Entry) -> Unit:
    name = entry["data"]["task"]
    unit = run.unit(name)
    if unit is None:
        raise Violation("L402", f"'{name}' is not a task or an instance that can have this entry")
    return unit


def require_names(run: Run, entry: Entry) -> None:
    kind, data = entry["kind"], entry["data"]
    if kind.startswith("x-"):
        return
    if kind == "answer.given":
        require(data["output"] in run.plan.outputs, "L402", f"the plan has no output '{data['output']}'")
    if "task" not in data:
        return
    is_template = "foreach" in run.plan.tasks.get(data["task"], {})
    if kind == "task.expanded":
        require(is_template, "L402", f"the plan has no task '{data['task']}' with a foreach")
    elif not (kind == "task.ended" and is_template):
        _require_parts(run, unit_of(run, entry), entry)


def _require_parts(run: Run, unit: Unit, entry: Entry) -> None:
    kind, data = entry["kind"], entry["data"]
    task = run.task_of(unit)
    if kind in _KINDS_WITH_EDGE:
        require(data["as"] in run.plan.edge_names(unit.task), "L402", f"'{unit.name}' has no data edge '{data['as']}'")
    if kind in _KINDS_WITH_CHECK:
        exists = data["check"] < len(task.get("accept", []))
        require(exists, "L402", f"'{unit.name}' has no check {data['check']}")
    if kind == "route.decided":
        require(data["agent"] in run.plan.agents, "L402", f"the plan has no agent '{data['agent']}'")
