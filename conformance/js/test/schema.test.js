import assert from "node:assert/strict";
import { test } from "node:test";
import { readSchemas } from "../node_files.js";
import { Schemas } from "../schema.js";

const checkOf = (schema) => new Schemas({ "a.schema.json": schema }).check("a.schema.json");

test("every keyword of the used schemas is supported", async () => {
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

test("an unknown keyword is an error", () => {
  assert.throws(() => checkOf({ multipleOf: 2 })(4), /unknown keyword 'multipleOf'/);
});

test("lengths are counted in characters, not in UTF-16 units", () => {
  const fits = checkOf({ maxLength: 2, minLength: 2 });

  assert.deepEqual(["\u{1f600}\u{1f600}", "\u{1f600}", "aaa"].map(fits), [true, false, false]);
});

test("`$` in a pattern matches only at the end of the string", () => {
  const fits = checkOf({ pattern: "^[a-z]+$" });

  assert.deepEqual(["abc", "abc\n"].map(fits), [true, false]);
});

test("an integral number is an integer, however large; `true` is not an integer", () => {
  const fits = checkOf({ type: "integer" });

  assert.deepEqual([1, 1e21, 1.5, true].map(fits), [true, true, false, false]);
});

test("built-in properties of objects do not count as properties", () => {
  assert.equal(checkOf({ required: ["constructor"] })({}), false);
});

test("a schema may refer to itself", () => {
  const fits = checkOf({ type: "object", properties: { next: { $ref: "#" } }, additionalProperties: false });

  assert.deepEqual([{ next: { next: {} } }, { next: { other: 1 } }].map(fits), [true, false]);
});
