// @ts-check
/** Level 4: check that the entries describe a valid run of the wave plan (LEDGER-SEMANTICS-001 to 003). */

import { LineReader } from "../lines.js";
import { ask, Broken } from "./broken.js";
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
const WHILE_PAUSED = new Set(["gate.decided", "body.redacted", "run.repaired", "run.resumed"]);
const BEGINS_A_CALL = new Set(["task.started", "verdict.asked"]);
const OF_A_TEMPLATE = new Set(["task.expanded", "task.ended"]);
const ABOUT_AN_EDGE = new Set(["edge.delivered", "context.cut"]);

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
function askPauses(state, kind) {
  ask(!state.isPaused || WHILE_PAUSED.has(kind), "L424", `${kind} cannot stand while the run is paused`);
  ask(kind !== "run.paused" || state.calls.size === 0, "L424", "a call is open");
  ask(!BEGINS_A_CALL.has(kind) || state.orphans === 0, "L424", "an orphan is not lost yet");
}

/**
 * The unit or task that an entry is about; requires that everything it names exists.
 * @param {RunState} state
 * @param {any} entry
 * @returns {{unit: Unit | null, task: Task | null}}
 */
function subjectOf(state, { kind, data }) {
  if (kind === "answer.given") ask(data.output in state.plan.outputs, "L402", `unknown output '${data.output}'`);
  if (data.task === undefined) return { unit: null, task: null };
  const template = OF_A_TEMPLATE.has(kind) ? state.tasks.get(data.task) : undefined;
  if (template?.isTemplate) return { unit: null, task: template };
  const unit = kind === "task.expanded" ? undefined : state.units.get(data.task);
  if (unit === undefined) throw new Broken("L402", `no '${data.task}' can have ${kind}`);
  if (ABOUT_AN_EDGE.has(kind)) ask(unit.edges().has(data.as), "L402", `'${unit.id}' has no edge '${data.as}'`);
  if (data.check !== undefined) {
    ask(data.check < (unit.task.spec.accept ?? []).length, "L402", `'${unit.id}' has no check ${data.check}`);
  }
  if (kind === "route.decided") ask(data.agent in state.plan.agents, "L402", `unknown agent '${data.agent}'`);
  return { unit, task: unit.task };
}

/**
 * @param {RunState} state
 * @param {any} entry
 */
async function take(state, entry) {
  askPauses(state, entry.kind);
  const { unit, task } = subjectOf(state, entry);
  await RULES[entry.kind]?.(state, entry, unit, task);
}

/**
 * @param {RunState} state
 * @param {import("../sources.js").ByteSource} ledger
 * @param {(seq: number) => void} at is told which entry is looked at
 */
async function takeAll(state, ledger, at) {
  for await (const batch of new LineReader(ledger).batches()) {
    for (const line of batch) {
      // Every line passed level 1, so the platform's faster parser returns the same values.
      const entry = JSON.parse(new TextDecoder().decode(line.bytes ?? undefined));
      at(entry.seq);
      if (!entry.kind.startsWith("x-")) await take(state, entry);
    }
  }
}

/**
 * Adds the finding of level 4, if any. Levels 1 and 2 must be valid.
 * @param {import("../sources.js").ByteSource} ledger
 * @param {any} opened the first entry, or null
 * @param {import("../bodies.js").BodyStore} store
 * @param {import("../schema.js").Schemas} schemas
 * @param {import("../findings.js").Findings} findings
 * @returns {Promise<string | null>} why it was not looked at
 */
export async function replay(ledger, opened, store, schemas, findings) {
  const naming = opened?.bodies.wave_plan;
  if (naming === undefined) return "the ledger has no wave plan";
  const body = await store.read(naming);
  if (body === null) return "the wave plan is redacted, missing or wrong";
  let seq = 0;
  try {
    const plan = readPlan(body, opened, schemas);
    const state = new RunState(plan, (own) => new Values(store, own));
    await takeAll(state, ledger, (next) => (seq = next));
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    findings.add(error.code, seq, error.message);
  }
  return null;
}
