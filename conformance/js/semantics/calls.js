// @ts-check
/** Attempts and checks, from start to end (LEDGER-SEMANTICS-010 to 013). */

import { ensure, ensureCause } from "./rule_violation.js";
import { ensureUnitMayStart } from "./dispatch.js";

/** @typedef {import("./state.js").RunState} RunState */
/** @typedef {import("./state.js").Unit} Unit */
/** @typedef {import("./state.js").Attempt} Attempt */

/** @param {RunState} state */
function ensureParallelLimit(state) {
  ensure(state.calls.size < state.plan.policy.max_parallel, "L413", "the call exceeds the policy's limit of parallel calls");
}

/**
 * @param {Unit} unit
 * @param {number} attempt
 */
function ensureNextAttempt(unit, attempt) {
  const isIdle = unit.ending === null && !unit.isReused && unit.call === null && !unit.holds();
  ensure(isIdle && attempt === unit.attempts + 1, "L409", `attempt ${attempt} of '${unit.id}' cannot start`);
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
export function taskStarted(state, entry, unit) {
  const { attempt, agent, tier, adapter, reserved } = entry.data;
  ensureNextAttempt(unit, attempt);
  if (attempt === 1) ensureUnitMayStart(state, unit);
  const step = unit.ladder[unit.step];
  const isCurrentStep = agent === unit.agent && tier === step?.tier && adapter === step.adapter;
  ensure(isCurrentStep, "L411", `the current step of '${unit.id}' is not ${agent}, ${tier}, ${adapter}`);
  const { attempts } = unit.task.spec.retry ?? state.plan.policy.retry;
  ensure(unit.attemptsAtStep < attempts, "L410", `'${unit.id}' has no attempts left at this step`);
  const reservation = state.budgets.reserve(agent, unit.task.id, reserved);
  ensureParallelLimit(state);
  for (const cause of causesOfStart(unit)) ensureCause(entry, cause);
  unit.attempt = { number: attempt, status: "open", closedSeq: -1, passed: 0, hasFailed: false };
  unit.attemptsAtStep++;
  state.open({ unit, seq: entry.seq, check: null, by: "agent", reservation });
}

/** @param {Unit} unit */
function causesOfStart(unit) {
  if (unit.attempt !== null) return [unit.attempt.closedSeq];
  // The map keeps deliveries in the order of their entries.
  return [[...unit.delivered.values()].at(-1) ?? null, unit.gate?.decision?.seq ?? null];
}

/**
 * The open attempt that an entry closes.
 * @param {any} entry
 * @param {Unit} unit
 */
function openAttempt(entry, unit) {
  const { call } = unit;
  const isOpen = call !== null && call.check === null && unit.attempts === entry.data.attempt;
  ensure(isOpen, "L408", `attempt ${entry.data.attempt} of '${unit.id}' is not open`);
  return /** @type {import("./state.js").Call} */ (call);
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
export function taskFinished(state, entry, unit) {
  const call = openAttempt(entry, unit);
  ensure(!call.isOrphan, "L408", "the attempt is an orphan and can only be lost");
  ensureCause(entry, call.seq);
  closeAttempt(unit, entry.data.status, entry.seq);
  if (entry.data.status === "ok") unit.output = entry.bodies.output;
  state.close(call, entry.data.usage);
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
export function taskLost(state, entry, unit) {
  const call = openAttempt(entry, unit);
  ensureCause(entry, call.seq);
  closeAttempt(unit, "lost", entry.seq);
  state.close(call, null);
}

/**
 * @param {Unit} unit
 * @param {string} status
 * @param {number} seq
 */
function closeAttempt(unit, status, seq) {
  const attempt = /** @type {Attempt} */ (unit.attempt);
  attempt.status = status;
  attempt.closedSeq = seq;
  if (status === "lost" || status === "cancelled") unit.attemptsAtStep--;
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
export function taskReused(state, entry, unit) {
  ensureNextAttempt(unit, 1);
  ensureUnitMayStart(state, unit);
  unit.isReused = true;
  unit.output = entry.bodies.output;
}

/**
 * @param {Unit} unit
 * @param {{attempt: number, check: number, by: string}} data
 */
function ensureNextCheck(unit, { attempt, check, by }) {
  const last = unit.attempt;
  const canBeChecked = unit.ending === null && unit.call === null && last?.number === attempt && last.status === "ok";
  const isNext = canBeChecked && !last.hasFailed && check === last.passed && by in unit.task.spec.accept[check];
  ensure(isNext, "L415", `check ${check} of '${unit.id}' is not the next one`);
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
export function verdictAsked(state, entry, unit) {
  const { check, by, agent = null, tier, adapter, reserved } = entry.data;
  ensureNextCheck(unit, entry.data);
  if (by === "agent") {
    const name = unit.task.spec.accept[check].agent;
    const judge = state.plan.agents[name];
    const isJudge = agent === name && tier === judge.tier && adapter === judge.adapters[tier];
    ensure(isJudge, "L411", `the agent, tier and adapter of the check are not ${agent}, ${tier}, ${adapter}`);
  }
  const reservation = state.budgets.reserve(agent, unit.task.id, reserved);
  ensureParallelLimit(state);
  ensureCause(entry, unit.closedSeq);
  state.open({ unit, seq: entry.seq, check, by, reservation });
}

/**
 * The open check that an entry closes.
 * @param {any} entry
 * @param {Unit} unit
 */
function openCheck(entry, unit) {
  const { attempt, check } = entry.data;
  const { call } = unit;
  const isOpen = call !== null && call.check === check && unit.attempts === attempt;
  ensure(isOpen, "L408", `check ${check} of '${unit.id}' is not open`);
  return /** @type {import("./state.js").Call} */ (call);
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
export function verdictGiven(state, entry, unit) {
  const { by, verdict, usage } = entry.data;
  if (by === "schema") {
    ensureNextCheck(unit, entry.data);
    ensureCause(entry, unit.closedSeq);
  } else {
    const call = openCheck(entry, unit);
    ensure(call.by === by && !call.isOrphan, "L408", "the check was asked with a different `by`, or is an orphan");
    ensureCause(entry, call.seq);
    state.close(call, usage);
  }
  const attempt = /** @type {Attempt} */ (unit.attempt);
  if (verdict === "pass") attempt.passed++;
  if (verdict === "fail") attempt.hasFailed = true;
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
export function verdictLost(state, entry, unit) {
  const call = openCheck(entry, unit);
  ensureCause(entry, call.seq);
  state.close(call, null);
}

/**
 * @param {RunState} _
 * @param {any} entry
 * @param {Unit} unit
 */
export function escalationRaised(_, entry, unit) {
  const { from, to } = entry.data;
  const isDue = unit.ending === null && unit.attempt !== null && unit.call === null && !unit.holds();
  const isNext = from === unit.ladder[unit.step]?.tier && to === unit.ladder[unit.step + 1]?.tier;
  ensure(isDue && isNext, "L418", `'${unit.id}' cannot escalate from ${from} to ${to}`);
  ensureCause(entry, unit.closedSeq);
  unit.step++;
  unit.attemptsAtStep = 0;
}
