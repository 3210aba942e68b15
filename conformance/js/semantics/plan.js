// @ts-check
/** The wave plan of a run, and its validation (LEDGER-SEMANTICS-002). */

import { hexOf } from "../bytes.js";
import { canonicalBytes, readCanonicalBody } from "../canonical.js";
import { sha256 } from "../sha256.js";
import { ask } from "./broken.js";

/** @param {any} value */
const digestOf = (value) => hexOf(sha256(canonicalBytes(value)));

/**
 * The tasks that a value names, each with the member that names it.
 * @param {any} value
 * @returns {{task: string, isEach: boolean}[]}
 */
function namedBy(value) {
  if (value.task !== undefined) return [{ task: value.task, isEach: false }];
  if (value.each !== undefined) return [{ task: value.each, isEach: true }];
  return (value.list ?? Object.values(value.object)).flatMap(namedBy);
}

/**
 * @param {any} value
 * @returns {string[]}
 */
export function sourcesOf(value) {
  return [...new Set(namedBy(value).map(({ task }) => task))];
}

/** @param {any} task */
export function dataEdges(task) {
  return (task.needs ?? []).filter((/** @type {any} */ need) => need.edge === "data");
}

/**
 * The values that a task's data edges and its foreach take.
 * @param {any} task
 * @returns {any[]}
 */
function takenBy(task) {
  const values = dataEdges(task).map((/** @type {any} */ edge) => edge.from);
  return task.foreach === undefined ? values : [...values, task.foreach.from];
}

/**
 * @param {any} task
 * @returns {string[]} the tasks that it takes data from
 */
export function feedersOf(task) {
  return [...new Set(takenBy(task).flatMap(sourcesOf))];
}

/**
 * @param {any} task
 * @returns {string[]} all tasks that it depends on
 */
export function dependenciesOf(task) {
  const orders = (task.needs ?? []).filter((/** @type {any} */ need) => need.edge === "order");
  const conditions = (task.when ?? []).flatMap((/** @type {any} */ condition) => sourcesOf(condition.from));
  return [...new Set([...orders.map((/** @type {any} */ need) => need.task), ...conditions, ...feedersOf(task)])];
}

/**
 * @param {Uint8Array} bytes the body
 * @param {any} opened the first entry
 * @param {import("../schema.js").Schemas} schemas
 * @returns {any} the wave plan
 */
export function readPlan(bytes, opened, schemas) {
  const plan = readCanonicalBody(bytes);
  ask(plan !== undefined, "L401", "the wave plan is not in RFC 8785 form");
  ask(schemas.check("wave-plan.schema.json")(plan), "L401", "the wave plan does not match its schema");
  const { bundle, digest, ...rest } = plan;
  ask(digest === digestOf(rest), "L401", "the wave plan's digest does not match its content");
  ask(digest === opened.data.wave_plan, "L401", "the wave plan is not the one that the entry names");
  ask(digestOf(bundle) === opened.data.bundle, "L401", "the bundle is not the one that the entry names");
  checkWaves(plan);
  checkNames(plan);
  for (const name of Object.keys(plan.tasks)) checkWorkers(plan, plan.tasks[name]);
  for (const agent of Object.values(plan.agents)) checkAdapters(plan, Object.values(agent.adapters));
  checkOrder(plan);
  return plan;
}

/** @param {any} plan */
function checkWaves(plan) {
  const placed = plan.waves.flat();
  const isEach = placed.every((/** @type {string} */ id) => id in plan.tasks);
  const isOnce = new Set(placed).size === placed.length && placed.length === Object.keys(plan.tasks).length;
  ask(isEach && isOnce, "L401", "not every task is in exactly one wave");
}

/** @param {any} plan */
function checkNames(plan) {
  const tasks = Object.values(plan.tasks);
  const conditions = tasks.flatMap((task) => (task.when ?? []).map((/** @type {any} */ condition) => condition.from));
  const values = [...tasks.flatMap(takenBy), ...conditions, ...Object.values(plan.outputs)];
  for (const { task, isEach } of values.flatMap(namedBy)) {
    const isNamedRightly = task in plan.tasks && (plan.tasks[task].foreach !== undefined) === isEach;
    ask(isNamedRightly, "L401", `a value refers to '${task}' in the wrong way`);
  }
  for (const id of tasks.flatMap(dependenciesOf)) ask(id in plan.tasks, "L401", `unknown task '${id}'`);
}

/**
 * @param {any} plan
 * @param {any} task
 */
function checkWorkers(plan, task) {
  const hasAgent = task.agent !== undefined && task.ladder !== undefined && task.lane === undefined;
  const hasLane = task.lane !== undefined && task.agent === undefined && task.ladder === undefined;
  ask(hasAgent || hasLane, "L401", "a task has neither an agent with a ladder nor a lane alone");
  const judges = (task.accept ?? []).map((/** @type {any} */ check) => check.agent);
  for (const agent of [task.agent, ...judges]) {
    ask(agent === undefined || agent in plan.agents, "L401", `unknown agent '${agent}'`);
  }
  checkAdapters(plan, (task.ladder ?? []).map((/** @type {any} */ step) => step.adapter));
}

/**
 * @param {any} plan
 * @param {string[]} names
 */
function checkAdapters(plan, names) {
  for (const name of names) ask(name in plan.adapters, "L401", `unknown adapter '${name}'`);
}

/** @param {any} plan */
function checkOrder(plan) {
  const waves = wavesOf(plan);
  for (const [id, wave] of waves) {
    for (const other of dependenciesOf(plan.tasks[id])) {
      ask(/** @type {number} */ (waves.get(other)) < wave, "L401", `'${id}' is not in a later wave than '${other}'`);
    }
  }
}

/**
 * @param {any} plan
 * @returns {Map<string, number>} the wave of each task
 */
export function wavesOf(plan) {
  const waves = new Map();
  plan.waves.forEach((/** @type {string[]} */ ids, /** @type {number} */ wave) => {
    for (const id of ids) waves.set(id, wave);
  });
  return waves;
}
