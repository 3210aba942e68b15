// @ts-check
/** The error that a rule of level 4 throws. Level 4 ends with its first finding. */

export class Broken extends Error {
  /**
   * @param {string} code
   * @param {string} sentence
   */
  constructor(code, sentence) {
    super(sentence);
    this.code = code;
  }
}

/**
 * @param {boolean} holds
 * @param {string} code
 * @param {string} sentence
 */
export function ask(holds, code, sentence) {
  if (!holds) throw new Broken(code, sentence);
}

/**
 * Requires an entry to have a certain cause; without that cause, requires nothing.
 * @param {any} entry
 * @param {number | null} cause
 */
export function askCause(entry, cause) {
  ask(cause === null || entry.causes.includes(cause), "L426", `causes do not include ${cause}`);
}
