"""Example ledgers of runs that pass."""

from typing import Any

from fake_ledger.files import Body
from ledgers.example_run import ExampleRun
from ledgers.plans import plan_of

LOG = {"commits": [{"title": "Añade\u2028notas", "id": 7}, {"title": "Fix", "ratio": 0.5}]}
EARLIER = "01936b2e-4d10-7a3c-9f00-000000000001"


def two_waves() -> ExampleRun:
    run = ExampleRun(plan_of("two_waves"))
    run.wave()
    run.start("lint")
    run.start("log")
    run.finish("log", LOG)
    run.end("log")
    run.finish("lint", "")
    run.end("lint")
    run.answer("first")
    run.wave()
    run.pass_task("draft", "Notes: añade")
    run.wave()
    run.pass_task("polish", Body(b"# Notes\n", "text/markdown"))
    for output in ("log", "notes"):
        run.answer(output)
    run.seal()
    return run


def eager_foreach() -> ExampleRun:
    run = ExampleRun(plan_of("eager_foreach"), mode="live")
    found = {"items": [{"n": 1}, "two", 3], "why": None, "empty": []}
    run.pass_task("find", found)
    run.expand("fix")
    run.expand("none")
    run.end("none")
    for number in range(3):
        run.deliver(f"fix[{number}]")
        run.start(f"fix[{number}]")
    run.finish("fix[2]", {"patch": {"line": 3}})
    run.end("fix[2]")
    run.fail("fix[1]", "tool_failure")
    run.start("fix[1]")
    run.fail("fix[1]", "timeout")
    run.end("fix[1]", "tolerated", "error")
    run.finish("fix[0]", {"patch": "one", "score": 1e30})
    run.end("fix[0]")
    run.end("fix")
    run.answer("patches")
    run.answer("none")
    run.pass_task("sum", "all of them")
    run.answer("sum")
    run.seal()
    return run


def matrix_and_used_plan() -> ExampleRun:
    run = ExampleRun(plan_of("matrix_and_used_plan"))
    run.wave()
    run.pass_task("measure[n=1]", {"score": 0.25})
    run.pass_task("measure[n=2]", {"score": -7})
    run.wave()
    run.pass_task("translate[lang=de]", "schön")
    run.pass_task("translate[lang=en]", "fine \U0001f600")
    run.wave()
    run.pass_task("translate[lang=fr]", "beau")
    run.answer("all")
    run.wave()
    run.pass_task("inner/right", [{"right": True}, 2])
    run.pass_task("inner/left", "left")
    run.answer("inner")
    run.wave()
    run.pass_task("join", {"a/b": ["joined"], "c": {}})
    run.answer("joined")
    run.seal()
    return run


def escalated() -> ExampleRun:
    run = ExampleRun(plan_of("escalated"))
    run.wave()
    run.start("draft")
    run.fail("draft", "rate_limited")
    run.start("draft")
    run.finish("draft", {"title": "one"})
    for verdict in ("pass", "pass", "none", "fail"):
        run.check("draft", verdict)
    run.escalate("draft")
    run.start("draft", micro_usd=900)
    run.finish("draft", {"subject": "two"}, micro_usd=600)
    run.check("draft", "fail")
    run.escalate("draft")
    run.start("draft", micro_usd=4000)
    run.fail("draft", "schema_mismatch", micro_usd=3000)
    run.start("draft", micro_usd=4000)
    run.finish("draft", {"title": "three"}, micro_usd=2900)
    for _ in range(3):
        run.check("draft")
    run.end("draft")
    run.wave()
    run.deliver("report")
    run.add("context.cut", {"task": "report", "as": "draft", "bytes": 17, "kept_bytes": 9})
    for error in ("network", "timeout"):
        run.start("report")
        run.fail("report", error)
    run.start("report")
    run.finish("report", "done")
    run.end("report")
    run.answer("report")
    run.seal()
    return run


