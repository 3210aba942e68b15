"""Bundles that define the content of wave plans; each directory of `bundles/compile` is one."""

from vector_generator.bundle_vectors import ValidBundle, schema_digest

_STRING = schema_digest({"type": "string"})
_ANY = schema_digest({})
_OBJECT = schema_digest({"type": "object"})
_ARRAY = schema_digest({"type": "array"})
_AT_LEAST_ONE = schema_digest({"minItems": 1})
_CLEAN = schema_digest({"const": "clean"})
_TRUE = schema_digest({"const": True})
_EN = "notes[lang=en]"
_DE = "notes[lang=de]"
_BODY_FILE = {
    "$defs": {"text": {"type": "string"}},
    "properties": {
        "parts": {"$ref": "#/$defs/file:schemas~1parts~1a%2Bb.json"},
        "text": {"$ref": "#/$defs/file:schemas~1body.json/$defs/text"},
    },
    "type": "object",
}
_PARTS_FILE = {"items": {"$ref": "#/$defs/file:schemas~1body.json/$defs/text"}, "type": "array"}
_FILES = {"file:schemas/body.json": _BODY_FILE, "file:schemas/parts/a+b.json": _PARTS_FILE}


def _logs(*instances: str) -> dict[str, list[dict[str, str]]]:
    return {"list": [{"task": f"log[{instance}]"} for instance in instances]}


