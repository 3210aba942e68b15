// @ts-check
/** Computes values of the plan and compares bodies with them (LEDGER-SEMANTICS-018). */

import { hexOf, sameBytes, textOf } from "../bytes.js";
import { canonicalBytes, depthOf, MAX_VALUE_DEPTH, readCanonicalBody } from "../canonical.js";
import { sha256 } from "../sha256.js";

/** A value that cannot be computed: no body matches it. */
export const IMPOSSIBLE = Symbol("cannot be computed");
/** A value that cannot be checked, because a body is redacted, missing or altered. */
export const UNDECIDED = Symbol("undecided");

const MAX_CACHED_VALUES = 4;

/** @typedef {import("./state.js").TypedBodyReference} TypedBodyReference */

/**
 * The value at a JSON Pointer (RFC 6901), or IMPOSSIBLE.
 * @param {any} value
 * @param {string} pointer
 */
export function select(value, pointer) {
  for (const escaped of pointer.split("/").slice(1)) {
    const token = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value)) {
      if (!/^(0|[1-9][0-9]*)$/.test(token) || Number(token) >= value.length) return IMPOSSIBLE;
      value = value[Number(token)];
    } else if (value !== null && typeof value === "object" && Object.hasOwn(value, token)) {
      value = value[token];
    } else {
      return IMPOSSIBLE;
    }
  }
  return value;
}

/**
 * The parts; UNDECIDED or IMPOSSIBLE if one of them is. UNDECIDED takes precedence.
 * @param {any[]} parts
 * @returns {any[] | typeof IMPOSSIBLE | typeof UNDECIDED}
 */
function combine(parts) {
  if (parts.includes(UNDECIDED)) return UNDECIDED;
  return parts.includes(IMPOSSIBLE) ? IMPOSSIBLE : parts;
}

/**
 * Whether the expression is the whole output of a task.
 * @param {any} expression
 */
function isWholeOutput(expression) {
  return expression.task !== undefined && Object.keys(expression).length === 1;
}

export class Values {
  /**
   * @param {import("../bodies.js").BodyStore} store
   * @param {import("./state.js").RunState} state
   */
  constructor(store, state) {
    this.store = store;
    this.state = state;
    /** @type {Map<string, any>} the values of the most recently read bodies */
    this.cache = new Map();
  }

  /**
   * Whether a body is the value of an expression of the plan; null if that cannot be checked.
   * @param {any} expression
   * @param {TypedBodyReference} reference
   * @returns {Promise<boolean | null>}
   */
  async matches(expression, reference) {
    if (isWholeOutput(expression)) {
      return this.#haveSameBytes(this.#output(expression.task), reference);
    }
    return this.#matchesValue(await this.compute(expression), reference);
  }

  /**
   * Whether the value can be computed from the readable bodies.
   * @param {any} expression
   */
  async canCompute(expression) {
    if (isWholeOutput(expression)) return (await this.store.read(this.#output(expression.task))) !== null;
    const value = await this.compute(expression);
    return value !== IMPOSSIBLE && value !== UNDECIDED;
  }

  /**
   * Whether a body is the item of a list at this index; null if that cannot be checked.
   * @param {TypedBodyReference} items
   * @param {number} index
   * @param {TypedBodyReference} reference
   */
  async isItem(items, index, reference) {
    const list = await this.list(items);
    return this.#matchesValue(Array.isArray(list) ? list[index] : UNDECIDED, reference);
  }

  /**
   * The list in a body; IMPOSSIBLE if the body is not a list in RFC 8785 form.
   * @param {TypedBodyReference} items
   */
  async list(items) {
    const value = await this.#read(items, "application/json");
    return Array.isArray(value) || value === UNDECIDED ? value : IMPOSSIBLE;
  }

  /**
   * @param {any} expression
   * @returns {Promise<any>} a JSON value, IMPOSSIBLE or UNDECIDED
   */
  async compute(expression) {
    const value = await this.#computePart(expression);
    return depthOf(value) > MAX_VALUE_DEPTH ? IMPOSSIBLE : value;
  }

  /** @param {any} expression */
  async #computePart(expression) {
    const whole = await this.#computeWhole(expression);
    return whole === IMPOSSIBLE || whole === UNDECIDED ? whole : select(whole, expression.select ?? "");
  }

  /**
   * The value of an expression before its `select` is applied.
   * @param {any} expression
   */
  async #computeWhole(expression) {
    if (expression.task !== undefined) return this.#outputValue(this.#output(expression.task));
    if (expression.each !== undefined) return this.#computeEach(expression);
    const isList = expression.list !== undefined;
    const parts = [];
    for (const part of isList ? expression.list : Object.values(expression.object)) parts.push(await this.#computePart(part));
    const values = combine(parts);
    if (isList || !Array.isArray(values)) return values;
    const object = Object.create(null);
    Object.keys(expression.object).forEach((key, i) => (object[key] = values[i]));
    return object;
  }

  /** @param {{each: string, item?: string}} expression */
  async #computeEach({ each, item = "" }) {
    const passedUnits = this.state.task(each).units.filter((unit) => unit.ending?.state === "passed");
    const parts = [];
    for (const unit of passedUnits) {
      const value = await this.#outputValue(/** @type {TypedBodyReference} */ (unit.output));
      parts.push(value === IMPOSSIBLE || value === UNDECIDED ? value : select(value, item));
    }
    return combine(parts);
  }

  /**
   * @param {string} id a task that passed
   * @returns {TypedBodyReference}
   */
  #output(id) {
    return /** @type {TypedBodyReference} */ (this.state.task(id).units[0].output);
  }

  /** @param {TypedBodyReference} reference */
  #outputValue(reference) {
    return this.#read(reference, reference.type);
  }

  /**
   * @param {TypedBodyReference} reference
   * @param {string} type
   */
  async #read(reference, type) {
    const key = `${reference.digest} ${type === "application/json"}`;
    if (this.cache.has(key)) return this.cache.get(key);
    const bytes = await this.store.read(reference);
    if (bytes === null) return UNDECIDED;
    const read = type === "application/json" ? readCanonicalBody(bytes) : textOf(bytes);
    const value = read === undefined || (read === null && type !== "application/json") ? IMPOSSIBLE : read;
    this.cache.set(key, value);
    if (this.cache.size > MAX_CACHED_VALUES) this.cache.delete(this.cache.keys().next().value ?? "");
    return value;
  }

  /**
   * @param {any} value
   * @param {TypedBodyReference} reference
   * @returns {Promise<boolean | null>}
   */
  async #matchesValue(value, reference) {
    if (value === UNDECIDED) return null;
    return value !== IMPOSSIBLE && this.#hasBytes(reference, canonicalBytes(value));
  }

  /**
   * @param {TypedBodyReference} reference
   * @param {Uint8Array} bytes
   * @returns {Promise<boolean | null>}
   */
  async #hasBytes(reference, bytes) {
    if (reference.salted !== true) return hexOf(sha256(bytes)) === reference.digest;
    const bodyBytes = await this.store.read(reference);
    return bodyBytes === null ? null : sameBytes(bodyBytes, bytes);
  }

  /**
   * @param {TypedBodyReference} a
   * @param {TypedBodyReference} b
   * @returns {Promise<boolean | null>}
   */
  async #haveSameBytes(a, b) {
    if ((a.salted === true) === (b.salted === true) && a.digest === b.digest) return true;
    if (a.salted !== true && b.salted !== true) return false;
    const [salted, other] = a.salted === true ? [a, b] : [b, a];
    const bytes = await this.store.read(salted);
    return bytes === null ? null : this.#hasBytes(other, bytes);
  }
}
