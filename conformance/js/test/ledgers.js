/** Ledgers and archives for tests, created with as little of the tested code as possible. */

import { createHash } from "node:crypto";
import { headerOf } from "../archive.js";
import { canonicalText } from "../canonical.js";
import { GrowingTree } from "../merkle.js";

export const RUN = "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f";
const JSON_TYPE = "application/json";
const FIRST_PREV = "0".repeat(64);
const COUNTS = { cancelled: 0, failed: 0, passed: 0, refused: 0, skipped: 0, stopped: 0, tolerated: 0 };
const NOTHING = { input_tokens: 0, output_tokens: 0, micro_usd: 0, output_bytes: 0 };
const USAGE = { ...NOTHING, cached_input_tokens: 0, wall_ms: 0 };
const WORKER = { agent: "worker", ladder: [{ tier: "cheap", adapter: "script" }] };
const IMPLEMENTATION = { name: "by-hand", version: "1" };

export function sha256Hex(...parts) {
  return parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest("hex");
}

export const OPENED = { kind: "run.opened", data: { format: 1, implementation: IMPLEMENTATION, mode: "live" } };
export const NOTE = { kind: "x-note", data: { count: 3 } };

export function sealed({ passed = 0, calls = 0, status = "passed" } = {}) {
  const data = { status, counts: { ...COUNTS, passed }, totals: { ...USAGE, calls }, root: null };
  return { kind: "run.sealed", data };
}

export function body(text, type = "text/plain") {
  return { digest: sha256Hex(text), bytes: Buffer.byteLength(text), type };
}

/** The bytes of a ledger: entries chained, seals with their roots. `edit` changes a line before it is hashed. */
export function ledgerOf(entries, edit = (line) => line) {
  const tree = new GrowingTree();
  let prev = FIRST_PREV;
  const lines = entries.map((entry, seq) => {
    const base = { v: 1, run: RUN, seq, at: "2026-11-15T09:00:00.000000Z", actor: "runner", prev };
    const full = { ...base, causes: [], bodies: {}, ...structuredClone(entry) };
    if (full.kind === "run.sealed") full.data.root = Buffer.from(tree.root()).toString("hex");
    const line = Buffer.from(edit(canonicalText(full), seq));
    prev = sha256Hex(Buffer.of(0), line);
    tree.append(Buffer.from(prev, "hex"));
    return Buffer.concat([line, Buffer.from("\n")]);
  });
  return new Uint8Array(Buffer.concat(lines));
}

/** The bytes of an archive of members, each a name and a text. */
export function archiveOf(members, hasEnd = true) {
  const parts = members.flatMap(([name, text]) => {
    const content = Buffer.from(text);
    return [headerOf(Buffer.from(name), content.length), content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return new Uint8Array(Buffer.concat([...parts, Buffer.alloc(hasEnd ? 1024 : 0)]));
}

export const plainMember = (text) => [`sha256/${sha256Hex(text)}`, text];

function openedWith(plan) {
  const data = { ...OPENED.data, wave_plan: plan.digest, bundle: sha256Hex("[]") };
  return { ...OPENED, data, bodies: { wave_plan: body(canonicalText(plan), JSON_TYPE) } };
}

/** The entries, archive and wave plan of a run with two tasks: the second receives the output of the first. */
export function deliveredRun({ from = { task: "first" }, value = "hello", policy = {}, output = "hello" } = {}) {
  const plan = planOf({ first: WORKER, second: { ...WORKER, needs: [{ edge: "data", as: "word", from }] } }, policy);
  const text = canonicalText(plan);
  const entries = [
    openedWith(plan),
    { kind: "wave.opened", data: { wave: 0 } },
    ...attempt("first", output, 2, []),
    { kind: "wave.opened", data: { wave: 1 } },
    { kind: "edge.delivered", data: { task: "second", as: "word" }, bodies: { value: body(value) }, causes: [4] },
    ...attempt("second", "done", 7, [6]),
    sealed({ passed: 2, calls: 2 }),
  ];
  const texts = [...new Set([text, output, value, "done"])];
  return { entries, plan: text, archive: archiveOf(texts.map(plainMember)) };
}

/**
 * The entries, archive and wave plan of a run that is not sealed. The task `each`, whose failure is allowed, ends in `state`
 * after its instances. An instance passed after one attempt, or ended in a different state without an attempt.
 */
export function expansion(instances, state) {
  const foreach = { from: { task: "first" }, as: "item", max: 2 };
  const plan = planOf({ first: WORKER, each: { ...WORKER, foreach, allow_failure: true } }, { dispatch: "eager" });
  const items = JSON.stringify(instances.map((_, index) => index));
  const data = { task: "each", instances: instances.length };
  const entries = [
    openedWith(plan),
    ...attempt("first", items, 1, [], JSON_TYPE),
    { kind: "task.expanded", data, bodies: { items: body(items, JSON_TYPE) } },
  ];
  instances.forEach((ended, index) => entries.push(...instanceOf(index, ended, entries.length)));
  entries.push(ending("each", state));
  const used = instances.flatMap((ended, index) => (ended === "passed" ? [`${index}`, "done"] : []));
  const texts = [...new Set([canonicalText(plan), items, ...used])];
  return { entries, plan: texts[0], archive: archiveOf(texts.map(plainMember)) };
}

function instanceOf(index, state, seq) {
  const task = `each[${index}]`;
  if (state !== "passed") return [ending(task, state)];
  const bodies = { value: body(`${index}`, JSON_TYPE) };
  const delivered = { kind: "edge.delivered", data: { task, as: "item" }, bodies, causes: [4] };
  return [delivered, ...attempt(task, "done", seq + 1, [seq])];
}

function ending(task, state) {
  return { kind: "task.ended", data: { task, state, ...(state === "passed" ? {} : { reason: "error" }) } };
}

function attempt(task, output, seq, causes, type = "text/plain") {
  const worker = { agent: "worker", tier: "cheap", adapter: "script", fingerprint: FIRST_PREV };
  const started = { task, attempt: 1, ...worker, reserved: NOTHING };
  const finished = { task, attempt: 1, status: "ok", usage: USAGE, measured: true };
  return [
    { kind: "task.started", data: started, causes },
    { kind: "task.finished", data: finished, bodies: { output: body(output, type) }, causes: [seq] },
    { kind: "task.ended", data: { task, state: "passed" }, causes: [seq + 1] },
  ];
}

function planOf(tasks, policy) {
  const retry = { attempts: 1, backoff_ms: 0, max_backoff_ms: 0 };
  const allow = { agents: [], adapters: [], commands: [], hosts: [], env: [] };
  const plan = {
    apiVersion: "forum/v1",
    kind: "WavePlan",
    metadata: { name: "hand-over" },
    policy: {
      max_parallel: 1,
      dispatch: "waves",
      budget: {},
      allow,
      retry,
      rates: {},
      on_failure: "stop",
      privacy: { sensitive: false, scrub_env: [] },
      durability: "none",
      ...policy,
    },
    adapters: { script: { type: "scripted" } },
    agents: { worker: { tier: "cheap", adapters: { cheap: "script" } } },
    inputs: {},
    schemas: {},
    tasks,
    waves: Object.keys(tasks).map((id) => [id]),
    outputs: {},
  };
  return { ...plan, bundle: [], digest: sha256Hex(canonicalText(plan)) };
}