def gate_approved() -> ExampleRun:
    run = ExampleRun(plan_of("gate_approved"))
    run.gate("archive")
    run.pass_task("draft", "a draft")
    run.deliver("publish")
    run.gate("publish")
    run.pause()
    run.add("x-reminder.sent", {"days": 2})
    run.decide("publish", "approved", reason=Body(b"good"), edited=Body(b"a better draft"))
    run.resume()
    run.start("publish")
    run.finish("publish", "published")
    run.end("publish")
    run.answer("published")
    run.deliver("announce")
    run.gate("announce")
    run.decide("announce", "approved")
    run.start("announce")
    run.wait(3_600_000)
    run.decide("archive", "approved", by="deadline")
    run.start("archive")
    run.finish("archive", "kept")
    run.finish("announce", "told")
    run.end("announce")
    run.end("archive")
    run.seal()
    return run


def crash_and_resume() -> ExampleRun:
    run = ExampleRun(plan_of("crash_and_resume"))
    run.wave()
    run.start("one")
    run.start("two")
    run.finish("two", "second")
    run.ask("two")
    run.repair(ledger=b'{"actor":"runner","at":"2026', bodies=bytes(700))
    run.resume()
    run.lose("one")
    run.lose_check("two")
    run.start("one")
    run.check("two")
    run.finish("one", "first")
    run.end("two")
    run.end("one")
    run.pause("interrupted")
    run.resume()
    run.wave()
    run.deliver("three")
    for _ in range(3):
        run.start("three")
        run.resume()
        run.lose("three")
    run.start("three")
    run.finish("three", "third")
    run.end("three")
    run.answer("three")
    run.seal()
    return run


def routed() -> ExampleRun:
    run = ExampleRun(plan_of("routed"), mode="deterministic")
    run.wave()
    run.route("write", "writer")
    run.start("write")
    run.fail("write", "malformed")
    run.escalate("write")
    run.start("write", micro_usd=800)
    run.finish("write", "written", micro_usd=300)
    run.end("write")
    run.wave()
    run.deliver("edit")
    run.route("edit", "editor", "classifier")
    run.start("edit")
    run.fail("edit", "context_length")
    run.escalate("edit")
    run.start("edit", micro_usd=3000)
    run.finish("edit", ["a", {"b": []}], micro_usd=2500)
    run.end("edit")
    run.wave()
    run.expand("each")
    for number, agent in enumerate(("writer", "editor")):
        run.deliver(f"each[{number}]")
        run.route(f"each[{number}]", agent, "only")
        run.start(f"each[{number}]")
    for number in (1, 0):
        run.finish(f"each[{number}]", f"part {number}")
        run.end(f"each[{number}]")
    run.end("each")
    run.seal()
    return run


def reused_and_skipped() -> ExampleRun:
    opening: dict[str, Any] = {"from": {"run": EARLIER, "head": "ab" * 32}}
    run = ExampleRun(plan_of("reused_and_skipped"), **opening)
    run.wave()
    run.reuse("log", {"bad": False}, source="from", run=EARLIER, seq=4)
    run.end("log")
    run.wave()
    run.deliver("draft")
    run.reuse("draft", "drafted before", source="cache", run=EARLIER, seq=9)
    run.end("draft")
    run.answer("draft")
    run.wave()
    run.end("warn", "skipped", "condition")
    run.wave()
    run.end("send", "skipped", "upstream")
    run.pass_task("close", "closed")
    run.seal()
    return run


def wide() -> ExampleRun:
    run = ExampleRun(plan_of("wide"))
    names = run.plan["waves"]
    tasks = [name for wave in names[:-1] for name in wave]
    for first in range(0, len(tasks), 4):
        batch = tasks[first : first + 4]
        for name in batch:
            run.start(name)
        for name in reversed(batch):
            run.finish(name, len(name) + first)
            run.end(name)
    run.answer("counts")
    run.pass_task("sum", "210")
    run.answer("sum")
    run.seal()
    return run
