"""Valid ledgers of tasks with a `foreach`: how they expand and end."""

from vector_generator.ledgers.story import Story, task, wave_plan
from vector_generator.ledgers.writer import Body, Telling, as_json


def all_passed() -> Telling:
    """0 run.opened, 1-3 a, 4 expanded, 5-8 each[0], 9-12 each[1], 13 each ended, 14 answer.given, 15 sealed."""
    story = _with_instances("passed", "passed")
    story.answer("all", as_json(["n0", "n1"]), story.end("each"))
    return story.seal()


def one_tolerated() -> Telling:
    """As `all_passed`, and each[0] is tolerated."""
    story = _with_instances("tolerated", "passed")
    story.answer("all", as_json(["n1"]), story.end("each"))
    return story.seal()


def all_tolerated() -> Telling:
    """0 run.opened, 1-3 a, 4 expanded, 5-8 each[0], 9-12 each[1], 13 each ended, 14 sealed."""
    story = _with_instances("tolerated", "tolerated")
    story.end("each", "tolerated")
    return story.seal()


def tolerated_before_an_attempt() -> Telling:
    """0 run.opened, 1-3 a, 4 expanded, 5 each[0] ended, 6 each[1] ended, 7 each ended, 8 sealed."""
    story = _with_instances("unbegun", "unbegun")
    story.end("each", "tolerated")
    return story.seal()


def of_nothing() -> Telling:
    """0 run.opened, 1-3 a, 4 expanded, 5 each ended, 6 answer.given, 7 sealed."""
    story = _with_instances()
    story.answer("all", as_json([]), story.end("each"))
    return story.seal()


def from_text() -> Telling:
    """0 run.opened, 1-3 a, 4 expanded, 5-8 each[0], 9 each ended, 10 sealed."""
    foreach = {"from": {"task": "a"}, "as": "item", "max": 1}
    story = Story(wave_plan({"a": task(), "each": task(foreach=foreach)}))
    items = Body(b'["one"]')
    story.run("a", items)
    story.deliver("each[0]", "item", as_json("one"), story.expand("each", items, 1))
    story.run("each[0]")
    story.end("each")
    return story.seal()


def _with_instances(*ends: str) -> Story:
    """Until the last instance of `each` has ended: `passed`, `tolerated`, or tolerated before an attempt: `unbegun`."""
    foreach = {"from": {"task": "a", "select": "/l"}, "as": "item", "max": 2}
    plan = wave_plan(
        {"a": task(), "each": task(foreach=foreach, allow_failure=True)},
        outputs={"all": {"each": "each", "item": "/n"}},
    )
    story = Story(plan)
    items = [{"i": index} for index in range(len(ends))]
    story.run("a", as_json({"l": items}))
    cause = story.expand("each", as_json(items), len(items))
    for index, item in enumerate(items):
        _tell_instance(story, index, ends[index], as_json(item), cause)
    return story


def _tell_instance(story: Story, index: int, end: str, item: Body, cause: int) -> None:
    unit = f"each[{index}]"
    if end == "unbegun":
        story.end(unit, "tolerated", "expects")
        return
    story.deliver(unit, "item", item, cause)
    story.start(unit)
    story.finish(unit, as_json({"n": f"n{index}"}), status="ok" if end == "passed" else "error")
    story.end(unit, end)
