import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { checkpointText, readKey } from "../note.js";
import { readSchemas } from "../node_files.js";
import { checkProof } from "../proof.js";
import { runOfFiles } from "../sources.js";
import { UsageError, verify } from "../verify.js";
import {
  archiveOf, body, expansion, deliveredRun, ledgerOf, NOTE, OPENED, plainMember, RUN, sealed, sha256Hex,
} from "./ledgers.js";

const schemas = await readSchemas();
const HASHES = [
  "e90a97cdc34deab0b1c939356b5cdb2c228f233734c0c26351fecd53606e9379",
  "b211feed95fb71ce9a02793d9d8f86ca39125ce0167d7e367a0118c6c71f01e2",
];
const ROOT = "a1792e910fa056a84089b63297568296268150af181779fd3a207ae3ca701d50";
const HEAD = "161c88a0cf7b5c5a4edee6047e5a57bfc3bccaad442437dab4b3aadb005b3ce5";

/** The worked example of docs/spec/ledger.md. */
function example() {
  const second = (entry, n) => ({ ...entry, at: `2026-11-15T09:00:0${n}.000000Z` });
  const note = { ...NOTE, causes: [0], bodies: { text: body("three\n") } };
  return new Map([
    ["ledger.jsonl", ledgerOf([OPENED, note, sealed()].map(second))],
    ["bodies.tar", archiveOf([plainMember("three\n")])],
  ]);
}

const outcome = ({ verdict, codes, first_bad_seq }) => ({ verdict, codes, first_bad_seq });
const NOT_THE_VALUE = { verdict: "invalid", codes: ["L407"], first_bad_seq: 6 };
const VALID = { verdict: "valid", codes: [], first_bad_seq: null };

async function outcomeOf(files, options) {
  return outcome(await verify(runOfFiles(files), schemas, options));
}

function filesOfDelivery(options) {
  const { entries, plan, archive } = deliveredRun(options);
  return { entries, files: new Map([["bodies.tar", archive], ["wave-plan.json", Buffer.from(plan)]]) };
}

test("the worked example of the specification is valid, with the hashes shown there", async () => {
  const files = example();

  const report = await verify(runOfFiles(files), schemas);

  assert.equal(sha256Hex(files.get("bodies.tar")), "1cb67c37c007fdc298f436eb416e170ea8f5c5a1946af02bc00ca697307bed55");
  const entries = Buffer.from(files.get("ledger.jsonl")).toString().trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual([entries[1].prev, entries[2].prev, entries[2].data.root], [...HASHES, ROOT]);
  assert.deepEqual([outcome(report), report.head, report.status], [VALID, HEAD, "passed"]);
  assert.deepEqual(report.levels.map(({ status }) => status), ["ok", "ok", "ok", "not checked", "ok"]);
});

test("a copy that is a link is reported as a link, not as a difference", async () => {
  const answer = { kind: "answer.given", data: { output: "notes" }, bodies: { value: body("three\n") } };
  const files = example().set("ledger.jsonl", ledgerOf([OPENED, answer, sealed()]));
  const run = runOfFiles(files.set("outputs/notes.txt", Buffer.from("three\n")));

  const openRegular = async (path) => (path === "outputs/notes.txt" ? "irregular" : run.directory.openRegular(path));
  const directory = { ...run.directory, openRegular };
  const { findings } = await verify({ ...run, directory }, schemas);

  assert.deepEqual(findings.map(({ code, sentence }) => [code, sentence]), [["L308", "outputs/notes.txt is not a regular file"]]);
});

test("a report matches its schema", async () => {
  const files = example().set("bodies.tar", new Uint8Array(3));

  assert.ok(schemas.check("verify-report.schema.json")(await verify(runOfFiles(files), schemas)));
});

