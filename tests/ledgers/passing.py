"""Example ledgers of runs in which all went well in the end."""

from typing import Any

from ledgers.plans import plan_of
from ledgers.raw import Body
from ledgers.story import Story

LOG = {"commits": [{"title": "Añade\u2028notas", "id": 7}, {"title": "Fix", "ratio": 0.5}]}
EARLIER = "01936b2e-4d10-7a3c-9f00-000000000001"


def two_waves() -> Story:
    story = Story(plan_of("two_waves"))
    story.wave()
    story.start("lint")
    story.start("log")
    story.finish("log", LOG)
    story.end("log")
    story.finish("lint", "")
    story.end("lint")
    story.answer("first")
    story.wave()
    story.do("draft", "Notes: añade")
    story.wave()
    story.do("polish", Body(b"# Notes\n", "text/markdown"))
    for output in ("log", "notes"):
        story.answer(output)
    story.seal()
    return story


def eager_foreach() -> Story:
    story = Story(plan_of("eager_foreach"), mode="live")
    found = {"items": [{"n": 1}, "two", 3], "why": None, "empty": []}
    story.do("find", found)
    story.expand("fix")
    story.expand("none")
    story.end("none")
    for number in range(3):
        story.deliver(f"fix[{number}]")
        story.start(f"fix[{number}]")
    story.finish("fix[2]", {"patch": {"line": 3}})
    story.end("fix[2]")
    story.fail("fix[1]", "tool_failure")
    story.start("fix[1]")
    story.fail("fix[1]", "timeout")
    story.end("fix[1]", "tolerated", "error")
    story.finish("fix[0]", {"patch": "one", "score": 1e30})
    story.end("fix[0]")
    story.end("fix")
    story.answer("patches")
    story.answer("none")
    story.do("sum", "all of them")
    story.answer("sum")
    story.seal()
    return story


def matrix_and_used_plan() -> Story:
    story = Story(plan_of("matrix_and_used_plan"))
    story.wave()
    story.do("measure[n=1]", {"score": 0.25})
    story.do("measure[n=2]", {"score": -7})
    story.wave()
    story.do("translate[lang=de]", "schön")
    story.do("translate[lang=en]", "fine \U0001f600")
    story.wave()
    story.do("translate[lang=fr]", "beau")
    story.answer("all")
    story.wave()
    story.do("inner/right", [{"right": True}, 2])
    story.do("inner/left", "left")
    story.answer("inner")
    story.wave()
    story.do("join", {"a/b": ["joined"], "c": {}})
    story.answer("joined")
    story.seal()
    return story


def climbing() -> Story:
    story = Story(plan_of("climbing"))
    story.wave()
    story.start("draft")
    story.fail("draft", "rate_limited")
    story.start("draft")
    story.finish("draft", {"title": "one"})
    for verdict in ("pass", "pass", "none", "fail"):
        story.check("draft", verdict)
    story.escalate("draft")
    story.start("draft", micro_usd=900)
    story.finish("draft", {"subject": "two"}, micro_usd=600)
    story.check("draft", "fail")
    story.escalate("draft")
    story.start("draft", micro_usd=4000)
    story.fail("draft", "schema_mismatch", micro_usd=3000)
    story.start("draft", micro_usd=4000)
    story.finish("draft", {"title": "three"}, micro_usd=2900)
    for _ in range(3):
        story.check("draft")
    story.end("draft")
    story.wave()
    story.deliver("report")
    story.tell("context.cut", {"task": "report", "as": "draft", "bytes": 17, "kept_bytes": 9})
    for error in ("network", "timeout"):
        story.start("report")
        story.fail("report", error)
    story.start("report")
    story.finish("report", "done")
    story.end("report")
    story.answer("report")
    story.seal()
    return story


def gate_approved() -> Story:
    story = Story(plan_of("gate_approved"))
    story.gate("archive")
    story.do("draft", "a draft")
    story.deliver("publish")
    story.gate("publish")
    story.pause()
    story.tell("x-reminder.sent", {"days": 2})
    story.decide("publish", "approved", reason=Body(b"good"), edited=Body(b"a better draft"))
    story.resume()
    story.start("publish")
    story.finish("publish", "published")
    story.end("publish")
    story.answer("published")
    story.deliver("announce")
    story.gate("announce")
    story.decide("announce", "approved")
    story.start("announce")
    story.wait(3_600_000)
    story.decide("archive", "approved", by="deadline")
    story.start("archive")
    story.finish("archive", "kept")
    story.finish("announce", "told")
    story.end("announce")
    story.end("archive")
    story.seal()
    return story


def crash_and_resume() -> Story:
    story = Story(plan_of("crash_and_resume"))
    story.wave()
    story.start("one")
    story.start("two")
    story.finish("two", "second")
    story.ask("two")
    story.repair(ledger=b'{"actor":"runner","at":"2026', bodies=bytes(700))
    story.resume()
    story.lose("one")
    story.lose_check("two")
    story.start("one")
    story.check("two")
    story.finish("one", "first")
    story.end("two")
    story.end("one")
    story.pause("interrupted")
    story.resume()
    story.wave()
    story.deliver("three")
    for _ in range(3):
        story.start("three")
        story.resume()
        story.lose("three")
    story.start("three")
    story.finish("three", "third")
    story.end("three")
    story.answer("three")
    story.seal()
    return story


def routed() -> Story:
    story = Story(plan_of("routed"), mode="deterministic")
    story.wave()
    story.route("write", "writer")
    story.start("write")
    story.fail("write", "malformed")
    story.escalate("write")
    story.start("write", micro_usd=800)
    story.finish("write", "written", micro_usd=300)
    story.end("write")
    story.wave()
    story.deliver("edit")
    story.route("edit", "editor", "classifier")
    story.start("edit")
    story.fail("edit", "context_length")
    story.escalate("edit")
    story.start("edit", micro_usd=3000)
    story.finish("edit", ["a", {"b": []}], micro_usd=2500)
    story.end("edit")
    story.wave()
    story.expand("each")
    for number, agent in enumerate(("writer", "editor")):
        story.deliver(f"each[{number}]")
        story.route(f"each[{number}]", agent, "only")
        story.start(f"each[{number}]")
    for number in (1, 0):
        story.finish(f"each[{number}]", f"part {number}")
        story.end(f"each[{number}]")
    story.end("each")
    story.seal()
    return story


def reused_and_skipped() -> Story:
    opening: dict[str, Any] = {"from": {"run": EARLIER, "head": "ab" * 32}}
    story = Story(plan_of("reused_and_skipped"), **opening)
    story.wave()
    story.reuse("log", {"bad": False}, source="from", run=EARLIER, seq=4)
    story.end("log")
    story.wave()
    story.deliver("draft")
    story.reuse("draft", "drafted before", source="cache", run=EARLIER, seq=9)
    story.end("draft")
    story.answer("draft")
    story.wave()
    story.end("warn", "skipped", "condition")
    story.wave()
    story.end("send", "skipped", "upstream")
    story.do("close", "closed")
    story.seal()
    return story


def wide() -> Story:
    story = Story(plan_of("wide"))
    names = story.plan["waves"]
    tasks = [name for wave in names[:-1] for name in wave]
    for first in range(0, len(tasks), 4):
        batch = tasks[first : first + 4]
        for name in batch:
            story.start(name)
        for name in reversed(batch):
            story.finish(name, len(name) + first)
            story.end(name)
    story.answer("counts")
    story.do("sum", "210")
    story.answer("sum")
    story.seal()
    return story