VALID_BUNDLES = (
    ValidBundle("minimal", "One task; the whole wave plan is compared, except for the digests",
        "COMPILE-WRITE-001 COMPILE-WRITE-002 COMPILE-WRITE-006 COMPILE-PURE-003 COMPILE-FIND-003 COMPILE-CODE-001",
        {
            "/apiVersion": "forum/v1", "/kind": "WavePlan", "/metadata": {"name": "case"}, "/inputs": {},
            "/outputs": {}, "/schemas": {}, "/adapters": {"script": {"type": "scripted"}}, "/waves": [["draft"]],
            "/tasks": {"draft": {"agent": "writer", "instruction": ["Write."],
                                 "ladder": [{"adapter": "script", "tier": "capable"}]}},
            "/bundle/0/path": "workflow.yaml", "/bundle/1": None,
        }),
    ValidBundle("waves", "Waves as early as the edges allow, split to max_parallel, sorted by code points",
        "COMPILE-LAYER-001 COMPILE-LAYER-002 COMPILE-LAYER-003 COMPILE-PURE-001 COMPILE-FIND-001 COMPILE-FIND-002",
        {"/waves": [["free", "start"], ["Z", "a", "a10"], ["a2", "b", "d"], ["late"], ["end"]]}),
    ValidBundle("order", "A bundle whose keys and documents can be reordered without effect",
        "COMPILE-PURE-002 COMPILE-WRITE-006",
        {"/agents/writer/keywords": ["Notes", "draft", "write"], "/adapters/shell/env": ["LANG", "PATH", "TZ"],
         "/policy/allow/commands": ["git", "ls"], "/metadata": {"name": "case", "description": "A case."}}),
    ValidBundle("inputs",
        "Values from the command line, the workflow and the plan, in this order; a secret stays a reference",
        "COMPILE-INPUT-001 COMPILE-INPUT-002 COMPILE-INPUT-003 COMPILE-WRITE-005",
        {"/tasks/draft/instruction": [
            'from the plan; from the workflow; given; 7; 8; {"a":[1,null],"b":"x"}; ', {"secret": "token"}],
         "/inputs/token": {"schema": _STRING, "secret": True}, "/inputs/number/value": 7},
        inputs={"third": "given", "number": 7, "either": 8, "parts": {"b": "x", "a": [1.0, None]}}),
    ValidBundle("types", "Edges whose types match or may match",
        "COMPILE-TYPE-001 COMPILE-TYPE-002 COMPILE-TYPE-003 COMPILE-TYPE-004",
        {"/waves/0": ["closed", "either", "named", "open"],
         "/tasks/sum/needs/2/from": {"task": "named", "select": "/7"},
         "/tasks/sum/needs/1/from": {"task": "closed", "select": "/items/1"}}),
    ValidBundle("matrix", "A task for every combination, and references to all, some or one of them",
        "COMPILE-MATRIX-001 COMPILE-MATRIX-002 COMPILE-WRITE-006 COMPILE-WRITE-007 COMPILE-LAYER-002",
        {
            "/waves": [
                ["build[fast=false,os=linux,size=10]", "build[fast=false,os=linux,size=2]",
                 "build[fast=true,os=linux,size=10]", "build[fast=true,os=linux,size=2]", "log[lang=de,part=1]",
                 "log[lang=de,part=2]", "log[lang=en,part=1]", "log[lang=en,part=2]", "odd[name=%C3%A9%2F%25]",
                 "odd[name=]"],
                ["odd[name=a%20b]", "odd[name=x%2Cy%3D%5Bz%5D]", "odd[name=~+._-]"],
                ["all", "each", "one", "same[lang=de]", "same[lang=en]", "some"],
            ],
            "/tasks/build[fast=false,os=linux,size=2]/instruction": ["Build linux 2 false."],
            "/tasks/build[fast=false,os=linux,size=2]/matrix": {"fast": False, "os": "linux", "size": 2},
            "/tasks/some/needs/0/from": _logs("lang=de,part=2", "lang=en,part=2"),
            "/tasks/one/needs/0": {"as": "log", "edge": "data", "expects": [_OBJECT],
                                   "from": {"task": "log[lang=de,part=1]"}},
            "/tasks/same[lang=de]/needs": [
                {"edge": "order", "task": "log[lang=en,part=1]"},
                {"as": "logs", "edge": "data", "from": _logs("lang=de,part=1", "lang=de,part=2")},
            ],
            "/tasks/all/needs/0/from/list/3": {"task": "log[lang=en,part=2]", "select": "/title"},
            "/tasks/each/foreach/from/list/0": {"task": "log[lang=de,part=1]"},
            "/outputs/one": {"task": "build[fast=true,os=linux,size=10]"},
            "/outputs/logs": _logs("lang=en,part=1", "lang=en,part=2"),
        }),
    ValidBundle("foreach", "A foreach is one task in the wave plan; a reference to it means all its instances",
        "COMPILE-FOREACH-001 COMPILE-WRITE-007 COMPILE-LAYER-001",
        {
            "/waves": [["find"], ["look"], ["again", "sum"], ["late"]],
            "/tasks/look/foreach": {"as": "item", "max": 50, "from": {"task": "find", "select": "/items"}},
            "/tasks/again/foreach": {"as": "title", "max": 50, "from": {"each": "look"}},
            "/tasks/sum/needs": [
                {"as": "titles", "edge": "data", "expects": [_ARRAY], "from": {"each": "look", "item": "/title"}}],
            "/outputs/titles": {"each": "look", "item": "/title"},
        }),
    ValidBundle("unfold", "The ids, edges, conditions, values and outputs of used plans",
        "COMPILE-UNFOLD-001 COMPILE-UNFOLD-002 COMPILE-UNFOLD-003 COMPILE-UNFOLD-004 COMPILE-UNFOLD-005 "
        "COMPILE-WRITE-007",
        {
            f"/tasks/{_DE}~1plan/instruction": ["Plan ", {"need": "inputs.commits"}, " in de, plain."],
            f"/tasks/{_DE}~1plan/needs": [
                {"edge": "order", "task": "lint"}, {"edge": "order", "task": "log"},
                {"edge": "data", "as": "inputs.commits", "from": {"task": "log", "select": "/commits"},
                 "expects": [_ARRAY, _AT_LEAST_ONE], "max_bytes": 500},
            ],
            f"/tasks/{_EN}~1parts[part=2]/when": [
                {"from": {"task": "lint"}, "matches": _CLEAN},
                {"from": {"task": f"{_EN}/plan", "select": "/is_long"}, "matches": _TRUE},
            ],
            f"/tasks/{_EN}~1sign~1sign/instruction": [
                "Sign ", {"need": "inputs.text"}, " with ", {"secret": "token"}, " in ", {"run": "id"}, "."],
            f"/tasks/{_EN}~1sign~1sign/needs": [
                {"edge": "order", "task": "lint"},
                {"edge": "order", "task": f"{_EN}/parts[part=1]"}, {"edge": "order", "task": f"{_EN}/parts[part=2]"},
                {"edge": "data", "as": "inputs.text", "expects": [_ANY],
                 "from": {"list": [{"task": f"{_EN}/parts[part=1]"}, {"task": f"{_EN}/parts[part=2]"}]}},
            ],
            "/tasks/after/needs": [
                {"edge": "order", "task": task}
                for task in (f"{_DE}/items", f"{_DE}/sign/file", f"{_EN}/items", f"{_EN}/sign/file")
            ],
            "/tasks/title/needs/0/from": {"task": f"{_EN}/plan", "select": "/text/title"},
            "/tasks/first/needs/0/from": {"task": f"{_EN}/parts[part=1]", "select": "/size"},
            "/tasks/sizes/needs/0/from": {"each": f"{_EN}/items", "item": "/size"},
            "/tasks/every/needs/0/from": {
                "list": [{"task": f"{_DE}/plan", "select": "/text"}, {"task": f"{_EN}/plan", "select": "/text"}]},
            "/tasks/whole/needs/0/from": {"object": {
                "items": {"each": f"{_DE}/items", "item": "/size"},
                "parts": {"list": [{"task": f"{_DE}/parts[part=1]"}, {"task": f"{_DE}/parts[part=2]"}]},
                "sign": {"object": {"file": {"task": f"{_DE}/sign/file"}, "signature": {"task": f"{_DE}/sign/sign"}}},
                "text": {"task": f"{_DE}/plan", "select": "/text"},
            }},
        }),
    ValidBundle("budgets", "Prices, limits and call budgets that just suffice",
        "COMPILE-BUDGET-001 COMPILE-BUDGET-002 COMPILE-BUDGET-003",
        {"/tasks/draft/budget": {"calls": 2, "micro_usd": 2_000_000, "wall_ms": 120_000, "tokens": 5000},
         "/agents/operator/limits": {"micro_usd": 0}}),
    ValidBundle("without-prices", "Adapters without prices, and no usd budget", "COMPILE-BUDGET-001",
        {"/adapters/server/prices": None, "/policy/budget": {}}),
    ValidBundle("serialization", "Members that a wave plan contains, omits or sorts",
        "COMPILE-WRITE-004 COMPILE-WRITE-005 COMPILE-WRITE-006",
        {
            "/adapters/unused": {"type": "scripted"}, "/adapters/far": None, "/agents/idle": None,
            "/adapters/large/prices": {"input": 3_000_000, "cached_input": 3_000_000, "output": 15_000_000},
            "/agents/writer": {"adapters": {"capable": "unused", "cheap": "small", "frontier": "large"},
                               "domain": "writing", "keywords": ["Alpha", "beta", "zeta"], "tier": "cheap"},
            "/policy/privacy": {"sensitive": True, "scrub_env": ["API_KEY", "TOKEN"]}, "/policy/on_lost": "retry",
            "/policy/engine": "process",
            "/tasks/draft/instruction": ["Write ", {"need": "list"}, {"need": "list"}, " in ", {"run": "id"}, "."],
            "/tasks/draft/done_when": [["it is short"], ["it is signed by ", {"run": "id"}]],
            "/tasks/draft/accept/2": {"command": [["python3"], ["check.py"], [{"need": "alpha"}]]},
            "/tasks/draft/accept/3": {"command": [["ls"]]}, "/tasks/draft/accept/4": {"agent": "critic"},
            "/tasks/draft/retry": {"attempts": 3, "backoff_ms": 1000, "max_backoff_ms": 60_000},
            "/tasks/draft/gate": {"question": ["Publish?"], "on_deadline": "reject"},
            "/tasks/draft/ladder": [
                {"tier": "cheap", "adapter": "small"}, {"tier": "frontier", "adapter": "large"}],
            "/tasks/list/retry": {"attempts": 1, "backoff_ms": 2000, "max_backoff_ms": 60_000},
            "/tasks/route": {"lane": "auto", "instruction": ["Route."], "escalate": ["frontier"]},
            "/tasks/other/output": _STRING, "/waves": [["list", "other"], ["route"], ["draft"]],
        }),
    ValidBundle("schemas", "Schemas are stored by digest, and the files that they refer to become definitions",
        "COMPILE-WRITE-003 COMPILE-WRITE-002",
        {
            "/schemas/0cc586f6c1fc3ec89a6bbb491dd71205b098be99bcc7b1dbe6b6bc6779b2b972": {
                "type": "object",
                "properties": {"title": {"$ref": "#/$defs/a%20line"},
                               "body": {"$ref": "#/$defs/file:schemas~1body.json/$defs/text"}},
                "$defs": {"a line": {"type": "string", "maxLength": 80}, **_FILES},
            },
            "/schemas/51de27d8641dbc8a18ec9384cb85cb280db309d51f0857f84999bbef668b2441": {
                "$ref": "#/$defs/file:schemas~1body.json", "$defs": _FILES},
            f"/schemas/{_OBJECT}": {"type": "object"}, "/tasks/text/output": _OBJECT,
            "/bundle/2/path": "schemas/parts/a+b.json",
        }),
    ValidBundle("deep", "Plans that use each other, nested sixteen levels deep", "COMPILE-UNFOLD-001",
        {"/waves": [[f"{'next/' * 15}draft"]]}),
    ValidBundle("large", "A plan of 101 tasks, used once", "COMPILE-UNFOLD-001 COMPILE-MATRIX-001",
        {"/waves/25": ["many[a=0,b=0,c=0]/one"], "/waves/26": None,
         "/waves/0/0": "many[a=0,b=0,c=0]/hundred[a=0,b=0]"}),
    ValidBundle("wide", "Instances that depend on instances", "COMPILE-UNFOLD-001 COMPILE-MATRIX-002",
        {"/waves/2": ["draft[a=0,b=0,c=0]", "draft[a=0,b=0,c=1]", "draft[a=0,b=1,c=0]", "draft[a=0,b=1,c=1]"],
         "/tasks/end/needs/7": {"edge": "order", "task": "log[a=1,b=1,c=1]"}}),
    ValidBundle("long", "An instruction of 100,019 characters", "COMPILE-UNFOLD-001",
        {"/tasks/read[a=0,b=0,c=0]/instruction": [" ".join(["x" * 5000] * 20)]}),
)  # fmt: skip