for (const [code, edit] of [
  ["L101", (line) => line.replace("3", `"${"x".repeat(65_535)}"`)],
  ["L102", (line) => `\ufeff${line}`],
  ["L102", (line) => line.replace("3", '"\\ud800"')],
  ["L102", (line) => line.replace("3", "[".repeat(63) + "]".repeat(63))],
  ["L103", (line) => line.replace('"count":3', '"count":3.0')],
  ["L103", (line) => line.replace('"count":3', '"count":9007199254740992')],
  ["L104", (line) => line.replace('"count":3', '"count":-0')],
  ["L104", (line) => line.replace('"count":3', '"count":1,"count":3')],
  ["L105", (line) => line.replace('"actor":"runner"', '"actor":"runner\\n"')],
  ["L106", (line) => line.replace("x-note", "my.note")],
]) {
  test(`${code}: a line with this fault alone has only this finding`, async () => {
    const ledger = ledgerOf([OPENED, NOTE, sealed()], (line, seq) => (seq === 1 ? edit(line) : line));

    const result = await outcomeOf(new Map([["ledger.jsonl", ledger], ["bodies.tar", archiveOf([])]]));

    assert.deepEqual(result, { verdict: "invalid", codes: [code], first_bad_seq: 1 });
  });
}

test("a change of one bit breaks the chain at the next line", async () => {
  const files = example();
  const ledger = files.get("ledger.jsonl");
  ledger[Buffer.from(ledger).indexOf("by-hand")] ^= 1;

  assert.deepEqual(await outcomeOf(files), { verdict: "invalid", codes: ["L201"], first_bad_seq: 1 });
});

test("a truncated ledger is incomplete, not valid", async () => {
  const files = example();
  files.set("ledger.jsonl", files.get("ledger.jsonl").subarray(0, -1));

  assert.deepEqual(await outcomeOf(files), { verdict: "incomplete", codes: ["L501", "L503"], first_bad_seq: 2 });
});

test("a body with changed content is reported at its first reference", async () => {
  const files = example().set("bodies.tar", archiveOf([[`sha256/${sha256Hex("three\n")}`, "threw\n"]]));

  assert.deepEqual(await outcomeOf(files), { verdict: "invalid", codes: ["L303"], first_bad_seq: 1 });
});

test("members out of order are reported at the first misplaced one", async () => {
  const notes = ["a", "b", "c"].map((text) => ({ ...NOTE, bodies: { text: body(text) } }));
  const files = new Map([
    ["ledger.jsonl", ledgerOf([OPENED, ...notes, sealed()])],
    ["bodies.tar", archiveOf(["c", "a", "b"].map(plainMember))],
  ]);

  assert.deepEqual(await outcomeOf(files), { verdict: "invalid", codes: ["L305"], first_bad_seq: 3 });
});

test("an archive that is truncated inside a body has only the finding L301", async () => {
  const files = example();
  files.set("bodies.tar", files.get("bodies.tar").subarray(0, 515));

  assert.deepEqual(await outcomeOf(files), { verdict: "invalid", codes: ["L301"], first_bad_seq: null });
});

test("a valid run of its plan is valid at every level", async () => {
  const { entries, files } = filesOfDelivery();

  const report = await verify(runOfFiles(files.set("ledger.jsonl", ledgerOf(entries))), schemas);

  assert.deepEqual(report.levels.map(({ status }) => status), ["ok", "ok", "ok", "ok", "ok"]);
});

for (const [code, seq, change] of [
  ["L402", 2, (entries) => (entries[2].data.task = "nobody")],
  ["L405", 5, (entries) => (entries[5].data.wave = 2)],
  ["L409", 2, (entries) => (entries[2].data.attempt = 2)],
  ["L411", 2, (entries) => (entries[2].data.tier = "frontier")],
  ["L417", 4, (entries) => Object.assign(entries[4].data, { state: "failed", reason: "error" })],
  ["L420", 10, (entries) => (entries[10].data.counts.passed = 1)],
  ["L421", 10, (entries) => (entries[10].data.totals.calls = 3)],
  ["L422", 10, (entries) => (entries[10].data.status = "failed")],
  ["L426", 3, (entries) => (entries[3].causes = [])],
]) {
  test(`${code}: a run with this fault alone is reported at its entry`, async () => {
    const { entries, files } = filesOfDelivery();
    change(entries);
    files.set("ledger.jsonl", ledgerOf(entries));

    assert.deepEqual(await outcomeOf(files), { verdict: "invalid", codes: [code], first_bad_seq: seq });
  });
}

const STATES = ["passed", "failed", "tolerated", "skipped", "stopped", "refused", "cancelled"];

