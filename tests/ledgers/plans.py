"""The workflows of the example ledgers, and their compiled wave plans."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from bundles import compile_files, plan_manifest, workflow

PRICES = {"input": "3", "output": "15"}
ROSTER = {
    "adapters": {
        "shell": {"type": "command"},
        "small": {"type": "scripted"},
        "middle": {"type": "scripted", "prices": {"input": "1", "output": "4"}},
        "large": {"type": "scripted", "prices": PRICES},
    },
    "agents": {
        "operator": {"adapter": "shell"},
        "writer": {
            "domain": "writing",
            "keywords": ["write"],
            "adapters": {"cheap": "small", "capable": "middle", "frontier": "large"},
        },
        "editor": {"domain": "editing", "keywords": ["edit"], "adapters": {"cheap": "small", "frontier": "large"}},
        "critic": {"adapter": "small", "limits": {"calls": 4}},
    },
}
POLICY = {"allow": {"commands": ["git", "true"]}, "retry": {"attempts": 2}, "max_parallel": 2}

WORK = {"agent": "writer", "instruction": "write"}
RUN_GIT = {"agent": "operator", "run": ["git", "log"]}
OBJECT = {"type": "object"}
LIST = {"type": "array"}

PLANS: dict[str, dict[str, Any]] = {
    "two_waves": {
        "tasks": {
            "log": {**RUN_GIT, "output": {"type": "object"}},
            "lint": RUN_GIT,
            "draft": {**WORK, "needs": [{"task": "log", "select": "/commits/0/title", "as": "title"}, "log"]},
            "polish": {**WORK, "needs": ["draft", {"task": "lint", "edge": "order"}]},
        },
        "outputs": {"notes": "polish", "first": {"task": "log", "select": "/commits/0"}, "log": "log"},
    },
    "eager_foreach": {
        "tasks": {
            "find": {**RUN_GIT, "output": OBJECT},
            "fix": {
                **WORK,
                "foreach": {"task": "find", "select": "/items", "as": "item", "max": 5},
                "needs": [{"task": "find", "select": "/why", "as": "why"}],
                "output": OBJECT,
                "allow_failure": True,
            },
            "none": {**WORK, "foreach": {"task": "find", "select": "/empty", "as": "item", "max": 5}},
            "sum": {**WORK, "needs": [{"task": "fix", "select": "/patch", "as": "patches"}, "none", "fix"]},
        },
        "outputs": {"sum": "sum", "patches": {"task": "fix", "select": "/patch"}, "none": "none"},
    },
    "matrix_and_used_plan": {
        "tasks": {
            "translate": {**WORK, "matrix": {"lang": ["de", "en", "fr"]}, "instruction": "write ${{ matrix.lang }}"},
            "measure": {**RUN_GIT, "matrix": {"n": [1, 2]}, "output": OBJECT},
            "inner": {"uses": "./inner.yaml", "needs": [{"task": "translate", "edge": "order"}]},
            "join": {
                **WORK,
                "needs": [
                    "translate",
                    {"task": "measure", "select": "/score", "as": "scores"},
                    {"task": "translate", "matrix": {"lang": "en"}, "as": "english"},
                    {"task": "inner", "as": "both"},
                ],
                "output": OBJECT,
            },
        },
        "outputs": {"joined": {"task": "join", "select": "/a~1b"}, "all": "translate", "inner": "inner"},
    },
    "escalated": {
        "tasks": {
            "draft": {
                **WORK,
                "output": OBJECT,
                "accept": [{"schema": {"required": ["title"]}}, {"command": ["true"]}, {"agent": "critic"}],
                "escalate": ["capable", "frontier"],
            },
            "report": {**WORK, "needs": ["draft"], "retry": {"attempts": 3}},
        },
        "outputs": {"report": "report"},
    },
    "gate_approved": {
        "tasks": {
            "draft": WORK,
            "publish": {**RUN_GIT, "needs": ["draft"], "gate": {"question": "Publish?"}},
            "announce": {**WORK, "needs": ["publish"], "gate": {"question": "Tell?", "deadline": "1h"}},
            "archive": {**RUN_GIT, "gate": {"question": "Keep?", "deadline": "1h", "on_deadline": "approve"}},
        },
        "outputs": {"published": "publish"},
    },
    "gate_refused": {
        "tasks": {
            "publish": {**RUN_GIT, "gate": {"question": "Publish?"}},
            "announce": {**WORK, "gate": {"question": "Tell?", "deadline": "1h", "on_deadline": "reject"}},
            "thank": {**WORK, "needs": [{"task": "publish", "edge": "order"}]},
            "count": {**WORK, "needs": ["publish"]},
        },
    },
    "budget_stop": {
        "tasks": {
            "draft": {**WORK, "budget": {"calls": 2, "tokens": 1300}, "escalate": ["frontier"]},
            "judged": {**WORK, "needs": ["draft"], "accept": [{"agent": "critic"}, {"command": ["true"]}]},
            "last": {**WORK, "needs": ["judged"]},
        },
        "outputs": {"draft": "draft"},
    },
    "crash_and_resume": {
        "tasks": {
            "one": {**WORK, "idempotent": True},
            "two": {**WORK, "accept": [{"agent": "critic"}], "idempotent": True},
            "three": {**WORK, "needs": ["one", "two"]},
        },
        "outputs": {"three": "three"},
    },
    "routed": {
        "tasks": {
            "write": {"lane": "auto", "instruction": "write", "escalate": ["capable", "frontier"]},
            "edit": {
                "lane": "auto",
                "instruction": "edit",
                "needs": ["write"],
                "escalate": ["capable", "frontier"],
                "output": LIST,
            },
            "each": {
                "lane": "auto",
                "instruction": "write",
                "foreach": {"task": "edit", "as": "item", "max": 3},
            },
        },
    },
    "reused_and_skipped": {
        "tasks": {
            "log": {**RUN_GIT, "output": OBJECT, "cache": True},
            "draft": {**WORK, "needs": ["log"], "cache": True, "accept": [{"schema": True}]},
            "warn": {**WORK, "needs": ["draft"], "when": {"task": "log", "select": "/bad", "output": {"const": True}}},
            "send": {**WORK, "needs": ["warn"]},
            "close": {**RUN_GIT, "needs": [{"task": "warn", "edge": "order"}]},
        },
        "outputs": {"draft": "draft"},
    },
    "failed_and_tolerated": {
        "tasks": {
            "risky": {**WORK, "allow_failure": True, "retry": {"attempts": 1}},
            "after": {**WORK, "needs": [{"task": "risky", "edge": "order"}]},
            "wrong": {**WORK, "accept": [{"schema": {"minLength": 9}}], "retry": {"attempts": 1}},
            "lost": {**WORK, "needs": ["wrong"]},
            "list": {**RUN_GIT, "output": LIST},
            "some": {**WORK, "foreach": {"task": "list", "as": "item", "max": 2}, "retry": {"attempts": 1}},
            "wrong_list": {**RUN_GIT, "needs": ["wrong"], "output": LIST},
            "none": {**WORK, "foreach": {"task": "wrong_list", "as": "item", "max": 2}},
        },
        "outputs": {"after": "after"},
    },
    "redacted": {
        "tasks": {
            "ask": {**WORK, "sensitive": True, "output": OBJECT},
            "use": {**WORK, "sensitive": True, "needs": ["ask", {"task": "ask", "select": "/name", "as": "name"}]},
            "tell": {**WORK, "needs": ["ask", "use"]},
        },
        "outputs": {"told": "tell", "asked": "ask", "used": "use"},
    },
    "wide": {
        "tasks": {
            "count": {**RUN_GIT, "matrix": {"n": [*range(1, 21)]}, "output": {"type": "integer"}},
            "sum": {**WORK, "needs": ["count"]},
        },
        "outputs": {"sum": "sum", "counts": "count"},
    },
    "cancelled": {
        "tasks": {"one": WORK, "two": WORK, "three": {**WORK, "needs": ["one", "two"]}},
    },
}
POLICIES: dict[str, dict[str, Any]] = {
    "eager_foreach": {"dispatch": "eager", "max_parallel": 3},
    "gate_approved": {"dispatch": "eager"},
    "budget_stop": {
        "budget": {"calls": 6, "tokens": 3000, "usd": "0.01", "output_bytes": 11000},
        "allow": {"commands": ["true"]},
    },
    "reused_and_skipped": {"on_failure": "skip-dependents"},
    "failed_and_tolerated": {"on_failure": "skip-dependents", "dispatch": "eager"},
    "wide": {"dispatch": "eager", "max_parallel": 4},
}
ROSTERS: dict[str, Mapping[str, Any]] = {
    "budget_stop": {
        "adapters": {"small": {"type": "scripted"}, "large": {"type": "scripted", "prices": PRICES}},
        "agents": {
            "writer": {"adapters": {"cheap": "small", "frontier": "large"}, "limits": {"calls": 4, "tokens": 2200}},
            "critic": {"adapter": "small", "limits": {"calls": 2}},
        },
    },
    "routed": {**ROSTER, "agents": {name: ROSTER["agents"][name] for name in ("writer", "editor")}},
}
INNER = plan_manifest(
    tasks={"left": WORK, "right": {**WORK, "output": LIST}},
    outputs={"left": "left", "right": {"task": "right", "select": "/0"}},
)


@cache
def plan_of(name: str) -> bytes:
    """Return the wave plan as JSON. Warnings are allowed: some examples have outputs that no task reads."""
    parts = {"policy": POLICY | POLICIES.get(name, {}), "roster": ROSTERS.get(name, ROSTER)}
    result = compile_files({"workflow.yaml": workflow(PLANS[name], **parts), "inner.yaml": INNER})
    assert result.data is not None, [str(finding) for finding in result.findings]
    return bytes(result.data)
