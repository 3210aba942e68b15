// @ts-check
/** The wave plan of a run, and its validation (LEDGER-SEMANTICS-002). */

import { hexOf } from "../bytes.js";
import { canonicalBytes, readCanonicalBody } from "../canonical.js";
import { sha256 } from "../sha256.js";
import { ensure } from "./rule_violation.js";

/** @param {any} value */
const digestOf = (value) => hexOf(sha256(canonicalBytes(value)));

/**
 * The tasks that a value refers to. `isEach` says whether it refers to a task by `each`.
 * @param {any} value
 * @returns {{task: string, isEach: boolean}[]}
 */
function referencedTasks(value) {
  if (value.task !== undefined) return [{ task: value.task, isEach: false }];
  if (value.each !== undefined) return [{ task: value.each, isEach: true }];
  return (value.list ?? Object.values(value.object)).flatMap(referencedTasks);
}

/**
 * @param {any} value
 * @returns {string[]} the tasks that it comes from
 */
export function sourcesOf(value) {
  return [...new Set(referencedTasks(value).map(({ task }) => task))];
}

/** @param {any} task */
export function dataEdges(task) {
  return (task.needs ?? []).filter((/** @type {any} */ need) => need.edge === "data");
}

/**
 * The expressions of a task's data edges and foreach.
 * @param {any} task
 * @returns {any[]}
 */
function inputValuesOf(task) {
  const values = dataEdges(task).map((/** @type {any} */ edge) => edge.from);
  return task.foreach === undefined ? values : [...values, task.foreach.from];
}

/**
 * @param {any} task
 * @returns {string[]} the tasks that it receives data from
 */
export function dataSourcesOf(task) {
  return [...new Set(inputValuesOf(task).flatMap(sourcesOf))];
}

/**
 * @param {any} task
 * @returns {string[]} all tasks that it depends on
 */
export function dependenciesOf(task) {
  const orders = (task.needs ?? []).filter((/** @type {any} */ need) => need.edge === "order");
  const conditions = (task.when ?? []).flatMap((/** @type {any} */ condition) => sourcesOf(condition.from));
  return [...new Set([...orders.map((/** @type {any} */ need) => need.task), ...conditions, ...dataSourcesOf(task)])];
}

/**
 * Reads and validates a wave plan.
 * @param {Uint8Array} bytes the body
 * @param {any} opened the first entry
 * @param {import("../schema.js").Schemas} schemas
 * @returns {any} the wave plan
 */
export function readPlan(bytes, opened, schemas) {
  const plan = readCanonicalBody(bytes);
  ensure(plan !== undefined, "L401", "the wave plan is not in RFC 8785 form");
  ensure(schemas.check("wave-plan.schema.json")(plan), "L401", "the wave plan does not match its schema");
  const { bundle, digest, ...rest } = plan;
  ensure(digest === digestOf(rest), "L401", "the wave plan's digest does not match its content");
  ensure(digest === opened.data.wave_plan, "L401", "the digest of the wave plan differs from run.opened");
  ensure(digestOf(bundle) === opened.data.bundle, "L401", "the digest of the bundle differs from run.opened");
  checkWaves(plan);
  checkNames(plan);
  for (const name of Object.keys(plan.tasks)) checkWorkers(plan, plan.tasks[name]);
  for (const agent of Object.values(plan.agents)) checkAdapters(plan, Object.values(agent.adapters));
  checkOrder(plan);
  return plan;
}

/** @param {any} plan */
function checkWaves(plan) {
  const waveTasks = plan.waves.flat();
  const areKnown = waveTasks.every((/** @type {string} */ id) => id in plan.tasks);
  const areUnique = new Set(waveTasks).size === waveTasks.length && waveTasks.length === Object.keys(plan.tasks).length;
  ensure(areKnown && areUnique, "L401", "not every task is in exactly one wave");
}

/** @param {any} plan */
function checkNames(plan) {
  const tasks = Object.values(plan.tasks);
  const conditions = tasks.flatMap((task) => (task.when ?? []).map((/** @type {any} */ condition) => condition.from));
  const values = [...tasks.flatMap(inputValuesOf), ...conditions, ...Object.values(plan.outputs)];
  for (const { task, isEach } of values.flatMap(referencedTasks)) {
    const isValidReference = task in plan.tasks && (plan.tasks[task].foreach !== undefined) === isEach;
    ensure(isValidReference, "L401", `a value refers to '${task}', which does not exist or needs \`${isEach ? "task" : "each"}\``);
  }
  for (const id of tasks.flatMap(dependenciesOf)) ensure(id in plan.tasks, "L401", `unknown task '${id}'`);
}

/**
 * @param {any} plan
 * @param {any} task
 */
function checkWorkers(plan, task) {
  const hasAgent = task.agent !== undefined && task.ladder !== undefined && task.lane === undefined;
  const hasLane = task.lane !== undefined && task.agent === undefined && task.ladder === undefined;
  ensure(hasAgent || hasLane, "L401", "a task needs either an agent and a ladder, or a lane");
  const judges = (task.accept ?? []).map((/** @type {any} */ check) => check.agent);
  for (const agent of [task.agent, ...judges]) {
    ensure(agent === undefined || agent in plan.agents, "L401", `unknown agent '${agent}'`);
  }
  checkAdapters(plan, (task.ladder ?? []).map((/** @type {any} */ step) => step.adapter));
}

/**
 * @param {any} plan
 * @param {string[]} names
 */
function checkAdapters(plan, names) {
  for (const name of names) ensure(name in plan.adapters, "L401", `unknown adapter '${name}'`);
}

/** @param {any} plan */
function checkOrder(plan) {
  const waves = wavesOf(plan);
  for (const [id, wave] of waves) {
    for (const other of dependenciesOf(plan.tasks[id])) {
      ensure(/** @type {number} */ (waves.get(other)) < wave, "L401", `'${id}' depends on '${other}', but is not in a later wave`);
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
