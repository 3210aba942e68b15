"""Example ledgers of which level 4 sees less or nothing: redacted bodies, and ledgers that are of no plan."""

from ledgers.plans import plan_of
from ledgers.raw import Body
from ledgers.story import Story

LARGEST = 2**53 - 1


def redacted() -> Story:
    """Salted bodies, and redactions after the seal: of one that is handed on and answered, and of a plain one."""
    story = Story(plan_of("redacted"))
    story.wave()
    story.do("ask", {"name": "Ada", "age": 36})
    story.wave()
    story.do("use", "used")
    story.wave()
    story.do("tell", "told")
    for output in ("asked", "told", "used"):
        story.answer(output)
    story.seal()
    asked = story.unit("ask").closed
    told = story.unit("tell").started
    assert asked is not None
    assert told is not None
    story.redact(asked, "output", "asked by the person")
    story.seal()
    story.redact(told, "prompt", "not ours")
    story.tell("x-note", {"ticket": "41"})
    story.repair(bodies=b"\1" * 3)
    story.seal()
    return story


def redacted_plan() -> Story:
    story = Story(plan_of("cancelled"))
    story.wave()
    for task in ("one", "two"):
        story.do(task, task)
    story.wave()
    story.do("three", "three")
    story.seal()
    story.redact(0, "wave_plan", "holds a name")
    story.seal()
    return story


def own_entries() -> Story:
    """What other programs may write: every form of value that a line can hold, and bodies of awkward sizes."""
    story = Story(run="01936b2e-4d10-7a3c-8f00-00000000000a")
    nested: list[object] = []
    for _ in range(61):
        nested = [nested]
    data = {
        "": None,
        "\u20ac": [True, False, LARGEST, -LARGEST, 0],
        "\U0001f600": "beyond the basic plane, sorted before \ufb33",
        "\ufb33": '\u2028\u0085\r\n\t\b\f\x01\x7f"\\/',
        "nested": nested,
    }
    story.tell("x-form", data, actor="person:ada")
    sizes = {f"of_{size}": Body(b"\xff" * size, "application/octet-stream") for size in (0, 1, 511, 512, 513, 1024)}
    bodies = story.tell("x-2.bodies_of-sizes", bodies=sizes, causes=(0, 1), actor="agent:a/b")
    story.tell("x-again", bodies={"same": sizes["of_1"], "salted": story.body("", salted=True)})
    story.redact(bodies, "of_513", "no reason")
    story.tell("x-long", {"text": "x" * 65_290})
    story.seal()
    return story


def bare() -> Story:
    story = Story()
    story.seal()
    return story
