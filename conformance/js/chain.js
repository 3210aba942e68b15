// @ts-check
/** Level 2: check how each entry follows from the previous lines. */

import { hexOf } from "./bytes.js";

const FIRST_PREV = "0".repeat(64);
const ALLOWED_AFTER_SEAL = new Set(["body.redacted", "run.repaired", "run.sealed"]);

/**
 * @param {number[]} causes
 * @param {number} number
 */
function areAscendingAndEarlier(causes, number) {
  return causes.every((cause, i) => cause < number && (i === 0 || causes[i - 1] < cause));
}

export class ChainChecker {
  /** @param {import("./findings.js").Findings} findings */
  constructor(findings) {
    this.findings = findings;
    this.head = FIRST_PREV;
    /** @type {string | null} */
    this.run = null;
    this.lastTime = "";
    this.isSealed = false;
  }

  /**
   * @param {number} number the number of the line, from 0
   * @param {any} entry null for a line with a level 1 finding
   * @param {Uint8Array} hash the hash of the line
   */
  check(number, entry, hash) {
    if (entry !== null) this.#checkEntry(number, entry);
    this.head = hexOf(hash);
  }

  /**
   * @param {number} number
   * @param {any} entry
   */
  #checkEntry(number, entry) {
    const add = (/** @type {string} */ code, /** @type {string} */ sentence) => {
      this.findings.add(code, number, sentence);
    };
    if (entry.prev !== this.head) add("L201", "'prev' is not the hash of the previous line");
    if (entry.seq !== number) add("L202", `'seq' is ${entry.seq}, expected ${number}`);
    this.run ??= entry.run;
    if (entry.run !== this.run) add("L203", "'run' differs from the first entry");
    if (!areAscendingAndEarlier(entry.causes, number)) add("L204", "'causes' does not list earlier entries in ascending order");
    if (entry.at < this.lastTime) add("L205", "'at' is earlier than in the previous entry");
    if ((entry.kind === "run.opened") !== (number === 0)) add("L206", "run.opened must be the first entry, and only the first");
    if (this.isSealed && !ALLOWED_AFTER_SEAL.has(entry.kind) && !entry.kind.startsWith("x-")) {
      add("L207", `${entry.kind} may not follow a seal`);
    }
    this.lastTime = entry.at;
    if (entry.kind === "run.sealed") this.isSealed = true;
  }
}
