"""Plans as SVG."""

import xml.etree.ElementTree as ET
from typing import Any

from forum_runner.graph import GraphFormat
from unit.runner.graph.plans import GATE, render_plan

SVG = "{http://www.w3.org/2000/svg}"

PLAN: dict[str, Any] = {
    "metadata": {"name": 'notes <&"', "description": "Writes <b>notes</b>."},
    "tasks": {
        "lint": {"agent": 'check<&">er'},
        "log": {"agent": "operator"},
        "draft": {
            "agent": "writer",
            "needs": [{"edge": "order", "task": "lint"}, {"edge": "data", "from": {"task": "log"}, "as": 'c<&"'}],
        },
        "publish": {
            "lane": "auto",
            "gate": {"question": ["Publish?"], "on_deadline": "reject"},
            "needs": [
                {"edge": "order", "task": "lint"},
                {"edge": "data", "from": {"list": [{"task": "draft"}, {"task": "log"}]}, "as": "parts"},
            ],
        },
    },
    "waves": [["lint", "log"], ["draft"], ["publish"]],
}


def svg_of(plan: dict[str, Any]) -> ET.Element:
    return ET.fromstring(render_plan(plan, GraphFormat.SVG))  # noqa: S314 - our own output


def by_class(root: ET.Element, name: str) -> list[ET.Element]:
    return [element for element in root.iter() if name in element.get("class", "").split()]


def texts(root: ET.Element, name: str) -> list[str | None]:
    return [element.text for element in by_class(root, name)]


def title(element: ET.Element) -> str | None:
    return element.findtext(f"{SVG}title")


def one_task(task_id: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "one"}, "tasks": {task_id: fields}, "waves": [[task_id]]}


def test_each_task_is_one_box_with_its_id_and_its_agent_or_lane() -> None:
    root = svg_of(PLAN)

    assert [title(group) for group in by_class(root, "task")] == ["lint", "log", "draft", "publish"]
    assert len(by_class(root, "box")) == 4
    assert texts(root, "id") == ["lint", "log", "draft", "publish"]
    assert texts(root, "performer") == ['check<&">er', "operator", "writer", "lane auto"]


def test_each_edge_is_one_path_and_order_edges_are_dashed() -> None:
    paths = list(svg_of(PLAN).iter(f"{SVG}path"))

    assert sorted((title(path) or "", path.get("class") or "") for path in paths) == [
        ("draft \u2192 publish: parts", "edge data"),
        ("lint \u2192 draft: order", "edge order"),
        ("lint \u2192 publish: order", "edge order"),
        ('log \u2192 draft: c<&"', "edge data"),
        ("log \u2192 publish: parts", "edge data"),
    ]
    assert ".forum-graph .order{stroke-dasharray:" in (svg_of(PLAN).findtext(f"{SVG}style") or "")


def test_data_delivered_under_one_name_has_one_label_and_one_arrowhead() -> None:
    root = svg_of(PLAN)
    arrowheads_in_legend = 2

    assert sorted(texts(root, "label"), key=str) == ['c<&"', "parts"]
    assert len(by_class(root, "tip")) - arrowheads_in_legend == 4


def test_each_wave_has_a_heading() -> None:
    assert texts(svg_of(PLAN), "wave") == ["wave 1", "wave 2", "wave 3"]


def test_the_svg_has_a_title_and_a_description() -> None:
    root = svg_of(PLAN)

    assert root.get("role") == "img"
    assert title(root) == 'notes <&"'
    assert root.findtext(f"{SVG}desc") == "Writes <b>notes</b>. 4 tasks in 3 waves; edges: 3 data and 2 order."


def test_the_legend_shows_both_kinds_of_edges() -> None:
    legend = by_class(svg_of(PLAN), "legend")

    assert [(item[0].get("class"), item[2].text) for item in legend] == [("edge data", "data"), ("edge order", "order")]


def test_marks_are_shown_in_the_box() -> None:
    root = svg_of(one_task("a", gate=GATE, allow_failure=True))

    assert [mark.findtext(f"{SVG}text") for mark in by_class(root, "mark")] == ["gate", "allow_failure"]


def test_a_long_id_is_shortened_in_the_box_and_complete_in_the_title() -> None:
    task_id = "quarterly/consolidation/translate[lang=de]"
    root = svg_of(one_task(task_id))

    assert texts(root, "id") == ["quarterly/con\u2026late[lang=de]"]
    assert title(by_class(root, "task")[0]) == task_id


def test_the_svg_supports_dark_mode() -> None:
    style = svg_of(PLAN).findtext(f"{SVG}style") or ""

    assert "@media (prefers-color-scheme:dark){" in style


def test_the_svg_has_no_external_references() -> None:
    drawing = render_plan(PLAN, GraphFormat.SVG)

    assert drawing.count("http") == drawing.count('xmlns="http://www.w3.org/2000/svg"') == 1
    assert "url(" not in drawing
