"""Edits that a compiler rejects after reading all files, and edits without effect."""

from vector_generator.bundle_vectors import INPUTS, Edit

_TEN = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
_REORDERED = """\
# The same, in another order.
kind: Workflow
metadata: {"description": 'A case.', name: "case"}
apiVersion: forum/v1
---
kind: Plan
outputs:
  notes: draft
tasks:
  draft:
    needs:
    - list
    instruction: 'Write it.'
    agent: writer
  list: {run: ["git", log], agent: operator}
metadata: {name: plan}
apiVersion: forum/v1
---
agents:
  operator: {adapter: shell}
  writer: {keywords: [Notes, write, draft], domain: writing, adapter: small}
adapters: {shell: {env: [LANG, TZ, PATH], type: command}, small: {type: scripted}}
apiVersion: forum/v1
metadata: {name: team}
kind: Roster
---
{"allow": {"env": ["PATH", "TZ", "LANG"], "commands": ["git", "ls"]}, "max_parallel": 2.0, "kind": "Policy",
 "metadata": {"name": "strict"}, "apiVersion": "forum/v1"}
"""

PURE = (
    Edit("reordered", "Keys, documents, quotes and comments change nothing but the bundle", "order", "COMPILE-PURE-002",
        "", "workflow.yaml", None, _REORDERED, is_the_same_plan=True),
    Edit("commented", "A comment changes nothing but the bundle", "order", "COMPILE-PURE-002", "", "workflow.yaml",
        "max_parallel: 2\n", "max_parallel: 2   # two at a time\n\n", is_the_same_plan=True),
    Edit("file-outside-the-bundle", "A file that no manifest names is not part of the bundle", "order",
        "COMPILE-PURE-003 COMPILE-WRITE-002", "", "notes.txt", None, "Nobody reads this.\n", {"/bundle/1": None},
        is_the_same_plan=True),
    Edit("error-and-warning", "With an error there is no wave plan; warnings are still reported", "unfold",
        "COMPILE-FIND-001 COMPILE-FIND-002 COMPILE-FIND-003", "F012 F303", "sign.yaml",
        "outputs: {signature: sign, file: file}", "  spare: {agent: writter, instruction: Spare.}\noutputs: "
        "{signature: sign, file: file}"),
    Edit("warning-alone", "A warning alone changes nothing", "order", "COMPILE-FIND-002 COMPILE-FIND-003", "F303",
        "workflow.yaml", "outputs: {notes: draft}",
        "  spare: {agent: writer, instruction: Spare.}\noutputs: {notes: draft}",
        {"/waves": [["list", "spare"], ["draft"]]}),
    Edit("two-errors-of-one-task", "Two errors of one task are both reported", "unfold", "COMPILE-FIND-001",
        "F012 F020",
        "notes.yaml", "agent: writer, instruction: Item.", "agent: writter, instruction: \"Item ${{ inputs.itm }}.\""),
    Edit("code-of-a-cycle", "The code of a cycle is stable", "waves", "COMPILE-CODE-001 COMPILE-LAYER-001", "F301",
        "workflow.yaml", "free: {agent: writer, instruction: Free.}",
        "free: {agent: writer, instruction: Free., needs: [end]}"),
)  # fmt: skip

