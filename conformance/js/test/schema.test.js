import assert from "node:assert/strict";
import { test } from "node:test";
import { readSchemas } from "../node_files.js";
import { Schemas } from "../schema.js";

const checkOf = (schema) => new Schemas({ "a.schema.json": schema }).check("a.schema.json");

test("every schema that something is checked by is understood whole", async () => {
  const { documents } = await readSchemas();
  const used = ["entry", "proof", "types", "verify-report", "wave-plan"].map((name) => `${name}.schema.json`);
  const parts = used.flatMap((name) => Object.keys(documents[name].$defs ?? {}).map((part) => `${name}#/$defs/${part}`));

  assert.ok(parts.length > 10);
  for (const $ref of [...used.map((name) => `${name}#`), ...parts]) {
    const one = new Schemas({ ...documents, "one.schema.json": { $ref } });
    // A schema is compiled when it is first used.
    assert.doesNotThrow(() => one.check("one.schema.json")(null), $ref);
  }
});

test("a keyword that is not known is an error", () => {
  assert.throws(() => checkOf({ multipleOf: 2 })(4), /unknown keyword 'multipleOf'/);
});

test("lengths are counted in characters, not in UTF-16 units", () => {
  const fits = checkOf({ maxLength: 2, minLength: 2 });

  assert.deepEqual(["\u{1f600}\u{1f600}", "\u{1f600}", "aaa"].map(fits), [true, false, false]);
});

test("a pattern ends where the string ends", () => {
  const fits = checkOf({ pattern: "^[a-z]+$" });

  assert.deepEqual(["abc", "abc\n"].map(fits), [true, false]);
});

test("a whole number is an integer, however large, and true is not one", () => {
  const fits = checkOf({ type: "integer" });

  assert.deepEqual([1, 1e21, 1.5, true].map(fits), [true, true, false, false]);
});

test("properties that objects of the language have are not there", () => {
  assert.equal(checkOf({ required: ["constructor"] })({}), false);
});

test("a schema may refer to itself", () => {
  const fits = checkOf({ type: "object", properties: { next: { $ref: "#" } }, additionalProperties: false });

  assert.deepEqual([{ next: { next: {} } }, { next: { other: 1 } }].map(fits), [true, false]);
});
