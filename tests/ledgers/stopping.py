"""Example ledgers of runs that ended otherwise: failed, stopped, refused, cancelled."""

from ledgers.plans import plan_of
from ledgers.story import Story


def gate_refused() -> Story:
    story = Story(plan_of("gate_refused"))
    story.wave()
    story.gate("publish")
    story.gate("announce")
    story.decide("publish", "rejected", reason=story.body("not yet"))
    story.end("publish", "refused", "rejected")
    story.wait(7_200_000)
    story.decide("announce", "rejected", by="deadline")
    story.end("announce", "refused", "deadline")
    story.wave()
    story.do("thank", "thanks")
    story.end("count", "skipped", "upstream")
    story.seal("refused")
    return story


def budget_stop() -> Story:
    """Of the run 3,000 tokens, of the writer 2,200, of the first task 1,300; a call reserves 600 of them."""
    story = Story(plan_of("budget_stop"))
    story.wave()
    story.start("draft")
    story.fail("draft", "network")
    story.escalate("draft")
    story.start("draft", micro_usd=4000)
    story.finish("draft", "a long draft", input_tokens=300, output_tokens=210, micro_usd=4200)
    story.tell(
        "budget.exceeded",
        {"task": "draft", "attempt": 2, "amount": "micro_usd", "reserved": 4000, "used": 4200},
        causes=(story.unit("draft").closed,),
    )
    story.end("draft")
    story.answer("draft")
    story.wave()
    story.deliver("judged")
    story.start("judged")
    story.finish("judged", "judged")
    story.ask("judged", input_tokens=0, output_tokens=0)
    story.judge("judged", input_tokens=0, output_tokens=0, cached_input_tokens=0)
    story.check("judged")
    story.end("judged")
    story.wave()
    story.deliver("last")
    stop = {"amount": "tokens", "needed": 1400}
    story.tell("budget.stopped", {"scope": "agent", "name": "writer", "limit": 2200, "used": 830, **stop})
    story.tell("budget.stopped", {"scope": "run", "limit": 3000, "used": 990, **stop})
    story.end("last", "stopped", "budget")
    story.seal("stopped")
    return story


def failed_and_tolerated() -> Story:
    story = Story(plan_of("failed_and_tolerated"))
    story.start("risky")
    story.start("wrong")
    story.fail("risky", "exit_status")
    story.end("risky", "tolerated", "error")
    story.finish("wrong", "short")
    story.check("wrong", "fail")
    story.end("wrong", "failed", "verdict")
    for task in ("lost", "wrong_list", "none"):
        story.end(task, "skipped", "upstream")
    story.do("list", ["good", "bad"])
    story.expand("some")
    for number in range(2):
        story.deliver(f"some[{number}]")
        story.start(f"some[{number}]")
    story.finish("some[0]", "good")
    story.fail("some[1]", "content_filter")
    story.end("some[1]", "failed", "error")
    story.end("some[0]")
    story.end("some", "failed", "failure")
    story.do("after", "afterwards")
    story.answer("after")
    story.seal("failed")
    return story


def cancelled() -> Story:
    story = Story(plan_of("cancelled"))
    story.wave()
    story.start("one")
    story.start("two")
    story.finish("one", "first")
    story.cancel("two")
    story.end("one")
    story.end("two", "cancelled", "interrupted")
    story.end("three", "cancelled", "interrupted")
    story.seal("cancelled")
    return story
