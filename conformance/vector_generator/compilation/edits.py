"""Edits that a compiler rejects after reading all files, and edits that it accepts."""

from vector_generator.bundle_vectors import INPUTS, Edit

_TEN_VALUES = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
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

FINDINGS_AND_PURITY = (
    Edit("reordered", "Key order, document order, quoting and comments affect only the bundle's digests", "order",
        "COMPILE-PURE-002",
        "", "workflow.yaml", None, _REORDERED, keeps_wave_plan=True),
    Edit("commented", "A comment affects only the bundle's digests", "order", "COMPILE-PURE-002", "",
        "workflow.yaml",
        "max_parallel: 2\n", "max_parallel: 2   # two at a time\n\n", keeps_wave_plan=True),
    Edit("unreferenced-file", "A file that nothing references is not part of the bundle", "order",
        "COMPILE-PURE-003 COMPILE-WRITE-002", "", "notes.txt", None, "Nothing references this file.\n",
        {"/bundle/1": None},
        keeps_wave_plan=True),
    Edit("error-and-warning", "An error prevents a wave plan; warnings are reported too", "unfold",
        "COMPILE-FIND-001 COMPILE-FIND-002 COMPILE-FIND-003", "F012 F303", "sign.yaml",
        "outputs: {signature: sign, file: file}", "  spare: {agent: writter, instruction: Spare.}\noutputs: "
        "{signature: sign, file: file}"),
    Edit("warning-alone", "A warning alone does not prevent a wave plan", "order", "COMPILE-FIND-002 COMPILE-FIND-003",
        "F303",
        "workflow.yaml", "outputs: {notes: draft}",
        "  spare: {agent: writer, instruction: Spare.}\noutputs: {notes: draft}",
        {"/waves": [["list", "spare"], ["draft"]]}),
    Edit("two-errors-of-one-task", "Both errors in one task are reported", "unfold", "COMPILE-FIND-001",
        "F012 F020",
        "notes.yaml", "agent: writer, instruction: Item.", "agent: writter, instruction: \"Item ${{ inputs.itm }}.\""),
    Edit("cycle-of-tasks", "A cycle is reported as F301", "waves", "COMPILE-CODE-001 COMPILE-LAYER-001", "F301",
        "workflow.yaml", "free: {agent: writer, instruction: Free.}",
        "free: {agent: writer, instruction: Free., needs: [end]}"),
)  # fmt: skip

