"""Valid ledgers of tasks with a `foreach`."""

from fake_ledger.files import Body, Record, json_body
from fake_ledger.run_builder import RunBuilder
from fake_ledger.wave_plans import task, wave_plan


def all_passed() -> Record:
    """0 run.opened, 1-3 a, 4 expanded, 5-8 each[0], 9-12 each[1], 13 each ended, 14 answer.given, 15 sealed."""
    builder = _with_instances("passed", "passed")
    builder.answer("all", json_body(["n0", "n1"]), builder.end("each"))
    return builder.sealed()


def one_tolerated() -> Record:
    """Like `all_passed`, but each[0] is tolerated."""
    builder = _with_instances("tolerated", "passed")
    builder.answer("all", json_body(["n1"]), builder.end("each"))
    return builder.sealed()


def all_tolerated() -> Record:
    """0 run.opened, 1-3 a, 4 expanded, 5-8 each[0], 9-12 each[1], 13 each ended, 14 sealed."""
    builder = _with_instances("tolerated", "tolerated")
    builder.end("each", "tolerated")
    return builder.sealed()


def tolerated_before_an_attempt() -> Record:
    """0 run.opened, 1-3 a, 4 expanded, 5 each[0] ended, 6 each[1] ended, 7 each ended, 8 sealed."""
    builder = _with_instances("not_started", "not_started")
    builder.end("each", "tolerated")
    return builder.sealed()


def no_items() -> Record:
    """0 run.opened, 1-3 a, 4 expanded, 5 each ended, 6 answer.given, 7 sealed."""
    builder = _with_instances()
    builder.answer("all", json_body([]), builder.end("each"))
    return builder.sealed()


def items_from_text() -> Record:
    """0 run.opened, 1-3 a, 4 expanded, 5-8 each[0], 9 each ended, 10 sealed."""
    foreach = {"from": {"task": "a"}, "as": "item", "max": 1}
    builder = RunBuilder(wave_plan({"a": task(), "each": task(foreach=foreach)}))
    items = Body(b'["one"]')
    builder.complete("a", items)
    builder.deliver("each[0]", "item", json_body("one"), builder.expand("each", items, 1))
    builder.complete("each[0]")
    builder.end("each")
    return builder.sealed()


def _with_instances(*ends: str) -> RunBuilder:
    """A run up to the end of the last instance of `each`.

    `ends` has one item per instance: `passed`, `tolerated`,
    or `not_started` for one that is tolerated without attempts.
    """
    foreach = {"from": {"task": "a", "select": "/l"}, "as": "item", "max": 2}
    plan = wave_plan(
        {"a": task(), "each": task(foreach=foreach, allow_failure=True)},
        outputs={"all": {"each": "each", "item": "/n"}},
    )
    builder = RunBuilder(plan)
    items = [{"i": index} for index in range(len(ends))]
    builder.complete("a", json_body({"l": items}))
    cause = builder.expand("each", json_body(items), len(items))
    for index, item in enumerate(items):
        _add_instance(builder, index, ends[index], json_body(item), cause)
    return builder


def _add_instance(builder: RunBuilder, index: int, end: str, item: Body, cause: int) -> None:
    unit = f"each[{index}]"
    if end == "not_started":
        builder.end(unit, "tolerated", "expects")
        return
    builder.deliver(unit, "item", item, cause)
    builder.start(unit)
    builder.finish(unit, json_body({"n": f"n{index}"}), status="ok" if end == "passed" else "error")
    builder.end(unit, end)
