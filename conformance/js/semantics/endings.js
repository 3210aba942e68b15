// @ts-check
/** The rules for the ends of tasks and runs: final states, outputs and the seal (LEDGER-SEMANTICS-014, 016 and 017). */

import { ensure, ensureCause } from "./rule_violation.js";
import { sourcesOf } from "./plan.js";

/** @typedef {import("./state.js").RunState} RunState */
/** @typedef {import("./state.js").Task} Task */
/** @typedef {import("./state.js").Unit} Unit */

/** Task states that prevent a run from passing. */
const BAD_STATES = ["failed", "stopped", "refused", "cancelled"];

/**
 * @param {string} state
 * @param {string | undefined} reason
 * @param {any} spec
 * @param {boolean} holds whether the result is accepted
 * @param {boolean} hasStarted
 */
function isPermitted(state, reason, spec, holds, hasStarted) {
  if (state === "passed") return holds;
  if (state === "skipped") return !hasStarted && (reason !== "condition" || spec.when?.length > 0);
  if (state === "failed") return !holds && spec.allow_failure === undefined;
  if (state === "tolerated") return !holds && spec.allow_failure !== undefined;
  return !holds;
}

/**
 * @param {RunState} _
 * @param {any} entry
 * @param {Unit | null} unit null for a task with a foreach
 * @param {Task} task
 */
export function taskEnded(_, entry, unit, task) {
  const { state, reason } = entry.data;
  const subject = unit ?? task;
  const parts = unit === null ? task.units : [unit];
  const haveEnded = parts.every((part) => part.call === null && (unit !== null || part.ending !== null));
  ensure(subject.ending === null && haveEnded, "L417", `'${subject.id}' cannot end at this point`);
  const hasStarted = parts.some((part) => part.hasStarted);
  const isAllowed =
    unit === null && task.areAllTolerated
      ? state === "tolerated"
      : isPermitted(state, reason, task.spec, subject.holds(), hasStarted);
  ensure(isAllowed, "L417", `'${subject.id}' cannot end with the state ${state}`);
  if (unit !== null) ensureCause(entry, unit.closedSeq);
  subject.ending = { state, seq: entry.seq };
  if (unit !== null && unit.index === null) task.ending = unit.ending;
}

/**
 * @param {RunState} state
 * @param {any} entry
 */
export async function answerGiven(state, entry) {
  const { output } = entry.data;
  ensure(!state.recordedOutputs.has(output), "L425", `output '${output}' is recorded twice`);
  const expression = state.plan.outputs[output];
  const sources = sourcesOf(expression);
  const havePassed = sources.every((id) => state.task(id).ending?.state === "passed");
  ensure(havePassed, "L425", `a source of output '${output}' has not passed`);
  const isValue = await state.values.matches(expression, entry.bodies.value);
  ensure(isValue !== false, "L425", `output '${output}' is not the value of its source`);
  ensureCause(entry, state.lastEnding(sources));
  state.recordedOutputs.add(output);
}

/**
 * @param {RunState} state
 * @param {any} entry
 */
export async function runSealed(state, entry) {
  const { status, counts, totals } = entry.data;
  const tasks = [...state.tasks.values()];
  const isFinished = state.calls.size === 0 && tasks.every((task) => task.ending !== null);
  ensure(isFinished, "L423", "a task has not ended, or a call is open");
  const countOf = (/** @type {string} */ name) => tasks.filter((task) => task.ending?.state === name).length;
  const matchesCounts = Object.keys(counts).every((name) => counts[name] === countOf(name));
  ensure(matchesCounts, "L420", "counts do not match the tasks");
  ensure(state.budgets.matchesTotals(totals), "L421", "totals do not match the charged amounts");
  const matchesStatus = status === "passed" ? BAD_STATES.every((name) => countOf(name) === 0) : countOf(status) > 0;
  ensure(matchesStatus, "L422", `status ${status} does not match the states of the tasks`);
  if (status === "passed") await ensureAnswers(state);
}

/** @param {RunState} state */
async function ensureAnswers(state) {
  for (const [name, expression] of Object.entries(state.plan.outputs)) {
    const havePassed = sourcesOf(expression).every((id) => state.task(id).ending?.state === "passed");
    if (state.recordedOutputs.has(name) || !havePassed) continue;
    ensure(!(await state.values.canCompute(expression)), "L425", `the run passed, but output '${name}' is not recorded`);
  }
}
