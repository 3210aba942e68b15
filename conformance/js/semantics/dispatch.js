// @ts-check
/** When tasks may start, and what they receive: waves, instances, edges, routes, gates (LEDGER-SEMANTICS-004 to 009). */

import { ask, askCause } from "./broken.js";
import { sourcesOf } from "./plan.js";
import { Unit } from "./state.js";
import { CANNOT, UNDECIDED } from "./values.js";

/** @typedef {import("./state.js").RunState} RunState */
/** @typedef {import("./state.js").Task} Task */

/**
 * Requires that a task may start.
 * @param {RunState} state
 * @param {Task} task
 */
export function askMayBegin(state, task) {
  const isOpen = state.plan.policy.dispatch !== "waves" || task.wave < state.wavesOpened;
  ask(isOpen, "L405", `the wave of '${task.id}' is not open`);
  askEnded(state, task.dependencies);
  askPassed(state, task.feeders);
}

/**
 * @param {RunState} state
 * @param {string[]} ids
 */
function askEnded(state, ids) {
  for (const id of ids) ask(state.task(id).ended !== null, "L403", `'${id}' has not ended`);
}

/**
 * @param {RunState} state
 * @param {string[]} ids
 */
function askPassed(state, ids) {
  for (const id of ids) ask(state.task(id).ended?.state === "passed", "L404", `'${id}' did not end passed`);
}

/**
 * Checks the preconditions of a unit's first attempt or reuse.
 * @param {RunState} state
 * @param {Unit} unit
 */
export function askMayStart(state, unit) {
  askMayBegin(state, unit.task);
  for (const name of unit.edges().keys()) {
    ask(unit.delivered.has(name), "L406", `'${name}' was not delivered to '${unit.id}'`);
  }
  const isApproved = unit.task.spec.gate === undefined || unit.gate?.decided?.decision === "approved";
  ask(isApproved, "L414", `the gate of '${unit.id}' is not approved`);
}

/**
 * @param {RunState} state
 * @param {any} entry
 */
export function waveOpened(state, entry) {
  const { waves, policy } = state.plan;
  const { wave } = entry.data;
  const isNext = policy.dispatch === "waves" && wave === state.wavesOpened && wave < waves.length;
  ask(isNext, "L405", `wave ${wave} is not the next one`);
  // Each opening has checked this for the previous wave, so one wave is enough.
  const before = wave === 0 ? [] : waves[wave - 1];
  const haveEnded = before.every((/** @type {string} */ id) => state.task(id).ended !== null);
  ask(haveEnded, "L405", `wave ${wave - 1} has not ended`);
  state.wavesOpened++;
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Task} task
 */
export async function taskExpanded(state, entry, task) {
  ask(task.expanded === null && task.ended === null, "L409", `'${task.id}' was expanded or has ended`);
  askMayBegin(state, task);
  const { instances } = entry.data;
  const { items } = entry.bodies;
  const { from, max } = task.spec.foreach;
  ask(instances <= max, "L419", `'${task.id}' has more instances than its bound`);
  const list = await state.values.list(items);
  const isList = list === UNDECIDED || (list !== CANNOT && list.length === instances);
  ask(isList, "L419", "the items are not a list of that length");
  ask((await state.values.is(from, items)) !== false, "L419", "the items are not the value of the foreach");
  task.expanded = { seq: entry.seq, items };
  for (let i = 0; i < instances; i++) state.addUnit(new Unit(`${task.id}[${i}]`, task, i));
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
export async function edgeDelivered(state, entry, unit) {
  const name = entry.data.as;
  const isDue = !unit.hasBegun && unit.ended === null && !unit.delivered.has(name);
  ask(isDue, "L409", `'${name}' cannot be delivered to '${unit.id}'`);
  const expression = unit.edges().get(name);
  const isItem = expression === null;
  const isValue = await (isItem ? itemDelivered(state, entry, unit) : valueDelivered(state, entry, expression));
  ask(isValue !== false, "L407", `the body delivered as '${name}' is not the value`);
  unit.delivered.set(name, entry.seq);
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {any} expression
 */
function valueDelivered(state, entry, expression) {
  const sources = sourcesOf(expression);
  askEnded(state, sources);
  askPassed(state, sources);
  askCause(entry, state.lastEnding(sources));
  return state.values.is(expression, entry.bodies.value);
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
function itemDelivered(state, entry, unit) {
  const { seq, items } = /** @type {NonNullable<Task["expanded"]>} */ (unit.task.expanded);
  askCause(entry, seq);
  return state.values.isItem(items, /** @type {number} */ (unit.index), entry.bodies.value);
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
export function routeDecided(state, entry, unit) {
  const { lane, escalate = [] } = unit.task.spec;
  const isDue = lane !== undefined && unit.agent === null && !unit.hasBegun && unit.ended === null;
  ask(isDue, "L411", `'${unit.id}' cannot be routed`);
  const agent = state.plan.agents[entry.data.agent];
  const climbed = escalate.filter((/** @type {string} */ tier) => tier in agent.adapters);
  unit.agent = entry.data.agent;
  unit.ladder = [agent.tier, ...climbed].map((tier) => ({ tier, adapter: agent.adapters[tier] }));
}

/**
 * @param {RunState} _
 * @param {any} entry
 * @param {Unit} unit
 */
export function gateOpened(_, entry, unit) {
  const { gate } = unit.task.spec;
  const isDue = gate !== undefined && unit.gate === null && !unit.hasBegun && unit.ended === null;
  ask(isDue, "L414", `no gate to open for '${unit.id}'`);
  const { deadline } = entry.data;
  ask((deadline !== undefined) === (gate.deadline_ms !== undefined), "L414", "the deadline is not the plan's");
  unit.gate = { seq: entry.seq, displayed: entry.bodies.displayed.digest, deadline, decided: null };
}

/**
 * @param {RunState} _
 * @param {any} entry
 * @param {Unit} unit
 */
export function gateDecided(_, entry, unit) {
  const { decision, by, displayed } = entry.data;
  const gate = unit.gate;
  if (gate === null || gate.decided !== null) return ask(false, "L414", `no gate of '${unit.id}' is open`);
  ask(displayed === gate.displayed, "L414", "the decision is about another body than the displayed one");
  const isOver = gate.deadline !== undefined && entry.at >= gate.deadline;
  if (by === "deadline") {
    const planned = unit.task.spec.gate.on_deadline === "approve" ? "approved" : "rejected";
    ask(isOver && decision === planned, "L414", "the deadline does not make this decision");
  } else {
    ask(!isOver, "L414", "the deadline had passed");
  }
  askCause(entry, gate.seq);
  gate.decided = { seq: entry.seq, decision };
}
