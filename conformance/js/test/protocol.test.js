import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { archiveOf, ledgerOf, NOTE, OPENED, sealed } from "./ledgers.js";

const MAIN = fileURLToPath(new URL("../main.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "forum-js-"));
after(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "ledger.jsonl"), ledgerOf([OPENED, NOTE, NOTE, sealed()]));
writeFileSync(join(folder, "bodies.tar"), archiveOf([]));
const at = (name) => join(folder, name);

function ask(argument, ...requests) {
  const input = requests.map((request) => `${JSON.stringify({ protocol: 1, ...request })}\n`).join("");
  const { status, stdout } = spawnSync(process.execPath, [MAIN, argument], { input, encoding: "utf8" });
  return { status, answers: stdout.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line)) };
}

test("a text is written in its canonical form", () => {
  writeFileSync(at("text.json"), '{"b":1.0, "a":[]}');

  const request = { role: "canonicalize", input: at("text.json"), output: at("canonical") };
  const { status, answers } = ask("canonicalize", request);

  assert.deepEqual([status, answers], [0, [{ protocol: 1, verdict: "valid", codes: [] }]]);
  assert.equal(readFileSync(at("canonical"), "utf8"), '{"a":[],"b":1}');
});

test("unsupported roles exit with 33, and answer `unsupported` in serve mode", () => {
  assert.deepEqual(["compile", "run"].map((role) => ask(role, { role, input: at("x") }).status), [33, 33]);
  assert.equal(ask("serve", { id: "a/b", role: "run", input: at("x") }).answers[0].verdict, "unsupported");
});

test("serve mode answers each request in order, with its id", () => {
  const one = { id: "a/one", role: "verify", input: folder, levels: [1, 2] };
  const two = { id: "a/two", role: "verify", input: at("ledger.jsonl") };

  const { status, answers } = ask("serve", one, two);

  const levels = { 1: "ok", 2: "ok", 3: "not checked", 4: "not checked" };
  const valid = { protocol: 1, verdict: "valid", codes: [], first_bad_seq: null, message: "" };
  assert.equal(status, 0);
  assert.deepEqual(answers, [
    { ...valid, id: "a/one", levels: { ...levels, 5: "not checked" } },
    { ...valid, id: "a/two", levels: { ...levels, 5: "ok" } },
  ]);
});

test("created proofs are valid, and impossible requests are invalid", () => {
  const prove = (action, output, numbers) => {
    const request = { role: "prove", action, input: folder, output: at(output), ...numbers };
    return ask("prove", request).answers[0].verdict;
  };

  assert.equal(prove("checkpoint", "checkpoint", { size: 3 }), "valid");
  assert.equal(prove("inclusion", "inclusion", { seq: 1, size: 3 }), "valid");
  assert.equal(prove("consistency", "consistency", { from_size: 2, size: 3 }), "valid");
  assert.equal(prove("inclusion", "none", { seq: 3, size: 3 }), "invalid");
  assert.equal(prove("checkpoint", "none", { size: 5 }), "invalid");
  for (const proof of ["inclusion", "consistency"]) {
    const request = { role: "prove", action: "check", input: at(proof), checkpoint: at("checkpoint") };
    assert.deepEqual(ask("prove", request).answers[0].codes, []);
  }
});

for (const [target, expected] of /** @type {[string, string[]][]} */ ([
  ["../linked-checkpoint", []],
  ["../nothing", ["L506"]],
  ["checkpoint", ["L506"]],
])) {
  test(`a checkpoint that is a link to ${target} has the findings [${expected}]`, () => {
    const run = at(`run-${target.replace("../", "")}`);
    mkdirSync(run);
    for (const name of ["ledger.jsonl", "bodies.tar"]) writeFileSync(join(run, name), readFileSync(at(name)));
    ask("prove", { role: "prove", action: "checkpoint", input: folder, output: at("linked-checkpoint"), size: 3 });
    symlinkSync(target, join(run, "checkpoint"));

    assert.deepEqual(ask("verify", { role: "verify", input: run }).answers[0].codes, expected);
  });
}

test("a changed proof is malformed or does not lead to its root", () => {
  ask("prove", { role: "prove", action: "inclusion", input: folder, output: at("proof"), seq: 1, size: 3 });
  const proof = JSON.parse(readFileSync(at("proof"), "utf8"));
  const codesOf = (changed) => {
    writeFileSync(at("changed"), JSON.stringify({ ...proof, ...changed }));
    return ask("prove", { role: "prove", action: "check", input: at("changed") }).answers[0].codes;
  };

  assert.deepEqual(codesOf({ seq: 2 }), ["L601"]);
  assert.deepEqual(codesOf({ entry: proof.entry.replace('"count":3', '"count":4') }), ["L602"]);
  assert.deepEqual(codesOf({ path: [] }), ["L602"]);
});

test("a message explains why a request is unsupported", () => {
  const { status, answers } = ask("verify", { role: "verify", input: at("nowhere") });

  const message = `no ledger at ${at("nowhere")}`;
  assert.deepEqual([status, answers], [0, [{ protocol: 1, verdict: "unsupported", message }]]);
});
