"""Wave plans that a single keyword of wave-plan.schema.json rejects, by keyword."""

from collections.abc import Callable, Iterator, Mapping

from fake_ledger.wave_plans import Plan, data_edge, order_edge
from vector_generator.ledgers.edits import plan
from vector_generator.ledgers.row import Row


def _plan(name: str, title: str, description: str, change: Callable[[Plan], object], base: str = "delivered") -> Row:
    return Row(f"plan-{name}", base, "002", "L401", 0, title, plan(description, change))


BY_KEYWORD: Mapping[str, tuple[Row, ...]] = {
    "maxLength": (
        _plan("with-a-long-name", "a wave plan name of 65 characters", "the name has 65 characters",
              lambda document: document["metadata"].update(name="n" * 65)),
        _plan("with-a-long-matrix-value", "a matrix value of 65 characters",
              "`a` has a matrix value of 65 characters",
              lambda document: document["tasks"]["a"].update(matrix={"lang": "x" * 65})),
    ),
    "minLength": (
        _plan("with-an-empty-model", "an adapter's model is empty", "the adapter `small` has an empty model",
              lambda document: document["adapters"]["small"].update(model="")),
    ),
    "pattern": (
        _plan("with-a-line-feed-in-its-name", "a wave plan's name ends with a line feed",
              "a line feed ends the name",
              lambda document: document["metadata"].update(name="by-hand\n")),
        _plan("with-a-non-ascii-name", "a wave plan's name has a non-ASCII letter", "the name is `caf\u00e9`",
              lambda document: document["metadata"].update(name="caf\u00e9")),
        _plan("with-a-digest-in-upper-case", "the digest of a schema is in upper case",
              "`a` has an output type of 64 times `A`",
              lambda document: document["tasks"]["a"].update(output="A" * 64)),
    ),
    "additionalProperties": (
        _plan("with-an-extra-member", "a task has an extra member", "`a` has a `note`",
              lambda document: document["tasks"]["a"].update(note="x")),
        _plan("with-an-unknown-allow-list", "an allow-list of an unknown type", "`allow` has a list `tools`",
              lambda document: document["policy"]["allow"].update(tools=[])),
    ),
    "required": (
        _plan("without-an-allow-list", "the policy has no allow-list of variables", "`allow` has no `env`",
              lambda document: document["policy"]["allow"].pop("env")),
        _plan("without-its-schemas", "the wave plan has no `schemas`", "`schemas` is missing",
              lambda document: document.pop("schemas")),
    ),
    "enum": (
        _plan("with-an-unknown-durability", "an unknown durability", "`durability` is `often`",
              lambda document: document["policy"].update(durability="often")),
    ),
    "const": (
        _plan("of-another-version", "a wave plan of another version", "`apiVersion` is `forum/v2`",
              lambda document: document.update(apiVersion="forum/v2")),
        _plan("with-allow-failure-false", "`allow_failure` is false instead of absent", "`a` has `allow_failure` false",
              lambda document: document["tasks"]["a"].update(allow_failure=False)),
    ),
    "minimum": (
        _plan("with-a-negative-backoff", "a backoff is negative", "`backoff_ms` is -1",
              lambda document: document["policy"]["retry"].update(backoff_ms=-1)),
        _plan("with-a-budget-of-zero", "a budget of zero tokens", "the budget of the run has 0 `tokens`",
              lambda document: document["policy"]["budget"].update(tokens=0)),
    ),
    "maximum": (
        _plan("with-a-foreach-too-large", "a foreach accepts more than 10,000 items", "`max` of `each` is 10,001",
              lambda document: document["tasks"]["each"]["foreach"].update(max=10_001), "expanded"),
    ),
    "type": (
        _plan("with-an-instruction-in-a-string", "an instruction is a string instead of a list of parts",
              "the instruction of `a` is a text", lambda document: document["tasks"]["a"].update(instruction="do it")),
        _plan("with-a-backoff-of-true", "a backoff is `true`", "`backoff_ms` is true",
              lambda document: document["policy"]["retry"].update(backoff_ms=True)),
    ),
    "minItems": (
        _plan("with-an-empty-command", "an empty command", "`a` has an empty `run`",
              lambda document: document["tasks"]["a"].update(run=[])),
    ),
    "minProperties": (
        _plan("with-an-empty-instruction-part", "an empty part of an instruction",
              "the instruction of `a` is `[{}]`",
              lambda document: document["tasks"]["a"].update(instruction=[{}])),
    ),
    "maxProperties": (
        _plan("with-an-ambiguous-instruction-part", "a part of an instruction with two meanings",
              "the instruction of `a` has a part with `need` and `secret`",
              lambda document: document["tasks"]["a"].update(instruction=[{"need": "x", "secret": "y"}])),
    ),
    "propertyNames": (
        _plan("with-a-schema-without-a-digest", "the key of a schema is not a digest",
              "`schemas` has a schema `x`", lambda document: document["schemas"].update(x={})),
        _plan("with-an-adapter-for-an-unknown-tier", "an agent has an adapter for an unknown tier",
              "`critic` has an adapter for the tier `huge`",
              lambda document: document["agents"]["critic"]["adapters"].update(huge="small")),
    ),
    "items": (
        _plan("with-a-number-in-a-list", "a list of names contains a number", "`agents` in `allow` contains 1",
              lambda document: document["policy"]["allow"]["agents"].append(1)),
    ),
    "$ref": (
        _plan("with-an-unknown-tier", "an unknown tier", "`a` escalates to `huge`",
              lambda document: document["tasks"]["a"].update(escalate=["huge"])),
    ),
    "properties": (
        _plan("with-a-description-that-is-a-number", "a description that is a number", "`description` is 1",
              lambda document: document["metadata"].update(description=1)),
    ),
    "oneOf": (
        _plan("with-an-ambiguous-value", "a value with two definitions", "the output `notes` has a `list` too",
              lambda document: document["outputs"]["notes"].update(list=[])),
    ),
    "if": (
        _plan("with-a-named-order-edge", "an order edge has a name for a value",
              "the edge of `b` has an `as`",
              lambda document: document["tasks"]["b"].update(needs=[{**order_edge("a"), "as": "x"}]), "in-order"),
    ),
    "then": (
        _plan("with-a-bounded-order-edge", "an order edge has a size limit",
              "the edge of `b` has a `max_bytes`",
              lambda document: document["tasks"]["b"].update(needs=[{**order_edge("a"), "max_bytes": 1}]), "in-order"),
    ),
    "else": (
        _plan("with-a-data-edge-from-two-sources", "a data edge has both a task and a value",
              "the edge of `b` has a `task`",
              lambda document: document["tasks"]["b"].update(needs=[{**data_edge({"task": "a"}, "x"), "task": "a"}])),
    ),
}  # fmt: skip


def rows() -> Iterator[Row]:
    for keyword_rows in BY_KEYWORD.values():
        yield from keyword_rows
