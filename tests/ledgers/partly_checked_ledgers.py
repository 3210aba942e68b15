"""Example ledgers that level 4 can check only in part or not at all: redacted bodies, ledgers without a plan."""

from fake_ledger.files import Body
from ledgers.example_run import ExampleRun
from ledgers.plans import plan_of

LARGEST_INTEGER = 2**53 - 1


def redacted() -> ExampleRun:
    """Two redactions after the seal: a salted body that is also delivered and given as an answer, and a plain body."""
    run = ExampleRun(plan_of("redacted"))
    run.wave()
    run.pass_task("ask", {"name": "Ada", "age": 36})
    run.wave()
    run.pass_task("use", "used")
    run.wave()
    run.pass_task("tell", "told")
    for output in ("asked", "told", "used"):
        run.answer(output)
    run.seal()
    ask_seq = run.unit("ask").closed_seq
    tell_seq = run.unit("tell").started_seq
    assert ask_seq is not None
    assert tell_seq is not None
    run.redact_body(ask_seq, "output", "asked by the person")
    run.seal()
    run.redact_body(tell_seq, "prompt", "not ours")
    run.add("x-note", {"ticket": "41"})
    run.repair(bodies=b"\1" * 3)
    run.seal()
    return run


def redacted_plan() -> ExampleRun:
    run = ExampleRun(plan_of("cancelled"))
    run.wave()
    for task in ("one", "two"):
        run.pass_task(task, task)
    run.wave()
    run.pass_task("three", "three")
    run.seal()
    run.redact_body(0, "wave_plan", "holds a name")
    run.seal()
    return run


def user_kinds() -> ExampleRun:
    """Entries of `x-` kinds with every form of value that a line can contain, and with bodies of awkward sizes."""
    run = ExampleRun(run_id="01936b2e-4d10-7a3c-8f00-00000000000a")
    nested: list[object] = []
    for _ in range(61):
        nested = [nested]
    data = {
        "": None,
        "\u20ac": [True, False, LARGEST_INTEGER, -LARGEST_INTEGER, 0],
        "\U0001f600": "beyond the basic plane, sorted before \ufb33",
        "\ufb33": '\u2028\u0085\r\n\t\b\f\x01\x7f"\\/',
        "nested": nested,
    }
    run.add("x-form", data, actor="person:ada")
    sizes = {f"of_{size}": Body(b"\xff" * size, "application/octet-stream") for size in (0, 1, 511, 512, 513, 1024)}
    with_sizes = run.add("x-2.bodies_of-sizes", bodies=sizes, causes=(0, 1), actor="agent:a/b")
    run.add("x-again", bodies={"same": sizes["of_1"], "salted": run.body("", is_salted=True)})
    run.redact_body(with_sizes, "of_513", "no reason")
    run.add("x-long", {"text": "x" * 65_290})
    run.seal()
    return run


def no_plan() -> ExampleRun:
    run = ExampleRun()
    run.seal()
    return run
