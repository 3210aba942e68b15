// @ts-check
/** The rules for starting tasks and delivering data: waves, instances, edges, routes, gates (LEDGER-SEMANTICS-004 to 009). */

import { ensure, ensureCause } from "./rule_violation.js";
import { sourcesOf } from "./plan.js";
import { Unit } from "./state.js";
import { IMPOSSIBLE, UNDECIDED } from "./values.js";

/** @typedef {import("./state.js").RunState} RunState */
/** @typedef {import("./state.js").Task} Task */

/**
 * Checks that a task may start: its wave is open, and its dependencies have ended.
 * @param {RunState} state
 * @param {Task} task
 */
export function ensureTaskMayStart(state, task) {
  const isOpen = state.plan.policy.dispatch !== "waves" || task.wave < state.wavesOpened;
  ensure(isOpen, "L405", `the wave of '${task.id}' is not open`);
  ensureEnded(state, task.dependencies);
  ensurePassed(state, task.dataSources);
}

/**
 * @param {RunState} state
 * @param {string[]} ids
 */
function ensureEnded(state, ids) {
  for (const id of ids) ensure(state.task(id).ending !== null, "L403", `'${id}' has not ended`);
}

/**
 * @param {RunState} state
 * @param {string[]} ids
 */
function ensurePassed(state, ids) {
  for (const id of ids) ensure(state.task(id).ending?.state === "passed", "L404", `'${id}' has not passed`);
}

/**
 * Checks the preconditions of a unit's first attempt or reuse.
 * @param {RunState} state
 * @param {Unit} unit
 */
export function ensureUnitMayStart(state, unit) {
  ensureTaskMayStart(state, unit.task);
  for (const name of unit.edges().keys()) {
    ensure(unit.delivered.has(name), "L406", `'${name}' was not delivered to '${unit.id}'`);
  }
  const isApproved = unit.task.spec.gate === undefined || unit.gate?.decision?.value === "approved";
  ensure(isApproved, "L414", `the gate of '${unit.id}' is not approved`);
}

/**
 * @param {RunState} state
 * @param {any} entry
 */
export function waveOpened(state, entry) {
  const { waves, policy } = state.plan;
  const { wave } = entry.data;
  const isNext = policy.dispatch === "waves" && wave === state.wavesOpened && wave < waves.length;
  ensure(isNext, "L405", `wave ${wave} is not the next one`);
  // The waves before the previous one were checked when the previous one was opened.
  const previous = wave === 0 ? [] : waves[wave - 1];
  const haveEnded = previous.every((/** @type {string} */ id) => state.task(id).ending !== null);
  ensure(haveEnded, "L405", `wave ${wave - 1} has not ended`);
  state.wavesOpened++;
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Task} task
 */
export async function taskExpanded(state, entry, task) {
  ensure(task.expansion === null && task.ending === null, "L409", `'${task.id}' is already expanded or has ended`);
  ensureTaskMayStart(state, task);
  const { instances } = entry.data;
  const { items } = entry.bodies;
  const { from, max } = task.spec.foreach;
  ensure(instances <= max, "L419", `'${task.id}' has ${instances} instances, but its maximum is ${max}`);
  const list = await state.values.list(items);
  const isList = list === UNDECIDED || (list !== IMPOSSIBLE && list.length === instances);
  ensure(isList, "L419", `items is not a list of length ${instances}`);
  ensure((await state.values.matches(from, items)) !== false, "L419", "items is not the value of the foreach");
  task.expansion = { seq: entry.seq, items };
  for (let i = 0; i < instances; i++) state.addUnit(new Unit(`${task.id}[${i}]`, task, i));
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
export async function edgeDelivered(state, entry, unit) {
  const name = entry.data.as;
  const isDue = !unit.hasStarted && unit.ending === null && !unit.delivered.has(name);
  ensure(isDue, "L409", `'${name}' cannot be delivered to '${unit.id}'`);
  const expression = unit.edges().get(name);
  const isItem = expression === null;
  const isValue = await (isItem ? checkItem(state, entry, unit) : checkValue(state, entry, expression));
  ensure(isValue !== false, "L407", `the body delivered as '${name}' is not the value of its source`);
  unit.delivered.set(name, entry.seq);
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {any} expression
 */
function checkValue(state, entry, expression) {
  const sources = sourcesOf(expression);
  ensureEnded(state, sources);
  ensurePassed(state, sources);
  ensureCause(entry, state.lastEnding(sources));
  return state.values.matches(expression, entry.bodies.value);
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
function checkItem(state, entry, unit) {
  const { seq, items } = /** @type {NonNullable<Task["expansion"]>} */ (unit.task.expansion);
  ensureCause(entry, seq);
  return state.values.isItem(items, /** @type {number} */ (unit.index), entry.bodies.value);
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
export function routeDecided(state, entry, unit) {
  const { lane, escalate = [] } = unit.task.spec;
  const isDue = lane !== undefined && unit.agent === null && !unit.hasStarted && unit.ending === null;
  ensure(isDue, "L411", `'${unit.id}' cannot be routed`);
  const agent = state.plan.agents[entry.data.agent];
  const higherTiers = escalate.filter((/** @type {string} */ tier) => tier in agent.adapters);
  unit.agent = entry.data.agent;
  unit.ladder = [agent.tier, ...higherTiers].map((tier) => ({ tier, adapter: agent.adapters[tier] }));
}

/**
 * @param {RunState} _
 * @param {any} entry
 * @param {Unit} unit
 */
export function gateOpened(_, entry, unit) {
  const { gate } = unit.task.spec;
  const isDue = gate !== undefined && unit.gate === null && !unit.hasStarted && unit.ending === null;
  ensure(isDue, "L414", `no gate of '${unit.id}' can be opened`);
  const { deadline } = entry.data;
  const hasDeadline = deadline !== undefined;
  const sentence = `the gate of '${unit.id}' has ${hasDeadline ? "a" : "no"} deadline, unlike in the plan`;
  ensure(hasDeadline === (gate.deadline_ms !== undefined), "L414", sentence);
  unit.gate = { seq: entry.seq, displayed: entry.bodies.displayed.digest, deadline, decision: null };
}

/**
 * @param {RunState} _
 * @param {any} entry
 * @param {Unit} unit
 */
export function gateDecided(_, entry, unit) {
  const { decision, by, displayed } = entry.data;
  const gate = unit.gate;
  if (gate === null || gate.decision !== null) return ensure(false, "L414", `the gate of '${unit.id}' is not open`);
  ensure(displayed === gate.displayed, "L414", "the decision refers to a body that was not displayed");
  const isDeadlineReached = gate.deadline !== undefined && entry.at >= gate.deadline;
  if (by === "deadline") {
    const planned = unit.task.spec.gate.on_deadline === "approve" ? "approved" : "rejected";
    ensure(isDeadlineReached, "L414", "the deadline is not reached");
    ensure(decision === planned, "L414", `at its deadline, the gate must be ${planned}`);
  } else {
    ensure(!isDeadlineReached, "L414", "a person decides after the deadline");
  }
  ensureCause(entry, gate.seq);
  gate.decision = { seq: entry.seq, value: decision };
}
