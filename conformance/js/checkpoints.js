// @ts-check
/** Compare checkpoints and pins with a ledger or a proof (LEDGER-CHECKPOINT-003 and 004, LEDGER-PROOF-001). */

import { isSigned, readCheckpoint } from "./note.js";

/** @typedef {"directory" | "given" | "pin"} Source */

/**
 * @typedef {Object} Known what is known of the tree that a checkpoint is compared with
 * @property {string | null} run null if it has no entry
 * @property {number} size
 * @property {Map<number, string>} roots by number of entries
 */

export class Comparison {
  /**
   * @param {Source} source
   * @param {Uint8Array} bytes
   * @param {import("./note.js").Key | null} key
   */
  constructor(source, bytes, key) {
    this.source = source;
    this.checkpoint = readCheckpoint(bytes);
    this.key = key;
  }

  /**
   * Adds the first finding that applies.
   * @param {Known} known
   * @param {import("./findings.js").Findings} findings
   * @returns {boolean} whether it holds
   */
  look(known, findings) {
    const found = this.#finding(known);
    if (found !== null) findings.add(found[0], null, found[1]);
    return found === null;
  }

  /**
   * @param {Known} known
   * @returns {[string, string] | null}
   */
  #finding(known) {
    const { checkpoint, key } = this;
    const isPin = this.source === "pin";
    const what = isPin ? "the pin" : "the checkpoint";
    if (checkpoint === null) return ["L506", `${what} is malformed`];
    if (key !== null && !isSigned(checkpoint, key)) return ["L510", `${what} is not signed by ${key.name}`];
    if (checkpoint.run !== known.run) return ["L507", `${what} is of another run`];
    if (checkpoint.size > known.size) return [isPin ? "L512" : "L508", `${what} has more entries`];
    // A proof covers only its own sizes, so a checkpoint of another size cannot match.
    const isSame = known.roots.get(checkpoint.size) === checkpoint.root;
    return isSame ? null : [isPin ? "L513" : "L509", `${what} has another root`];
  }

  report() {
    return { source: this.source, size: this.checkpoint?.size ?? 0, signed_by: this.key?.name ?? null };
  }
}