INPUTS_AND_TYPES = (
    Edit("input-without-a-value", "An input without a value", "inputs", "COMPILE-INPUT-002", "F016", INPUTS,
        ', "either": 8', ""),
    Edit("given-value-takes-precedence",
        "An invalid given value is an error, even if the workflow has a valid one",
        "inputs",
        "COMPILE-INPUT-001", "F017", INPUTS, '"third": "given"', '"third": 3'),
    Edit("null-is-a-value", "Null is a value", "inputs", "COMPILE-INPUT-001", "F017", INPUTS,
        '"third": "given"', '"third": null'),
    Edit("instance-selected-by-a-secret", "A secret is not known when instances are selected", "matrix",
        "COMPILE-INPUT-003 COMPILE-MATRIX-002", "F307", "workflow.yaml", "lang: {type: string, default: de}",
        "lang: {type: string, secret: true}"),
    Edit("disjoint-types", "Text where an array is expected", "types", "COMPILE-TYPE-003 COMPILE-TYPE-001", "F407",
        "workflow.yaml", "{task: text, expects: {type: string}}", "{task: text, expects: {type: array}}"),
    Edit("integer-for-a-fraction", "Integers are distinguished from other numbers", "types", "COMPILE-TYPE-001", "F407",
        "workflow.yaml", "as: size, expects: {type: number}", "as: size, expects: {enum: [0.5, 1.5]}"),
    Edit("types-of-branches", "A type that no branch of anyOf allows", "types", "COMPILE-TYPE-001", "F407",
        "workflow.yaml",
        "{task: either, select: /0, expects: {type: string}}", "{task: either, expects: {type: object}}"),
    Edit("types-of-a-reference", "The type is taken from the target of $ref", "types", "COMPILE-TYPE-001", "F407",
        "workflow.yaml", "{task: named, select: /7, expects: {maxLength: 3}}",
        "{task: named, select: /7, expects: {type: number}}"),
    Edit("list-of-instances", "The output of all instances is a list", "matrix", "COMPILE-TYPE-001 COMPILE-MATRIX-002",
        "F407",
        "workflow.yaml", "{task: log, select: /title}", "{task: log, select: /title, expects: {type: string}}"),
    Edit("pointer-beyond-the-instances", "The output of all instances has one item per instance", "unfold",
        "COMPILE-TYPE-001",
        "F406", "workflow.yaml", "select: /parts/0/size", "select: /parts/2/size"),
    Edit("pointer-into-text", "A pointer into text", "types", "COMPILE-TYPE-002", "F406", "workflow.yaml",
        "{task: text, expects: {type: string}}", "{task: text, select: /title}"),
    Edit("pointer-to-a-missing-property", "A property that a closed object does not list", "types", "COMPILE-TYPE-002",
        "F406",
        "workflow.yaml", "{task: closed, select: /items/1, as: item}", "{task: closed, select: /itms/1, as: item}"),
    Edit("pointer-beyond-an-array", "An index beyond maxItems", "types", "COMPILE-TYPE-002", "F406", "workflow.yaml",
        "select: /items/1", "select: /items/2"),
    Edit("pointer-with-a-leading-zero", "An index with a leading zero", "types", "COMPILE-TYPE-002", "F406",
        "workflow.yaml", "select: /items/1", "select: /items/01"),
    Edit("pointer-by-a-name", "A name as an index of an array", "types", "COMPILE-TYPE-002", "F406", "workflow.yaml",
        "select: /items/1", "select: /items/first"),
    Edit("pointer-beyond-the-prefix", "An index beyond prefixItems, where items is false", "types", "COMPILE-TYPE-002",
        "F406", "workflow.yaml", "{task: pair, select: /1,", "{task: pair, select: /2,"),
    Edit("pointer-into-an-open-object", "An open object may have any property", "types", "COMPILE-TYPE-002", "",
        "workflow.yaml", "{task: closed, select: /items/1, as: item}\n", "{task: open, select: /itms/1, as: item}\n",
        {"/tasks/sum/needs/1/from": {"task": "open", "select": "/itms/1"}}),
    Edit("pointer-of-a-condition", "A condition with a pointer into text", "types", "COMPILE-TYPE-002", "F406",
        "workflow.yaml", "when: {task: word, output: {const: clean}}",
        "when: {task: word, select: /0, output: {const: clean}}"),
    Edit("pointer-into-a-used-plan", "An output that the used plan does not have", "unfold",
        "COMPILE-UNFOLD-003 COMPILE-TYPE-002", "F406", "workflow.yaml", "select: /text/title", "select: /txt/title"),
    Edit("disjoint-values", "Two lists of values without a common value", "types", "COMPILE-TYPE-003", "F407",
        "workflow.yaml",
        "{enum: [clean, 3]}", "{enum: [claen]}"),
    Edit("condition-never-met", "A condition on a value that cannot occur", "types", "COMPILE-TYPE-003", "F407",
        "workflow.yaml", "output: {const: clean}", "output: {const: claen}"),
    Edit("property-never-present", "A required property that cannot exist", "types", "COMPILE-TYPE-003", "F407",
        "workflow.yaml", "required: [title], properties: {title: {type: string}}}}", "required: [author]}}"),
    Edit("property-of-another-type", "A required property of another type", "types", "COMPILE-TYPE-003", "F407",
        "workflow.yaml", "properties: {title: {type: string}}}}", "properties: {title: {type: array}}}}"),
    Edit("check-never-met", "A check that the task's output can never pass", "types", "COMPILE-TYPE-003", "F407",
        "workflow.yaml", "- schema: {type: object, required: [title]}", "- schema: {type: string}"),
    Edit("data-for-an-input-of-another-type", "Data whose type is invalid for an input of the used plan", "unfold",
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
    Edit("value-repeated", "A value listed twice on an axis", "matrix", "COMPILE-MATRIX-001", "F703",
        "workflow.yaml",
        "size: [2, 10]", "size: [10, 2, 10]"),
    Edit("value-repeated-as-text", "A number and the same number as text", "large", "COMPILE-MATRIX-001", "F703",
        "workflow.yaml", "&few [0]", '&few [1, "1"]'),
    Edit("no-such-axis", "Selecting by an axis that the matrix does not have", "matrix", "COMPILE-MATRIX-002", "F307",
        "workflow.yaml", "matrix: {part: 2}", "matrix: {prt: 2}"),
    Edit("no-such-value", "Selecting a value that is not on the axis", "matrix", "COMPILE-MATRIX-002", "F307",
        "workflow.yaml", "matrix: {part: 2}", "matrix: {part: 3}"),
    Edit("no-matrix-to-select-from", "Selecting an instance of a task without a matrix", "foreach",
        "COMPILE-MATRIX-002",
        "F307",
        "workflow.yaml", "{task: again, edge: order}", "{task: again, matrix: {lang: en}}"),
    Edit("no-such-value-from-an-input", "An input's value that is not on the axis", "matrix",
        "COMPILE-MATRIX-002",
        "F307", "workflow.yaml", "default: de", "default: fr"),
    Edit("no-such-value-from-a-matrix", "A matrix value that is not on the axis", "matrix",
        "COMPILE-MATRIX-002",
        "F307", "workflow.yaml", "matrix: {lang: [en, de]}\n", "matrix: {lang: [en, fr]}\n"),
    Edit("no-such-instance-in-a-condition", "A condition on an instance that does not exist", "matrix",
        "COMPILE-MATRIX-002",
        "F307", "workflow.yaml", "matrix: {lang: en, part: 1}", "matrix: {lang: fr, part: 1}"),
    Edit("no-such-instance-in-an-output", "An output of an instance that does not exist", "matrix",
        "COMPILE-MATRIX-002",
        "F307", "workflow.yaml", "logs: {task: log, matrix: {lang: en}}", "logs: {task: log, matrix: {lang: fr}}"),
    Edit("output-selected-by-an-input", "An output that selects by an input", "matrix", "COMPILE-MATRIX-002",
        "F020",
        "workflow.yaml", "logs: {task: log, matrix: {lang: en}}",
        'logs: {task: log, matrix: {lang: "${{ inputs.lang }}"}}'),
    Edit("matrix-with-a-foreach", "A task with both a matrix and a foreach", "foreach", "COMPILE-FOREACH-001", "F704",
        "workflow.yaml", "instruction: Again.,", "instruction: Again., matrix: {lang: [en]},"),
)  # fmt: skip

USED_PLANS = (
    Edit("plan-that-uses-itself", "A plan that uses itself", "deep", "COMPILE-UNFOLD-001", "F705", "plan-16.yaml",
        "draft: {agent: writer, instruction: Write.}", "draft: {uses: plan-16.yaml}"),
    Edit("cycle-of-plans", "Plans that use each other in a cycle", "deep", "COMPILE-UNFOLD-001", "F705", "plan-16.yaml",
        "draft: {agent: writer, instruction: Write.}", "draft: {uses: plan-3.yaml}"),
    Edit("seventeen-deep", "Plans that use each other, nested seventeen levels deep", "deep", "COMPILE-UNFOLD-001",
        "F709",
        "workflow.yaml", "plan: plan-1.yaml", "plan:\n  tasks:\n    first: {uses: plan-1.yaml}"),
    Edit("too-many-tasks", "A plan of 101,000 tasks", "large", "COMPILE-UNFOLD-001", "F708", "workflow.yaml",
        "&few [0]", f"&few {_TEN_VALUES}"),
    Edit("too-many-edges", "A plan of 1,001,000 dependencies", "wide", "COMPILE-UNFOLD-001", "F708", "workflow.yaml",
        "&few [0, 1]", f"&few {_TEN_VALUES}"),
    Edit("too-many-characters", "A plan of 100,019,000 characters", "long", "COMPILE-UNFOLD-001", "F708",
        "workflow.yaml", "&few [0]", f"&few {_TEN_VALUES}"),
    Edit("value-missing", "An input of a used plan without a value", "unfold", "COMPILE-UNFOLD-004", "F706",
        "workflow.yaml", "        run: ${{ run.id }}\n", ""),
    Edit("value-for-an-unknown-input", "A value for an input that the used plan does not have", "unfold",
        "COMPILE-UNFOLD-004",
        "F707", "workflow.yaml", "        run: ${{ run.id }}\n", "        run: ${{ run.id }}\n        pages: 3\n"),
    Edit("value-mismatch", "A value that is invalid for an input of the used plan", "unfold", "COMPILE-UNFOLD-004",
        "F017", "notes.yaml", "tone: {type: string, default: plain}", "tone: {type: string, default: 5}"),
    Edit("matrix-value-mismatch", "A matrix value that is invalid for an input of the used plan", "unfold",
        "COMPILE-UNFOLD-004 COMPILE-FIND-001", "F017", "notes.yaml", "lang: {type: string}", "lang: {enum: [en, fr]}"),
    Edit("data-not-passed-on", "Data that is not passed on causes a warning", "unfold", "COMPILE-UNFOLD-004", "F311",
        "workflow.yaml", "{task: lint, edge: order}\n      when", "{task: lint}\n      when"),
    Edit("condition-of-a-used-plan", "A condition on a task that is not upstream of the using task", "unfold",
        "COMPILE-UNFOLD-005", "F306 F303", "workflow.yaml", "        - {task: lint, edge: order}\n", ""),
)  # fmt: skip

BUDGETS = (
    Edit("run-budget-without-prices", "A usd budget for the run, with an adapter that has no prices", "budgets",
        "COMPILE-BUDGET-001",
        "F601", "workflow.yaml", 'model: huge, prices: {input: "1", output: "2"}}', "model: huge}"),
    Edit("agent-budget-without-prices", "A usd budget for an agent whose adapter has no prices", "without-prices",
        "COMPILE-BUDGET-001", "F601", "workflow.yaml", "adapter: server}", 'adapter: server, limits: {usd: "5"}}'),
    Edit("task-budget-without-prices", "A usd budget for a task whose adapter has no prices", "without-prices",
        "COMPILE-BUDGET-001",
        "F601", "workflow.yaml", "instruction: Write.}", 'instruction: Write., budget: {usd: "5"}}'),
    Edit("script-costs-nothing", "A script costs nothing and needs no prices", "without-prices", "COMPILE-BUDGET-001",
        "", "workflow.yaml", "instruction: Read.}", 'instruction: Read., budget: {usd: "5"}}'),
    Edit("fixed-command-without-prices", "A command adapter with a fixed `argv` may cost money, so it needs prices",
        "without-prices",
        "COMPILE-BUDGET-001", "F601", "workflow.yaml", "instruction: Type.}",
        'instruction: Type., budget: {usd: "5"}}'),
    Edit("calls-above-the-run-budget", "A task's call budget above the run's", "budgets", "COMPILE-BUDGET-002", "F602",
        "workflow.yaml", 'budget: {calls: 2, usd: "2"', 'budget: {calls: 7, usd: "2"'),
    Edit("money-above-the-run-budget", "A task's usd budget above the run's", "budgets", "COMPILE-BUDGET-002", "F602",
        "workflow.yaml", 'budget: {calls: 2, usd: "2"', 'budget: {calls: 2, usd: "10.000001"'),
    Edit("time-above-the-run-budget", "A task's wall time above the run's", "budgets", "COMPILE-BUDGET-002", "F602",
        "workflow.yaml", "wall: 2m", "wall: 61m"),
    Edit("tokens-above-the-run-budget", "A task's token budget above the run's", "budgets", "COMPILE-BUDGET-002",
        "F602",
        "workflow.yaml", "wall: 2m, tokens: 5000", "wall: 2m, tokens: 5001"),
    Edit("too-few-calls-for-a-task", "Fewer calls than a task and its judge need", "budgets", "COMPILE-BUDGET-003",
        "F603", "workflow.yaml", 'budget: {calls: 2, usd: "2"', 'budget: {calls: 1, usd: "2"'),
    Edit("too-few-calls-for-the-run", "Fewer calls than the tasks that are certain to run need", "budgets",
        "COMPILE-BUDGET-003", "F603", "workflow.yaml", "budget: {calls: 6,", "budget: {calls: 4,"),
    Edit("just-enough-calls-for-the-run", "A call budget does not need to cover tasks that may be skipped", "budgets",
        "COMPILE-BUDGET-003",
        "",
        "workflow.yaml", "budget: {calls: 6,", "budget: {calls: 5,", {"/policy/budget/calls": 5}),
    Edit("too-few-calls-for-an-agent", "Fewer calls than an agent must make", "budgets", "COMPILE-BUDGET-003",
        "F603", "workflow.yaml", "reader: {adapter: script}", "reader: {adapter: script, limits: {calls: 1}}"),
    Edit("no-money", "A usd budget of zero for a task that costs money", "budgets", "COMPILE-BUDGET-003", "F603",
        "workflow.yaml",
        'budget: {calls: 2, usd: "2"', 'budget: {calls: 2, usd: "0"'),
    Edit("no-time", "A wall time of zero", "budgets", "COMPILE-BUDGET-003", "F603", "workflow.yaml", "wall: 2m",
        "wall: 0s"),
    Edit("no-money-for-a-priced-script", "A usd budget of zero for a script with prices", "budgets",
        "COMPILE-BUDGET-003",
        "F603", "workflow.yaml", "script: {type: scripted}",
        'script: {type: scripted, prices: {input: "1", output: "1"}}'),
)  # fmt: skip

EDITS = (*FINDINGS_AND_PURITY, *INPUTS_AND_TYPES, *INSTANCES, *USED_PLANS, *BUDGETS)
