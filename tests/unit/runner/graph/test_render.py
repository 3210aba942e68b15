"""Properties of every graph format for random plans."""

import random
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forum_runner.graph import GraphFormat
from unit.runner.graph.plans import GATE, complete_plan, condition, render_plan

without_deadline = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)


@st.composite
def wave_plans(draw: st.DrawFn) -> dict[str, Any]:
    waves = draw(st.lists(st.lists(ANY_TEXT, min_size=1, max_size=3), min_size=1, max_size=4))
    tasks: dict[str, Any] = {}
    wave_ids: list[list[str]] = []
    for index, wave in enumerate(waves):
        earlier = sorted(tasks)
        ids = [f"{index}.{place}{text}" for place, text in enumerate(wave)]
        wave_ids.append(ids)
        tasks.update({task_id: draw(task(earlier)) for task_id in ids})
    return {"metadata": {"name": draw(ANY_TEXT), "description": draw(ANY_TEXT)}, "tasks": tasks, "waves": wave_ids}


def task(earlier: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    marks = {"gate": st.just(GATE), "when": st.just([condition("a")]), "allow_failure": st.just(True)}
    if not earlier:
        return st.fixed_dictionaries({"agent": ANY_TEXT}, optional=marks)
    source = st.sampled_from(earlier)
    value = st.one_of(
        source.map(lambda task_id: {"task": task_id}),
        source.map(lambda task_id: {"each": task_id}),
        st.lists(source, max_size=3).map(lambda ids: {"list": [{"task": task_id} for task_id in ids]}),
        st.lists(source, max_size=3).map(lambda ids: {"object": {task_id: {"task": task_id} for task_id in ids}}),
    )
    order = source.map(lambda task_id: {"edge": "order", "task": task_id})
    data = st.builds(lambda origin, name: {"edge": "data", "from": origin, "as": name}, value, ANY_TEXT)
    foreach = st.builds(lambda origin, name: {"from": origin, "as": name, "max": 9}, value, ANY_TEXT)
    needs = st.lists(st.one_of(order, data), max_size=3)
    return st.fixed_dictionaries({"agent": ANY_TEXT, "needs": needs}, optional={**marks, "foreach": foreach})


def shuffle_keys(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        keys = rng.sample(list(value), len(value))
        return {key: shuffle_keys(value[key], rng) for key in keys}
    return [shuffle_keys(part, rng) for part in value] if isinstance(value, list) else value


def render_in_every_format(plan: dict[str, Any]) -> dict[GraphFormat, str]:
    return {graph_format: render_plan(plan, graph_format) for graph_format in GraphFormat}


@without_deadline
@given(wave_plans())
def test_the_svg_of_any_plan_is_well_formed_xml(plan: dict[str, Any]) -> None:
    svg = render_plan(plan, GraphFormat.SVG)

    ET.fromstring(svg.encode())  # noqa: S314 - our own output


@without_deadline
@given(wave_plans())
def test_the_text_of_any_plan_is_printable_ascii(plan: dict[str, Any]) -> None:
    lines = render_plan(plan, GraphFormat.TEXT).split("\n")

    assert all(line.isascii() and line.isprintable() for line in lines)


@without_deadline
@given(wave_plans(), st.randoms())
def test_the_order_of_keys_does_not_change_the_output(plan: dict[str, Any], rng: random.Random) -> None:
    assert render_in_every_format(shuffle_keys(plan, rng)) == render_in_every_format(plan)


@without_deadline
@given(wave_plans())
def test_every_format_can_be_encoded_and_ends_with_a_newline(plan: dict[str, Any]) -> None:
    assert all(drawing.encode().endswith(b"\n") for drawing in render_in_every_format(plan).values())


def test_rendering_text_does_not_import_the_svg_modules() -> None:
    plan = complete_plan({"metadata": {"name": "n"}, "tasks": {"a": {}}, "waves": [["a"]]})
    program = (
        "import sys; from forum_runner.graph import GraphFormat, render\n"
        "from forum_runner.wave_plan.wave_plan_reader import read_wave_plan\n"
        f"render(read_wave_plan({plan!r}), GraphFormat.TEXT)\n"
        "print(sorted(name for name in sys.modules if name.startswith('forum_runner.graph.')))"
    )

    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert completed.stdout == "['forum_runner.graph.ascii', 'forum_runner.graph.plan_graph']\n"
