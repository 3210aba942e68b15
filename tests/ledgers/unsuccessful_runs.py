"""Example ledgers of runs that do not pass: failed, stopped, refused and cancelled."""

from ledgers.example_run import ExampleRun
from ledgers.plans import plan_of


def gate_refused() -> ExampleRun:
    run = ExampleRun(plan_of("gate_refused"))
    run.wave()
    run.gate("publish")
    run.gate("announce")
    run.decide("publish", "rejected", reason=run.body("not yet"))
    run.end("publish", "refused", "rejected")
    run.wait(7_200_000)
    run.decide("announce", "rejected", by="deadline")
    run.end("announce", "refused", "deadline")
    run.wave()
    run.pass_task("thank", "thanks")
    run.end("count", "skipped", "upstream")
    run.seal("refused")
    return run


def budget_stop() -> ExampleRun:
    """The token budgets: 3,000 for the run, 2,200 for the writer, 1,300 for the first task. A call reserves 600."""
    run = ExampleRun(plan_of("budget_stop"))
    run.wave()
    run.start("draft")
    run.fail("draft", "network")
    run.escalate("draft")
    run.start("draft", micro_usd=4000)
    run.finish("draft", "a long draft", input_tokens=300, output_tokens=210, micro_usd=4200)
    run.add(
        "budget.exceeded",
        {"task": "draft", "attempt": 2, "amount": "micro_usd", "reserved": 4000, "used": 4200},
        causes=(run.unit("draft").closed_seq,),
    )
    run.end("draft")
    run.answer("draft")
    run.wave()
    run.deliver("judged")
    run.start("judged")
    run.finish("judged", "judged")
    run.ask("judged", input_tokens=0, output_tokens=0)
    run.judge("judged", input_tokens=0, output_tokens=0, cached_input_tokens=0)
    run.check("judged")
    run.end("judged")
    run.wave()
    run.deliver("last")
    stop = {"amount": "tokens", "needed": 1400}
    run.add("budget.stopped", {"scope": "agent", "name": "writer", "limit": 2200, "used": 830, **stop})
    run.add("budget.stopped", {"scope": "run", "limit": 3000, "used": 990, **stop})
    run.end("last", "stopped", "budget")
    run.seal("stopped")
    return run


def failed_and_tolerated() -> ExampleRun:
    run = ExampleRun(plan_of("failed_and_tolerated"))
    run.start("risky")
    run.start("wrong")
    run.fail("risky", "exit_status")
    run.end("risky", "tolerated", "error")
    run.finish("wrong", "short")
    run.check("wrong", "fail")
    run.end("wrong", "failed", "verdict")
    for task in ("lost", "wrong_list", "none"):
        run.end(task, "skipped", "upstream")
    run.pass_task("list", ["good", "bad"])
    run.expand("some")
    for number in range(2):
        run.deliver(f"some[{number}]")
        run.start(f"some[{number}]")
    run.finish("some[0]", "good")
    run.fail("some[1]", "content_filter")
    run.end("some[1]", "failed", "error")
    run.end("some[0]")
    run.end("some", "failed", "failure")
    run.pass_task("after", "afterwards")
    run.answer("after")
    run.seal("failed")
    return run


def cancelled() -> ExampleRun:
    run = ExampleRun(plan_of("cancelled"))
    run.wave()
    run.start("one")
    run.start("two")
    run.finish("one", "first")
    run.cancel("two")
    run.end("one")
    run.end("two", "cancelled", "interrupted")
    run.end("three", "cancelled", "interrupted")
    run.seal("cancelled")
    return run
