// @ts-check
/** How a rule of level 4 says that it is broken. Level 4 ends with its first finding, so it is thrown. */

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
 * Asks that an entry has a certain one among its causes; none is asked for where there is none.
 * @param {any} entry
 * @param {number | null} cause
 */
export function askCause(entry, cause) {
  ask(cause === null || entry.causes.includes(cause), "L426", `causes do not name ${cause}`);
}
