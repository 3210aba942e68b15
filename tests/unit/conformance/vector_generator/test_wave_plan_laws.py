"""Each law of wave plans is broken once, because a check that never fails proves nothing."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from vector_generator.wave_plan_laws import violations, waves_of

FOLDER = Path(__file__).parents[4] / "conformance" / "vectors" / "v1" / "compile" / "serialization"
BUNDLE = {"workflow.yaml": (FOLDER / "bundle" / "workflow.yaml").read_bytes()}
WAVE_PLAN = (FOLDER / "wave-plan.json").read_bytes()

Plan = dict[str, Any]
Break = Callable[[Plan], Any]


def changed(change: Break) -> bytes:
    """Return the wave plan with a change and the matching digest."""
    plan: Plan = json.loads(WAVE_PLAN)
    change(plan)
    rest = {name: value for name, value in plan.items() if name not in ("bundle", "digest")}
    return rfc8785.dumps({**plan, "digest": hashlib.sha256(rfc8785.dumps(rest)).hexdigest()})


def first_breach(data: bytes) -> str:
    return next(violations(data, BUNDLE), "").partition(": ")[0]


def test_a_compiled_wave_plan_breaks_no_law() -> None:
    assert list(violations(WAVE_PLAN, BUNDLE)) == []


def test_a_line_feed_at_the_end_is_a_breach() -> None:
    assert first_breach(WAVE_PLAN + b"\n") == "COMPILE-WRITE-001"


def test_a_wrong_digest_is_a_breach() -> None:
    digest = json.loads(WAVE_PLAN)["digest"].encode()

    assert first_breach(WAVE_PLAN.replace(digest, b"0" * 64)) == "COMPILE-WRITE-002"


BREACHES: dict[str, tuple[str, Break]] = {
    "an extra member": ("wave-plan.schema.json", lambda plan: plan.update(colour="red")),
    "a wrong file size": ("COMPILE-WRITE-002", lambda plan: plan["bundle"][0].update(bytes=1)),
    "a missing file": ("COMPILE-WRITE-002", lambda plan: plan["bundle"][0].update(path="plan.yaml")),
    "a schema with a wrong digest": ("COMPILE-WRITE-003", lambda plan: plan["schemas"].update({"0" * 64: {}})),
    "an unknown task": ("COMPILE-LAYER-003", lambda plan: plan["outputs"].update(notes={"task": "none"})),
    "an unknown agent": ("COMPILE-WRITE-004", lambda plan: plan["agents"].pop("critic")),
    "an unknown adapter": ("COMPILE-WRITE-004", lambda plan: plan["adapters"].pop("unused")),
    "a task in a later wave": ("COMPILE-LAYER-001", lambda plan: plan["waves"].append(plan["waves"].pop(0))),
    "a wave that is too large": (
        "COMPILE-LAYER-001",
        lambda plan: plan["waves"].__setitem__(slice(0, 2), [["list", "other", "route"]]),
    ),
    "edges in the wrong order": ("COMPILE-WRITE-006", lambda plan: plan["tasks"]["draft"]["needs"].reverse()),
    "checks in the wrong order": ("COMPILE-WRITE-006", lambda plan: plan["tasks"]["draft"]["accept"].reverse()),
    "an empty part of a text": ("COMPILE-WRITE-005", lambda plan: plan["tasks"]["route"].update(instruction=[""])),
    "two adjacent strings": (
        "COMPILE-WRITE-005",
        lambda plan: plan["tasks"]["route"].update(instruction=["Ro", "ute."]),
    ),
    "an allow-list in the wrong order": ("COMPILE-WRITE-006", lambda plan: plan["policy"]["allow"]["env"].reverse()),
    "keywords in the wrong order": ("COMPILE-WRITE-006", lambda plan: plan["agents"]["writer"]["keywords"].reverse()),
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_wave_plan_that_breaks_a_law_is_detected(name: str) -> None:
    law, change = BREACHES[name]

    assert first_breach(changed(change)) == law


def test_tasks_that_need_each_other_have_no_waves() -> None:
    tasks = {name: {"needs": [{"edge": "order", "task": other}]} for name, other in (("a", "b"), ("b", "a"))}

    assert waves_of({"tasks": tasks, "policy": {"max_parallel": 4}}) == []
