// @ts-check
/** Compute values, and compare bodies with them (LEDGER-SEMANTICS-018). */

import { hexOf, sameBytes, textOf } from "../bytes.js";
import { canonicalBytes, depthOf, MAX_VALUE_DEPTH, readCanonicalBody } from "../canonical.js";
import { sha256 } from "../sha256.js";

/** A value that cannot be computed: no body matches it. */
export const CANNOT = Symbol("cannot be computed");
/** A value that cannot be checked, because a body is redacted, missing or wrong. */
export const UNDECIDED = Symbol("undecided");

const REMEMBERED = 4;

/** @typedef {import("./state.js").BodyNaming} BodyNaming */

/**
 * RFC 6901.
 * @param {any} value
 * @param {string} pointer
 */
export function selected(value, pointer) {
  for (const escaped of pointer.split("/").slice(1)) {
    const token = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value)) {
      if (!/^(0|[1-9][0-9]*)$/.test(token) || Number(token) >= value.length) return CANNOT;
      value = value[Number(token)];
    } else if (value !== null && typeof value === "object" && Object.hasOwn(value, token)) {
      value = value[token];
    } else {
      return CANNOT;
    }
  }
  return value;
}

/**
 * The parts of a value, or the reason why there are none; uncheckable takes precedence over impossible.
 * @param {any[]} parts
 * @returns {any[] | typeof CANNOT | typeof UNDECIDED}
 */
function together(parts) {
  if (parts.includes(UNDECIDED)) return UNDECIDED;
  return parts.includes(CANNOT) ? CANNOT : parts;
}

/**
 * Whether the value is the body of an output itself.
 * @param {any} expression
 */
function isBody(expression) {
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
    /** @type {Map<string, any>} the values of the bodies that were read last */
    this.remembered = new Map();
  }

  /**
   * Whether a body is the value that an expression of the plan stands for; null if nothing is settled.
   * @param {any} expression
   * @param {BodyNaming} naming
   * @returns {Promise<boolean | null>}
   */
  async is(expression, naming) {
    if (isBody(expression)) {
      return this.#areSame(this.#output(expression.task), naming);
    }
    return this.#isForm(await this.make(expression), naming);
  }

  /**
   * Whether there is a value, for all that can be read.
   * @param {any} expression
   */
  async canBeMade(expression) {
    if (isBody(expression)) return (await this.store.read(this.#output(expression.task))) !== null;
    const value = await this.make(expression);
    return value !== CANNOT && value !== UNDECIDED;
  }

  /**
   * Whether a body is an item of a list.
   * @param {BodyNaming} items
   * @param {number} index
   * @param {BodyNaming} naming
   */
  async isItem(items, index, naming) {
    const list = await this.list(items);
    return this.#isForm(Array.isArray(list) ? list[index] : UNDECIDED, naming);
  }

  /**
   * The list that a body holds: CANNOT if it holds none in RFC 8785 form.
   * @param {BodyNaming} items
   */
  async list(items) {
    const value = await this.#read(items, "application/json");
    return Array.isArray(value) || value === UNDECIDED ? value : CANNOT;
  }

  /**
   * @param {any} expression
   * @returns {Promise<any>} a JSON value, CANNOT or UNDECIDED
   */
  async make(expression) {
    const value = await this.#part(expression);
    return depthOf(value) > MAX_VALUE_DEPTH ? CANNOT : value;
  }

  /** @param {any} expression */
  async #part(expression) {
    const whole = await this.#unselected(expression);
    return whole === CANNOT || whole === UNDECIDED ? whole : selected(whole, expression.select ?? "");
  }

  /** @param {any} expression */
  async #unselected(expression) {
    if (expression.task !== undefined) return this.#outputValue(this.#output(expression.task));
    if (expression.each !== undefined) return this.#each(expression);
    const isList = expression.list !== undefined;
    const parts = [];
    for (const part of isList ? expression.list : Object.values(expression.object)) parts.push(await this.#part(part));
    const values = together(parts);
    if (isList || !Array.isArray(values)) return values;
    const object = Object.create(null);
    Object.keys(expression.object).forEach((key, i) => (object[key] = values[i]));
    return object;
  }

  /** @param {{each: string, item?: string}} expression */
  async #each({ each, item = "" }) {
    const passed = this.state.task(each).units.filter((unit) => unit.ended?.state === "passed");
    const parts = [];
    for (const unit of passed) {
      const value = await this.#outputValue(/** @type {BodyNaming} */ (unit.output));
      parts.push(value === CANNOT || value === UNDECIDED ? value : selected(value, item));
    }
    return together(parts);
  }

  /**
   * @param {string} id a task that ended passed
   * @returns {BodyNaming}
   */
  #output(id) {
    return /** @type {BodyNaming} */ (this.state.task(id).units[0].output);
  }

  /** @param {BodyNaming} naming */
  #outputValue(naming) {
    return this.#read(naming, naming.type);
  }

  /**
   * @param {BodyNaming} naming
   * @param {string} type
   */
  async #read(naming, type) {
    const key = `${naming.digest} ${type === "application/json"}`;
    if (this.remembered.has(key)) return this.remembered.get(key);
    const bytes = await this.store.read(naming);
    if (bytes === null) return UNDECIDED;
    const read = type === "application/json" ? readCanonicalBody(bytes) : textOf(bytes);
    const value = read === undefined || (read === null && type !== "application/json") ? CANNOT : read;
    this.remembered.set(key, value);
    if (this.remembered.size > REMEMBERED) this.remembered.delete(this.remembered.keys().next().value ?? "");
    return value;
  }

  /**
   * @param {any} value
   * @param {BodyNaming} naming
   * @returns {Promise<boolean | null>}
   */
  async #isForm(value, naming) {
    if (value === UNDECIDED) return null;
    return value !== CANNOT && this.#has(naming, canonicalBytes(value));
  }

  /**
   * @param {BodyNaming} naming
   * @param {Uint8Array} bytes
   * @returns {Promise<boolean | null>}
   */
  async #has(naming, bytes) {
    if (naming.salted !== true) return hexOf(sha256(bytes)) === naming.digest;
    const own = await this.store.read(naming);
    return own === null ? null : sameBytes(own, bytes);
  }

  /**
   * @param {BodyNaming} a
   * @param {BodyNaming} b
   * @returns {Promise<boolean | null>}
   */
  async #areSame(a, b) {
    if ((a.salted === true) === (b.salted === true) && a.digest === b.digest) return true;
    if (a.salted !== true && b.salted !== true) return false;
    const [salted, other] = a.salted === true ? [a, b] : [b, a];
    const bytes = await this.store.read(salted);
    return bytes === null ? null : this.#has(other, bytes);
  }
}
