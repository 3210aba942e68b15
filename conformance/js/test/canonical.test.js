import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalText, readCanonicalBody, readCanonicalizable } from "../canonical.js";
import { readJson } from "../json_text.js";

const canonical = (text) => {
  const json = readCanonicalizable(Buffer.from(text));
  return json === null ? null : canonicalText(json.value);
};

test("the sample of RFC 8785, section 3.2, has the form shown there", () => {
  const sample = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;

  const numbers = "[333333333.3333333,1e+30,4.5,0.002,1e-27]";
  const string = String.raw`"€$\u000f\nA'B\"\\\\\"/"`;
  assert.equal(canonical(sample), `{"literals":[null,true,false],"numbers":${numbers},"string":${string}}`);
});

test("keys are sorted by UTF-16 code units, not by code points", () => {
  assert.equal(canonical('{"\ufb33":1,"\u{1f600}":2,"\\r":3}'), '{"\\r":3,"\u{1f600}":2,"\ufb33":1}');
});

test("names of built-in object properties are keys like any other", () => {
  assert.equal(canonical('{"constructor":1,"__proto__":{"a":2}}'), '{"__proto__":{"a":2},"constructor":1}');
});

for (const [claim, text] of [
  ["a repeated key", '{"a":1,"\\u0061":1}'],
  ["a lone surrogate", '"\\ud800"'],
  ["a lone surrogate in a key", '{"\\udc00":1}'],
  ["an integer beyond 2^53 - 1", "9007199254740992"],
  ["a number that is not finite", "1e400"],
  ["a byte order mark", "\ufeff1"],
  ["white space that is not JSON's", "\u00a01"],
  ["a leading zero", "01"],
  ["a truncated text", '{"a":'],
  ["two values", "1 2"],
]) {
  test(`${claim} is refused`, () => assert.equal(canonical(text), null));
}

test("bytes that are not UTF-8 are refused", () => {
  assert.equal(readCanonicalizable(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])), null);
});

test("the spelling of a number is recorded", () => {
  const spellingOf = (text) => {
    const { hasFraction, hasUnsafeInteger, hasInfinity } = readJson(text);
    return [hasFraction, hasUnsafeInteger, hasInfinity];
  };

  assert.deepEqual(["1", "-0", "1.0", "1e0", "9007199254740993", "1e999"].map(spellingOf), [
    [false, false, false],
    [false, false, false],
    [true, false, false],
    [true, false, false],
    [false, true, false],
    [true, false, true],
  ]);
});

test("a text with a hundred thousand levels of nesting is read and written", () => {
  const text = "[".repeat(100_000) + "]".repeat(100_000);

  assert.equal(readJson(text).depth, 100_000);
  assert.equal(canonical(text), text);
});

test("a body with 254 levels of nesting can be read, but not one with 255", () => {
  const nested = (depth) => Buffer.from("[".repeat(depth) + "]".repeat(depth));

  assert.notEqual(readCanonicalBody(nested(254)), undefined);
  assert.equal(readCanonicalBody(nested(255)), undefined);
});
