"""Plans as text, Mermaid and DOT."""

from typing import Any

from forum_runner.graph import GraphFormat
from unit.runner.graph.plans import render_plan

RELEASE: dict[str, Any] = {
    "metadata": {"name": "release-notes"},
    "tasks": {
        "lint": {"agent": "checker"},
        "log": {"agent": "operator"},
        "draft": {
            "agent": "writer",
            "needs": [{"edge": "order", "task": "lint"}, {"edge": "data", "from": {"task": "log"}, "as": "commits"}],
            "when": [{"from": {"task": "lint"}, "matches": "0" * 64}],
        },
        "sub/translate[lang=de]": {
            "lane": "auto",
            "needs": [{"edge": "data", "from": {"task": "draft"}, "as": "text"}],
            "allow_failure": True,
            "gate": {"question": ["Continue?"], "on_deadline": "reject"},
        },
    },
    "waves": [["lint", "log"], ["draft"], ["sub/translate[lang=de]"]],
}

HOSTILE: dict[str, Any] = {
    "metadata": {"name": 'a"b'},
    "tasks": {
        "__a__": {"agent": '<b> & "c" #d; `e` \\'},
        "b": {
            "agent": "caf\u00e9\x1b[31m",
            "needs": [{"edge": "data", "from": {"task": "__a__"}, "as": 'x"] --> y'}],
        },
    },
    "waves": [["__a__"], ["b"]],
}


def test_text_lists_the_plan_wave_by_wave() -> None:
    assert render_plan(RELEASE, GraphFormat.TEXT) == (
        "release-notes: 4 tasks in 3 waves\n"
        "\n"
        "wave 1\n"
        "  lint                    checker\n"
        "  log                     operator\n"
        "\n"
        "wave 2\n"
        "  draft                   writer     [when] log -> commits; after lint\n"
        "\n"
        "wave 3\n"
        "  sub/translate[lang=de]  lane auto  [gate, allow_failure] draft -> text\n"
    )


def test_text_is_ascii_and_escapes_terminal_codes() -> None:
    assert render_plan(HOSTILE, GraphFormat.TEXT) == (
        'a"b: 2 tasks in 2 waves\n'
        "\n"
        "wave 1\n"
        '  __a__  <b> & "c" #d; `e` \\\\\n'
        "\n"
        "wave 2\n"
        '  b      caf\\xe9\\x1b[31m   __a__ -> x"] --> y\n'
    )


def test_text_wraps_a_long_line_between_needs() -> None:
    upstreams = [f"collect-{number}" for number in range(4)]
    tasks = {task_id: {"agent": "operator"} for task_id in upstreams}
    needs = [{"edge": "order", "task": task_id} for task_id in upstreams]
    plan = {
        "metadata": {"name": "join"},
        "tasks": {**tasks, "join": {"agent": "writer", "needs": needs}},
        "waves": [upstreams, ["join"]],
    }

    assert render_plan(plan, GraphFormat.TEXT).splitlines()[-2:] == [
        "  join       writer    after collect-0; after collect-1; after collect-2;",
        "                       after collect-3",
    ]


def test_text_outdents_a_long_need_instead_of_breaking_ids() -> None:
    long_id = "quarterly/consolidation/translate[lang=de,region=emea]"
    plan = {
        "metadata": {"name": "long"},
        "tasks": {
            long_id: {"agent": "translator"},
            "z": {"agent": "editor", "needs": [{"edge": "order", "task": long_id}]},
        },
        "waves": [[long_id], ["z"]],
    }

    assert render_plan(plan, GraphFormat.TEXT) == (
        "long: 2 tasks in 2 waves\n"
        "\n"
        "wave 1\n"
        f"  {long_id}\n"
        "                                  translator\n"
        "\n"
        "wave 2\n"
        "  z                               editor\n"
        f"                    after {long_id}\n"
    )


def test_mermaid_draws_waves_as_subgraphs_and_order_edges_dotted() -> None:
    assert render_plan(RELEASE, GraphFormat.MERMAID) == (
        "flowchart LR\n"
        '  subgraph w0["wave 1"]\n'
        "    direction LR\n"
        '    n0["lint<br/>checker"]\n'
        '    n1["log<br/>operator"]\n'
        "  end\n"
        '  subgraph w1["wave 2"]\n'
        "    direction LR\n"
        '    n2["draft<br/>writer<br/>when"]\n'
        "  end\n"
        '  subgraph w2["wave 3"]\n'
        "    direction LR\n"
        '    n3["sub/translate#91;lang=de#93;<br/>lane auto<br/>gate, allow_failure"]\n'
        "  end\n"
        "  w0 ~~~ w1\n"
        "  w1 ~~~ w2\n"
        '  n1 -->|"commits"| n2\n'
        "  n0 -.-> n2\n"
        '  n2 -->|"text"| n3\n'
    )


def test_mermaid_escapes_every_special_character() -> None:
    lines = render_plan(HOSTILE, GraphFormat.MERMAID).splitlines()

    assert [line.strip() for line in lines if "n0" in line or "n1" in line] == [
        'n0["#95;#95;a#95;#95;<br/>#60;b#62;#32;#38;#32;#34;c#34;#32;#35;d#59;#32;#96;e#96;#32;#92;"]',
        'n1["b<br/>caf#233;#65533;#91;31m"]',
        'n0 -->|"x#34;#93;#32;#45;#45;#62;#32;y"| n1',
    ]


def test_dot_draws_waves_as_ranks_and_order_edges_dashed() -> None:
    assert render_plan(RELEASE, GraphFormat.DOT) == (
        'digraph "release-notes" {\n'
        "  rankdir=LR;\n"
        '  node [shape=box, style=rounded, fontname="Helvetica"];\n'
        '  edge [fontname="Helvetica", fontsize=10];\n'
        "  {\n"
        "    rank=same;\n"
        '    "wave 1" [shape=plaintext];\n'
        '    "lint" [label="lint\\nchecker"];\n'
        '    "log" [label="log\\noperator"];\n'
        "  }\n"
        "  {\n"
        "    rank=same;\n"
        '    "wave 2" [shape=plaintext];\n'
        '    "draft" [label="draft\\nwriter\\n[when]"];\n'
        "  }\n"
        "  {\n"
        "    rank=same;\n"
        '    "wave 3" [shape=plaintext];\n'
        '    "sub/translate[lang=de]" [label="sub/translate[lang=de]\\nlane auto\\n[gate, allow_failure]"];\n'
        "  }\n"
        '  "wave 1" -> "wave 2" [style=invis];\n'
        '  "wave 2" -> "wave 3" [style=invis];\n'
        '  "log" -> "draft" [label="commits"];\n'
        '  "lint" -> "draft" [style=dashed];\n'
        '  "draft" -> "sub/translate[lang=de]" [label="text"];\n'
        "}\n"
    )


def test_dot_quotes_everything() -> None:
    lines = render_plan(HOSTILE, GraphFormat.DOT).splitlines()

    assert lines[0] == 'digraph "a\\"b" {'
    assert [line.strip() for line in lines if "__a__" in line] == [
        '"__a__" [label="__a__\\n<b> &amp; \\"c\\" #d; `e` \\\\"];',
        '"__a__" -> "b" [label="x\\"] --> y"];',
    ]