for (const [instances, permitted] of [
  [["tolerated", "tolerated"], ["tolerated"]],
  [["tolerated", "passed"], ["passed"]],
  [["passed", "passed"], ["passed"]],
  [["passed", "stopped"], ["tolerated", "stopped", "refused", "cancelled"]],
  [[], ["passed", "skipped"]],
]) {
  test(`a task with the instances [${instances}] ends ${permitted.join(" or ")}, and in no other state`, async () => {
    const allowed = [];
    for (const state of STATES) {
      const { entries, plan, archive } = expansion(instances, state);
      const files = new Map([["bodies.tar", archive], ["wave-plan.json", Buffer.from(plan)]]);
      const { codes } = await outcomeOf(files.set("ledger.jsonl", ledgerOf(entries)));
      if (!codes.includes("L417")) allowed.push(state);
      assert.deepEqual(codes.filter((code) => code !== "L417"), ["L501"]);
    }

    assert.deepEqual(allowed, STATES.filter((state) => permitted.includes(state)));
  });
}

test("a call that exceeds a budget is reported at its start", async () => {
  const { entries, files } = filesOfDelivery({ policy: { budget: { calls: 1 } } });
  files.set("ledger.jsonl", ledgerOf(entries));

  assert.deepEqual(await outcomeOf(files), { verdict: "invalid", codes: ["L412"], first_bad_seq: 7 });
});

for (const [claim, options, expected] of [
  ["a value that is delivered unchanged", { value: "hello" }, VALID],
  ["a different value", { value: "hallo" }, NOT_THE_VALUE],
  ["a value that is built from text", { from: { list: [{ task: "first" }] }, value: '["hello"]' }, VALID],
  ["a value at a pointer that leads nowhere", { from: { task: "first", select: "/0" } }, NOT_THE_VALUE],
]) {
  test(`${claim} is compared by its bytes`, async () => {
    const { entries, files } = filesOfDelivery(options);
    files.set("ledger.jsonl", ledgerOf(entries));

    assert.deepEqual(await outcomeOf(files), expected);
  });
}

test("a checkpoint is valid with its own key and not with a different one", async () => {
  const pair = generateKeyPairSync("ed25519");
  const key = keyOf("witness", pair.publicKey);
  const text = checkpointText(RUN, 2, Buffer.from(ROOT, "hex"));
  const signature = Buffer.concat([key.id, sign(null, Buffer.from(text), pair.privateKey)]).toString("base64");
  const checkpoint = Buffer.from(`${text}\n— witness ${signature}\n`);

  assert.deepEqual(await outcomeOf(example(), { checkpoint, key }), VALID);
  const other = keyOf("witness", generateKeyPairSync("ed25519").publicKey);
  const refused = { verdict: "invalid", codes: ["L510"], first_bad_seq: null };
  assert.deepEqual(await outcomeOf(example(), { checkpoint, key: other }), refused);
});

test("a malformed key is a usage error and not ignored", async () => {
  const checkpoint = Buffer.from(checkpointText(RUN, 2, Buffer.from(ROOT, "hex")));
  const key = readKey(Buffer.from("witness+00000000+\n"));

  assert.equal(key, null);
  await assert.rejects(outcomeOf(example(), { checkpoint, key }), UsageError);
  assert.throws(() => checkProof(Buffer.from("{}"), schemas, { key }), UsageError);
});

function keyOf(name, publicKey) {
  const raw = Buffer.concat([Buffer.of(1), publicKey.export({ format: "der", type: "spki" }).subarray(-32)]);
  const id = createHash("sha256").update(`${name}\n`).update(raw).digest("hex").slice(0, 8);
  return readKey(Buffer.from(`${name}+${id}+${raw.toString("base64")}\n`));
}

test("a ledger with fewer entries than its pin is invalid", async () => {
  const pin = Buffer.from(checkpointText(RUN, 4, Buffer.alloc(32)));

  assert.deepEqual(await outcomeOf(example(), { pin }), { verdict: "invalid", codes: ["L512"], first_bad_seq: null });
});

test("a malformed pin is a usage error", async () => {
  await assert.rejects(outcomeOf(example(), { pin: Buffer.from("x") }), UsageError);
});