INPUTS_AND_TYPES = (
    Edit("input-without-a-value", "An input without a value", "inputs", "COMPILE-INPUT-002", "F016", INPUTS,
        ', "either": 8', ""),
    Edit("given-mismatch-before-the-workflow", "A given value that does not match is not replaced by the workflow's",
        "inputs",
        "COMPILE-INPUT-001", "F017", INPUTS, '"third": "given"', '"third": 3'),
    Edit("null-is-a-value", "Null is a value", "inputs", "COMPILE-INPUT-001", "F017", INPUTS,
        '"third": "given"', '"third": null'),
    Edit("instance-picked-by-a-secret", "A secret is unknown when instances are selected", "matrix",
        "COMPILE-INPUT-003 COMPILE-MATRIX-002", "F307", "workflow.yaml", "lang: {type: string, default: de}",
        "lang: {type: string, secret: true}"),
    Edit("types-differ", "Text where an array is expected", "types", "COMPILE-TYPE-003 COMPILE-TYPE-001", "F407",
        "workflow.yaml", "{task: text, expects: {type: string}}", "{task: text, expects: {type: array}}"),
    Edit("integer-for-a-fraction", "Integers and other numbers are distinguished", "types", "COMPILE-TYPE-001", "F407",
        "workflow.yaml", "as: size, expects: {type: number}", "as: size, expects: {enum: [0.5, 1.5]}"),
    Edit("types-of-branches", "A type that no branch of anyOf allows", "types", "COMPILE-TYPE-001", "F407",
        "workflow.yaml",
        "{task: either, select: /0, expects: {type: string}}", "{task: either, expects: {type: object}}"),
    Edit("types-behind-a-reference", "The types of a referenced schema", "types", "COMPILE-TYPE-001", "F407",
        "workflow.yaml", "{task: named, select: /7, expects: {maxLength: 3}}",
        "{task: named, select: /7, expects: {type: number}}"),
    Edit("list-of-instances", "All instances are a list", "matrix", "COMPILE-TYPE-001 COMPILE-MATRIX-002", "F407",
        "workflow.yaml", "{task: log, select: /title}", "{task: log, select: /title, expects: {type: string}}"),
    Edit("pointer-beyond-the-instances", "A list has as many items as there are instances", "unfold",
        "COMPILE-TYPE-001",
        "F406", "workflow.yaml", "select: /parts/0/size", "select: /parts/2/size"),
    Edit("pointer-into-text", "A pointer into text", "types", "COMPILE-TYPE-002", "F406", "workflow.yaml",
        "{task: text, expects: {type: string}}", "{task: text, select: /title}"),
    Edit("pointer-to-no-property", "A property that a closed object does not list", "types", "COMPILE-TYPE-002", "F406",
        "workflow.yaml", "{task: closed, select: /items/1, as: item}", "{task: closed, select: /itms/1, as: item}"),
    Edit("pointer-beyond-an-array", "An index beyond maxItems", "types", "COMPILE-TYPE-002", "F406", "workflow.yaml",
        "select: /items/1", "select: /items/2"),
    Edit("pointer-with-a-leading-zero", "An index with a leading zero", "types", "COMPILE-TYPE-002", "F406",
        "workflow.yaml", "select: /items/1", "select: /items/01"),
    Edit("pointer-by-a-name", "A name as an index of an array", "types", "COMPILE-TYPE-002", "F406", "workflow.yaml",
        "select: /items/1", "select: /items/first"),
    Edit("pointer-beyond-the-prefix", "An index beyond prefixItems, where items is false", "types", "COMPILE-TYPE-002",
        "F406", "workflow.yaml", "{task: pair, select: /1,", "{task: pair, select: /2,"),
    Edit("pointer-into-an-open-object", "Nothing is certain about an open object", "types", "COMPILE-TYPE-002", "",
        "workflow.yaml", "{task: closed, select: /items/1, as: item}\n", "{task: open, select: /itms/1, as: item}\n",
        {"/tasks/sum/needs/1/from": {"task": "open", "select": "/itms/1"}}),
    Edit("pointer-of-a-condition", "A condition with a pointer into text", "types", "COMPILE-TYPE-002", "F406",
        "workflow.yaml", "when: {task: word, output: {const: clean}}",
        "when: {task: word, select: /0, output: {const: clean}}"),
    Edit("pointer-into-a-used-plan", "An output that the used plan does not have", "unfold",
        "COMPILE-UNFOLD-003 COMPILE-TYPE-002", "F406", "workflow.yaml", "select: /text/title", "select: /txt/title"),
    Edit("values-differ", "No value is in both lists", "types", "COMPILE-TYPE-003", "F407", "workflow.yaml",
        "{enum: [clean, 3]}", "{enum: [claen]}"),
    Edit("condition-never-met", "A condition that is never met", "types", "COMPILE-TYPE-003", "F407",
        "workflow.yaml", "output: {const: clean}", "output: {const: claen}"),
    Edit("property-never-present", "A required property that can never be present", "types", "COMPILE-TYPE-003", "F407",
        "workflow.yaml", "required: [title], properties: {title: {type: string}}}}", "required: [author]}}"),
    Edit("property-of-another-type", "A required property of another type", "types", "COMPILE-TYPE-003", "F407",
        "workflow.yaml", "properties: {title: {type: string}}}}", "properties: {title: {type: array}}}}"),
    Edit("check-never-met", "A check that its task's output can never meet", "types", "COMPILE-TYPE-003", "F407",
        "workflow.yaml", "- schema: {type: object, required: [title]}", "- schema: {type: string}"),
    Edit("data-for-an-input-of-another-type", "Data that an input of a used plan cannot take", "unfold",
        "COMPILE-TYPE-003", "F407",
        "notes.yaml", "commits: {type: array}", "commits: {type: string}"),
    Edit("run-id-for-an-input", "The run's id for an input that is a number", "unfold", "COMPILE-TYPE-003", "F407",
        "notes.yaml", "run: {type: string}\n", "run: {type: integer}\n"),
    Edit("items-of-text", "A foreach over text", "types", "COMPILE-TYPE-004", "F408", "workflow.yaml",
        "foreach: {task: either,", "foreach: {task: text,"),
    Edit("items-of-a-property", "A foreach over a property that is text", "types", "COMPILE-TYPE-004", "F408",
        "workflow.yaml", "foreach: {task: either,", "foreach: {task: closed, select: /title,"),
)  # fmt: skip

