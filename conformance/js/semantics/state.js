// @ts-check
/** The state of a run while its entries are read: tasks, units and open calls. */

import { Budgets } from "./budgets.js";
import { dataEdges, dependenciesOf, dataSourcesOf, wavesOf } from "./plan.js";

/** @typedef {import("../bodies.js").BodyReference & {type: string}} TypedBodyReference */
/** @typedef {{state: string, seq: number}} Ending */

/**
 * @typedef {Object} Attempt
 * @property {number} number
 * @property {string} status `open`, `lost`, or the status of its `task.finished`
 * @property {number} closedSeq the entry that closed it; -1 while it is open
 * @property {number} passed the number of its checks that passed
 * @property {boolean} hasFailed whether a check failed
 */

/**
 * @typedef {Object} Call
 * @property {Unit} unit
 * @property {number} seq the entry that opened it
 * @property {number | null} check null for an attempt
 * @property {string} by
 * @property {import("./budgets.js").Reservation} reservation
 * @property {boolean} isOrphan whether the run was resumed while the call was open: then it can only be lost
 */

/**
 * @typedef {Object} Gate
 * @property {number} seq the entry that opened it
 * @property {string} displayed the digest of the displayed body
 * @property {string | undefined} deadline
 * @property {{seq: number, value: string} | null} decision the entry that decided it, and `approved` or `rejected`
 */

export class Task {
  /**
   * @param {string} id
   * @param {any} spec the task of the wave plan
   * @param {number} wave
   */
  constructor(id, spec, wave) {
    this.id = id;
    this.spec = spec;
    this.wave = wave;
    this.dependencies = dependenciesOf(spec);
    this.dataSources = dataSourcesOf(spec);
    this.isTemplate = spec.foreach !== undefined;
    /** @type {Ending | null} */
    this.ending = null;
    /** @type {{seq: number, items: TypedBodyReference} | null} */
    this.expansion = null;
    /** @type {Unit[]} the task itself, or its instances */
    this.units = [];
  }

  /** Whether the task is a template with instances that are all tolerated. */
  get areAllTolerated() {
    return this.isTemplate && this.units.length > 0 && this.units.every((unit) => unit.ending?.state === "tolerated");
  }

  /** Whether the result is accepted. A template must be expanded, and every instance passed or tolerated. */
  holds() {
    if (!this.isTemplate) return this.units[0].holds();
    const areAccepted = this.units.every((unit) => ["passed", "tolerated"].includes(unit.ending?.state ?? ""));
    return this.expansion !== null && areAccepted;
  }
}

/** A task without foreach, or one instance of a task with foreach. */
export class Unit {
  /**
   * @param {string} id
   * @param {Task} task
   * @param {number | null} index the number of an instance; null for a task without foreach
   */
  constructor(id, task, index) {
    this.id = id;
    this.task = task;
    this.index = index;
    this.isReused = false;
    /** @type {Attempt | null} the last attempt */
    this.attempt = null;
    /** @type {Call | null} */
    this.call = null;
    /** @type {Map<string, number>} the seq of each delivery, by the name of its edge */
    this.delivered = new Map();
    /** @type {Gate | null} */
    this.gate = null;
    /** @type {string | null} */
    this.agent = task.spec.agent ?? null;
    /** @type {{tier: string, adapter: string}[]} */
    this.ladder = task.spec.ladder ?? [];
    this.step = 0;
    this.attemptsAtStep = 0;
    /** @type {TypedBodyReference | null} */
    this.output = null;
    /** @type {Ending | null} */
    this.ending = null;
  }

  get attempts() {
    return this.attempt?.number ?? 0;
  }

  get hasStarted() {
    return this.attempt !== null || this.isReused;
  }

  /** Whether the result is accepted: reused, or passed by all its checks. */
  holds() {
    if (this.isReused) return true;
    const checks = this.task.spec.accept ?? [];
    return this.attempt?.status === "ok" && this.attempt.passed === checks.length;
  }

  /** The seq of the entry that closed the last attempt. */
  get closedSeq() {
    return this.attempt === null ? null : this.attempt.closedSeq;
  }

  /** @returns {Map<string, any>} its data edges by name: an expression of the plan, or null for its item */
  edges() {
    const edges = new Map(dataEdges(this.task.spec).map((/** @type {any} */ edge) => [edge.as, edge.from]));
    if (this.index !== null) edges.set(this.task.spec.foreach.as, null);
    return edges;
  }
}

export class RunState {
  /**
   * @param {any} plan
   * @param {(state: RunState) => import("./values.js").Values} createValues
   */
  constructor(plan, createValues) {
    this.plan = plan;
    this.budgets = new Budgets(plan);
    this.values = createValues(this);
    /** @type {Map<string, Task>} */
    this.tasks = new Map();
    /** @type {Map<string, Unit>} */
    this.units = new Map();
    this.wavesOpened = 0;
    this.isPaused = false;
    /** @type {Set<Call>} */
    this.calls = new Set();
    /** The number of open calls that are orphans. */
    this.orphans = 0;
    /** @type {Set<string>} the recorded outputs */
    this.recordedOutputs = new Set();
    for (const [id, wave] of wavesOf(plan)) this.#addTask(new Task(id, plan.tasks[id], wave));
  }

  /** @param {Task} task */
  #addTask(task) {
    this.tasks.set(task.id, task);
    if (!task.isTemplate) this.addUnit(new Unit(task.id, task, null));
  }

  /** @param {Unit} unit */
  addUnit(unit) {
    this.units.set(unit.id, unit);
    unit.task.units.push(unit);
  }

  /**
   * A task of the plan; the id must exist.
   * @param {string} id
   */
  task(id) {
    return /** @type {Task} */ (this.tasks.get(id));
  }

  /** @param {Omit<Call, "isOrphan">} newCall */
  open(newCall) {
    const call = { ...newCall, isOrphan: false };
    newCall.unit.call = call;
    this.calls.add(call);
  }

  /**
   * @param {Call} call
   * @param {Record<string, number> | null} usage null for a lost call
   */
  close(call, usage) {
    this.budgets.settle(call.reservation, usage);
    this.calls.delete(call);
    call.unit.call = null;
    if (call.isOrphan) this.orphans--;
  }

  /**
   * The seq of the last `task.ended` of these tasks; null if there are none.
   * @param {string[]} ids
   */
  lastEnding(ids) {
    const seqs = ids.map((id) => this.task(id).ending?.seq ?? -1);
    return seqs.length === 0 ? null : seqs.reduce((last, seq) => Math.max(last, seq));
  }
}
