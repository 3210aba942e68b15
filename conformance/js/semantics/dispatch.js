// @ts-check
/** The rules for starting tasks and delivering data: waves, instances, edges, routes, gates (LEDGER-SEMANTICS-004 to 009). */

import { ensure, ensureCause } from "./rule_violation.js";
import { sourcesOf } from "./plan.js";
import { Unit } from "./state.js";
import { IMPOSSIBLE, UNDECIDED } from "./values.js";

/** @typedef {import("./state.js").RunState} RunState */
/** @typedef {import("./state.js").Task} Task */

/**
 * Requires that a task may start.
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
  for (const id of ids) ensure(state.task(id).ended !== null, "L403", `'${id}' has not ended`);
}

/**
 * @param {RunState} state
 * @param {string[]} ids
 */
function ensurePassed(state, ids) {
  for (const id of ids) ensure(state.task(id).ended?.state === "passed", "L404", `'${id}' has not passed`);
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
  const isApproved = unit.task.spec.gate === undefined || unit.gate?.decided?.decision === "approved";
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
  // Earlier waves were checked when this one was opened, so the previous wave is enough.
  const before = wave === 0 ? [] : waves[wave - 1];
  const haveEnded = before.every((/** @type {string} */ id) => state.task(id).ended !== null);
  ensure(haveEnded, "L405", `wave ${wave - 1} has not ended`);
  state.wavesOpened++;
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Task} task
 */
export async function taskExpanded(state, entry, task) {
  ensure(task.expanded === null && task.ended === null, "L409", `'${task.id}' is already expanded or has ended`);
  ensureTaskMayStart(state, task);
  const { instances } = entry.data;
  const { items } = entry.bodies;
  const { from, max } = task.spec.foreach;
  ensure(instances <= max, "L419", `'${task.id}' has ${instances} instances, but its maximum is ${max}`);
  const list = await state.values.list(items);
  const isList = list === UNDECIDED || (list !== IMPOSSIBLE && list.length === instances);
  ensure(isList, "L419", "the items are not a list of that length");
  ensure((await state.values.is(from, items)) !== false, "L419", "the items are not the value of the foreach");
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
  const isDue = !unit.hasStarted && unit.ended === null && !unit.delivered.has(name);
  ensure(isDue, "L409", `'${name}' cannot be delivered to '${unit.id}'`);
  const expression = unit.edges().get(name);
  const isItem = expression === null;
  const isValue = await (isItem ? itemDelivered(state, entry, unit) : valueDelivered(state, entry, expression));
  ensure(isValue !== false, "L407", `the body delivered as '${name}' is not the value`);
  unit.delivered.set(name, entry.seq);
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {any} expression
 */
function valueDelivered(state, entry, expression) {
  const sources = sourcesOf(expression);
  ensureEnded(state, sources);
  ensurePassed(state, sources);
  ensureCause(entry, state.lastEnding(sources));
  return state.values.is(expression, entry.bodies.value);
}

/**
 * @param {RunState} state
 * @param {any} entry
 * @param {Unit} unit
 */
function itemDelivered(state, entry, unit) {
  const { seq, items } = /** @type {NonNullable<Task["expanded"]>} */ (unit.task.expanded);
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
  const isDue = lane !== undefined && unit.agent === null && !unit.hasStarted && unit.ended === null;
  ensure(isDue, "L411", `'${unit.id}' cannot be routed`);
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
  const isDue = gate !== undefined && unit.gate === null && !unit.hasStarted && unit.ended === null;
  ensure(isDue, "L414", `no gate to open for '${unit.id}'`);
  const { deadline } = entry.data;
  ensure((deadline !== undefined) === (gate.deadline_ms !== undefined), "L414", "the deadline is not the plan's");
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
  if (gate === null || gate.decided !== null) return ensure(false, "L414", `the gate of '${unit.id}' is not open`);
  ensure(displayed === gate.displayed, "L414", "the decision is about another body than the displayed one");
  const isOver = gate.deadline !== undefined && entry.at >= gate.deadline;
  if (by === "deadline") {
    const planned = unit.task.spec.gate.on_deadline === "approve" ? "approved" : "rejected";
    ensure(isOver && decision === planned, "L414", "the deadline does not compute this decision");
  } else {
    ensure(!isOver, "L414", "the deadline had passed");
  }
  ensureCause(entry, gate.seq);
  gate.decided = { seq: entry.seq, decision };
}
