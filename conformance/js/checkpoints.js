// @ts-check
/** Compares checkpoints and pins with a ledger or a proof (LEDGER-CHECKPOINT-003 and 004, LEDGER-PROOF-001). */

import { isSigned, readCheckpoint } from "./note.js";

/** @typedef {"directory" | "given" | "pin"} Source */

/**
 * @typedef {Object} ComparedTree the tree that a checkpoint is compared with
 * @property {string | null} run null if the ledger has no entry
 * @property {number} size
 * @property {Map<number, string>} roots roots by number of entries
 */

export class CheckpointComparison {
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
   * @param {ComparedTree} known
   * @param {import("./findings.js").Findings} findings
   * @returns {boolean} whether the checkpoint matches
   */
  check(known, findings) {
    const found = this.#finding(known);
    if (found !== null) findings.add(found[0], null, found[1]);
    return found === null;
  }

  /**
   * @param {ComparedTree} known
   * @returns {[string, string] | null}
   */
  #finding(known) {
    const { checkpoint, key } = this;
    const isPin = this.source === "pin";
    const subject = isPin ? "the pin" : "the checkpoint";
    if (checkpoint === null) return ["L506", `${subject} is malformed`];
    if (key !== null && !isSigned(checkpoint, key)) return ["L510", `${subject} is not signed by ${key.name}`];
    if (checkpoint.run !== known.run) return ["L507", `${subject} belongs to another run`];
    if (checkpoint.size > known.size) return [isPin ? "L512" : "L508", `${subject} covers more entries than there are`];
    // A proof covers only its own sizes, so a checkpoint of another size cannot match.
    const isSame = known.roots.get(checkpoint.size) === checkpoint.root;
    return isSame ? null : [isPin ? "L513" : "L509", `${subject} has another root`];
  }

  report() {
    return { source: this.source, size: this.checkpoint?.size ?? 0, signed_by: this.key?.name ?? null };
  }
}