INSTANCES = (
    Edit("axis-without-values", "An axis without values", "matrix", "COMPILE-MATRIX-001", "F701", "workflow.yaml",
        "os: [linux],", "os: [],"),
    Edit("matrix-without-axes", "A matrix without axes", "large", "COMPILE-MATRIX-001", "F701", "workflow.yaml",
        "matrix: {a: *few, b: *few, c: *few}", "matrix: {}"),
    Edit("matrix-of-1001", "A matrix of 1,001 combinations", "wide", "COMPILE-MATRIX-001", "F702", "workflow.yaml",
        "instruction: End.,", "instruction: End., matrix: {a: [0, 1, 2, 3, 4, 5, 6], "
        "b: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], c: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]},"),
    Edit("value-repeated", "A value that occurs twice on an axis", "matrix", "COMPILE-MATRIX-001", "F703",
        "workflow.yaml",
        "size: [2, 10]", "size: [10, 2, 10]"),
    Edit("value-repeated-as-text", "A number and the same number as text", "large", "COMPILE-MATRIX-001", "F703",
        "workflow.yaml", "&few [0]", '&few [1, "1"]'),
    Edit("no-such-axis", "An axis that the matrix does not have", "matrix", "COMPILE-MATRIX-002", "F307",
        "workflow.yaml", "matrix: {part: 2}", "matrix: {prt: 2}"),
    Edit("no-such-value", "A value that the axis does not have", "matrix", "COMPILE-MATRIX-002", "F307",
        "workflow.yaml", "matrix: {part: 2}", "matrix: {part: 3}"),
    Edit("no-matrix-to-pick-from", "A selection from a task without a matrix", "foreach", "COMPILE-MATRIX-002", "F307",
        "workflow.yaml", "{task: again, edge: order}", "{task: again, matrix: {lang: en}}"),
    Edit("no-such-value-by-an-input", "A value from an input that the axis does not have", "matrix",
        "COMPILE-MATRIX-002",
        "F307", "workflow.yaml", "default: de", "default: fr"),
    Edit("no-such-value-by-a-matrix", "A value from a matrix that the axis does not have", "matrix",
        "COMPILE-MATRIX-002",
        "F307", "workflow.yaml", "matrix: {lang: [en, de]}\n", "matrix: {lang: [en, fr]}\n"),
    Edit("no-such-value-of-a-condition", "A condition on an instance that does not exist", "matrix",
        "COMPILE-MATRIX-002",
        "F307", "workflow.yaml", "matrix: {lang: en, part: 1}", "matrix: {lang: fr, part: 1}"),
    Edit("no-such-value-of-an-output", "An output of an instance that does not exist", "matrix", "COMPILE-MATRIX-002",
        "F307", "workflow.yaml", "logs: {task: log, matrix: {lang: en}}", "logs: {task: log, matrix: {lang: fr}}"),
    Edit("output-picked-by-an-input", "An output that selects an instance by an input", "matrix", "COMPILE-MATRIX-002",
        "F020",
        "workflow.yaml", "logs: {task: log, matrix: {lang: en}}",
        'logs: {task: log, matrix: {lang: "${{ inputs.lang }}"}}'),
    Edit("matrix-with-a-foreach", "A task with both a matrix and a foreach", "foreach", "COMPILE-FOREACH-001", "F704",
        "workflow.yaml", "instruction: Again.,", "instruction: Again., matrix: {lang: [en]},"),
)  # fmt: skip

