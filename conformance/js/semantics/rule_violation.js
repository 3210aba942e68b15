// @ts-check
/** The error that a rule of level 4 throws. Level 4 stops at its first finding. */

export class RuleViolation extends Error {
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
 * Throws a RuleViolation unless the condition is true.
 * @param {boolean} condition
 * @param {string} code
 * @param {string} sentence
 */
export function ensure(condition, code, sentence) {
  if (!condition) throw new RuleViolation(code, sentence);
}

/**
 * Throws unless an entry has this cause. A null cause requires nothing.
 * @param {any} entry
 * @param {number | null} cause
 */
export function ensureCause(entry, cause) {
  ensure(cause === null || entry.causes.includes(cause), "L426", `causes do not include ${cause}`);
}
