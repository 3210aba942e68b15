// @ts-check
/** Level 4: check that the entries describe a valid run of the wave plan (LEDGER-SEMANTICS-001 to 003). */

import { LineReader } from "../lines.js";
import { ensure, RuleViolation } from "./rule_violation.js";
import * as calls from "./calls.js";
import * as dispatch from "./dispatch.js";
import * as endings from "./endings.js";
import { readPlan } from "./plan.js";
import { RunState } from "./state.js";
import { Values } from "./values.js";

/** @typedef {import("./state.js").Unit} Unit */
/** @typedef {import("./state.js").Task} Task */
/** @typedef {(state: RunState, entry: any, unit: any, task: any) => void | Promise<void>} Rule */

/** @type {Record<string, Rule>} */
const RULES = {
  "run.paused": (state) => void (state.isPaused = true),
  "run.resumed": runResumed,
  "run.sealed": endings.runSealed,
  "wave.opened": dispatch.waveOpened,
  "route.decided": dispatch.routeDecided,
  "task.expanded": (state, entry, _, task) => dispatch.taskExpanded(state, entry, task),
  "task.started": calls.taskStarted,
  "task.finished": calls.taskFinished,
  "task.lost": calls.taskLost,
  "task.reused": calls.taskReused,
  "task.ended": endings.taskEnded,
  "edge.delivered": dispatch.edgeDelivered,
  "gate.opened": dispatch.gateOpened,
  "gate.decided": dispatch.gateDecided,
  "verdict.asked": calls.verdictAsked,
  "verdict.given": calls.verdictGiven,
  "verdict.lost": calls.verdictLost,
  "escalation.raised": calls.escalationRaised,
  "answer.given": endings.answerGiven,
};
const ALLOWED_WHILE_PAUSED = new Set(["gate.decided", "body.redacted", "run.repaired", "run.resumed"]);
const CALL_STARTS = new Set(["task.started", "verdict.asked"]);
const TEMPLATE_KINDS = new Set(["task.expanded", "task.ended"]);
const EDGE_KINDS = new Set(["edge.delivered", "context.cut"]);

/** @param {RunState} state */
function runResumed(state) {
  state.isPaused = false;
  for (const call of state.calls) call.isOrphan = true;
  state.orphans = state.calls.size;
}

/**
 * @param {RunState} state
 * @param {string} kind
 */
function ensureAllowedNow(state, kind) {
  ensure(!state.isPaused || ALLOWED_WHILE_PAUSED.has(kind), "L424", `${kind} is not allowed while the run is paused`);
  ensure(kind !== "run.paused" || state.calls.size === 0, "L424", "the run is paused while a call is open");
  ensure(!CALL_STARTS.has(kind) || state.orphans === 0, "L424", "an orphan is not recorded as lost yet");
}

/**
 * The unit or task that an entry refers to. Throws if the entry refers to something that does not exist.
 * @param {RunState} state
 * @param {any} entry
 * @returns {{unit: Unit | null, task: Task | null}}
 */
function subjectOf(state, { kind, data }) {
  if (kind === "answer.given") ensure(data.output in state.plan.outputs, "L402", `unknown output '${data.output}'`);
  if (data.task === undefined) return { unit: null, task: null };
  const template = TEMPLATE_KINDS.has(kind) ? state.tasks.get(data.task) : undefined;
  if (template?.isTemplate) return { unit: null, task: template };
  const unit = kind === "task.expanded" ? undefined : state.units.get(data.task);
  if (unit === undefined) throw new RuleViolation("L402", `'${data.task}' is not a task or an instance that can have ${kind}`);
  if (EDGE_KINDS.has(kind)) ensure(unit.edges().has(data.as), "L402", `'${unit.id}' has no edge '${data.as}'`);
  if (data.check !== undefined) {
    ensure(data.check < (unit.task.spec.accept ?? []).length, "L402", `'${unit.id}' has no check ${data.check}`);
  }
  if (kind === "route.decided") ensure(data.agent in state.plan.agents, "L402", `unknown agent '${data.agent}'`);
  return { unit, task: unit.task };
}

/**
 * @param {RunState} state
 * @param {any} entry
 */
async function checkEntry(state, entry) {
  ensureAllowedNow(state, entry.kind);
  const { unit, task } = subjectOf(state, entry);
  await RULES[entry.kind]?.(state, entry, unit, task);
}

/**
 * @param {RunState} state
 * @param {import("../sources.js").ByteSource} ledger
 * @param {(seq: number) => void} onEntry receives the seq of each entry before it is checked
 */
async function checkAll(state, ledger, onEntry) {
  for await (const batch of new LineReader(ledger).batches()) {
    for (const line of batch) {
      // Every line passed level 1, so the platform's faster parser returns the same values.
      const entry = JSON.parse(new TextDecoder().decode(line.bytes ?? undefined));
      onEntry(entry.seq);
      if (!entry.kind.startsWith("x-")) await checkEntry(state, entry);
    }
  }
}

/**
 * Checks level 4 and adds its finding, if any. Levels 1 and 2 must be valid.
 * @param {import("../sources.js").ByteSource} ledger
 * @param {any} opened the first entry, or null
 * @param {import("../bodies.js").BodyStore} store
 * @param {import("../schema.js").Schemas} schemas
 * @param {import("../findings.js").Findings} findings
 * @returns {Promise<string | null>} why level 4 was not checked, or null
 */
export async function checkSemantics(ledger, opened, store, schemas, findings) {
  const reference = opened?.bodies.wave_plan;
  if (reference === undefined) return "the ledger has no wave plan";
  const body = await store.read(reference);
  if (body === null) return "the wave plan is redacted, missing or altered";
  let seq = 0;
  try {
    const plan = readPlan(body, opened, schemas);
    const state = new RunState(plan, (runState) => new Values(store, runState));
    await checkAll(state, ledger, (next) => (seq = next));
  } catch (error) {
    if (!(error instanceof RuleViolation)) throw error;
    findings.add(error.code, seq, error.message);
  }
  return null;
}