UNFOLDED = (
    Edit("plan-that-uses-itself", "A plan that uses itself", "deep", "COMPILE-UNFOLD-001", "F705", "plan-16.yaml",
        "draft: {agent: writer, instruction: Write.}", "draft: {uses: plan-16.yaml}"),
    Edit("cycle-of-plans", "Plans that use each other in a cycle", "deep", "COMPILE-UNFOLD-001", "F705", "plan-16.yaml",
        "draft: {agent: writer, instruction: Write.}", "draft: {uses: plan-3.yaml}"),
    Edit("seventeen-deep", "Plans that use each other, nested seventeen levels deep", "deep", "COMPILE-UNFOLD-001",
        "F709",
        "workflow.yaml", "plan: plan-1.yaml", "plan:\n  tasks:\n    first: {uses: plan-1.yaml}"),
    Edit("too-many-tasks", "A plan of 101,000 tasks", "large", "COMPILE-UNFOLD-001", "F708", "workflow.yaml",
        "&few [0]", f"&few {_TEN}"),
    Edit("too-many-edges", "A plan of 1,001,000 pairs of tasks", "wide", "COMPILE-UNFOLD-001", "F708", "workflow.yaml",
        "&few [0, 1]", f"&few {_TEN}"),
    Edit("too-many-characters", "A plan of 100,019,000 characters", "long", "COMPILE-UNFOLD-001", "F708",
        "workflow.yaml", "&few [0]", f"&few {_TEN}"),
    Edit("value-missing", "An input of a used plan without a value", "unfold", "COMPILE-UNFOLD-004", "F706",
        "workflow.yaml", "        run: ${{ run.id }}\n", ""),
    Edit("value-for-an-unknown-input", "A value for an input that the used plan does not have", "unfold",
        "COMPILE-UNFOLD-004",
        "F707", "workflow.yaml", "        run: ${{ run.id }}\n", "        run: ${{ run.id }}\n        pages: 3\n"),
    Edit("value-mismatch", "A value that an input of a used plan cannot take", "unfold", "COMPILE-UNFOLD-004",
        "F017", "notes.yaml", "tone: {type: string, default: plain}", "tone: {type: string, default: 5}"),
    Edit("matrix-value-mismatch", "A value from a matrix that an input cannot take", "unfold",
        "COMPILE-UNFOLD-004 COMPILE-FIND-001", "F017", "notes.yaml", "lang: {type: string}", "lang: {enum: [en, fr]}"),
    Edit("data-not-passed-on", "Data that is not passed on is a warning", "unfold", "COMPILE-UNFOLD-004", "F311",
        "workflow.yaml", "{task: lint, edge: order}\n      when", "{task: lint}\n      when"),
    Edit("condition-of-a-used-plan", "A condition of a task that uses a plan may read upstream tasks", "unfold",
        "COMPILE-UNFOLD-005", "F306 F303", "workflow.yaml", "        - {task: lint, edge: order}\n", ""),
)  # fmt: skip

BUDGETS = (
    Edit("run-budget-without-prices", "A money budget for the run, and an adapter without prices", "budgets",
        "COMPILE-BUDGET-001",
        "F601", "workflow.yaml", 'model: huge, prices: {input: "1", output: "2"}}', "model: huge}"),
    Edit("agent-budget-without-prices", "A money budget for an agent whose adapter has no prices", "without-prices",
        "COMPILE-BUDGET-001", "F601", "workflow.yaml", "adapter: server}", 'adapter: server, limits: {usd: "5"}}'),
    Edit("task-budget-without-prices", "A money budget for a task whose adapter has no prices", "without-prices",
        "COMPILE-BUDGET-001",
        "F601", "workflow.yaml", "instruction: Write.}", 'instruction: Write., budget: {usd: "5"}}'),
    Edit("script-costs-nothing", "A script costs nothing and needs no prices", "without-prices", "COMPILE-BUDGET-001",
        "", "workflow.yaml", "instruction: Read.}", 'instruction: Read., budget: {usd: "5"}}'),
    Edit("fixed-command-without-prices", "A fixed command may cost money, so it needs prices", "without-prices",
        "COMPILE-BUDGET-001", "F601", "workflow.yaml", "instruction: Type.}",
        'instruction: Type., budget: {usd: "5"}}'),
    Edit("calls-above-the-run", "More calls than the run's budget", "budgets", "COMPILE-BUDGET-002", "F602",
        "workflow.yaml", 'budget: {calls: 2, usd: "2"', 'budget: {calls: 7, usd: "2"'),
    Edit("money-above-the-run", "More money than the run's budget", "budgets", "COMPILE-BUDGET-002", "F602",
        "workflow.yaml", 'budget: {calls: 2, usd: "2"', 'budget: {calls: 2, usd: "10.000001"'),
    Edit("time-above-the-run", "More time than the run's budget", "budgets", "COMPILE-BUDGET-002", "F602",
        "workflow.yaml", "wall: 2m", "wall: 61m"),
    Edit("tokens-above-the-run", "More tokens than the run's budget", "budgets", "COMPILE-BUDGET-002", "F602",
        "workflow.yaml", "wall: 2m, tokens: 5000", "wall: 2m, tokens: 5001"),
    Edit("too-few-calls-of-a-task", "Fewer calls than a task and its judge need", "budgets", "COMPILE-BUDGET-003",
        "F603", "workflow.yaml", 'budget: {calls: 2, usd: "2"', 'budget: {calls: 1, usd: "2"'),
    Edit("too-few-calls-of-the-run", "Fewer calls than the tasks that certainly run need", "budgets",
        "COMPILE-BUDGET-003", "F603", "workflow.yaml", "budget: {calls: 6,", "budget: {calls: 4,"),
    Edit("just-enough-calls-of-the-run", "Tasks that may be skipped are not counted", "budgets", "COMPILE-BUDGET-003",
        "",
        "workflow.yaml", "budget: {calls: 6,", "budget: {calls: 5,", {"/policy/budget/calls": 5}),
    Edit("too-few-calls-of-an-agent", "Fewer calls than the agent's tasks need", "budgets", "COMPILE-BUDGET-003",
        "F603", "workflow.yaml", "reader: {adapter: script}", "reader: {adapter: script, limits: {calls: 1}}"),
    Edit("no-money", "No money for an adapter with prices", "budgets", "COMPILE-BUDGET-003", "F603", "workflow.yaml",
        'budget: {calls: 2, usd: "2"', 'budget: {calls: 2, usd: "0"'),
    Edit("no-time", "A wall time of zero", "budgets", "COMPILE-BUDGET-003", "F603", "workflow.yaml", "wall: 2m",
        "wall: 0s"),
    Edit("no-money-for-a-priced-script", "A script with prices costs what they say", "budgets", "COMPILE-BUDGET-003",
        "F603", "workflow.yaml", "script: {type: scripted}",
        'script: {type: scripted, prices: {input: "1", output: "1"}}'),
)  # fmt: skip

EDITS = (*PURE, *INPUTS_AND_TYPES, *INSTANCES, *UNFOLDED, *BUDGETS)
