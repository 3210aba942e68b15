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
   * Compares the checkpoint with a tree, and adds the first finding that applies.
   * @param {ComparedTree} tree
   * @param {import("./findings.js").Findings} findings
   * @returns {boolean} whether the checkpoint matches
   */
  check(tree, findings) {
    const finding = this.#finding(tree);
    if (finding !== null) findings.add(finding[0], null, finding[1]);
    return finding === null;
  }

  /**
   * @param {ComparedTree} tree
   * @returns {[string, string] | null} code and sentence
   */
  #finding(tree) {
    const { checkpoint, key } = this;
    const isPin = this.source === "pin";
    const subject = isPin ? "the pin" : "the checkpoint";
    if (checkpoint === null) return ["L506", `${subject} is malformed`];
    if (key !== null && !isSigned(checkpoint, key)) return ["L510", `${subject} is not signed by ${key.name}`];
    if (checkpoint.run !== tree.run) return ["L507", `${subject} belongs to a different run`];
    if (checkpoint.size > tree.size) return [isPin ? "L512" : "L508", `${subject} covers ${checkpoint.size} entries, but there are only ${tree.size}`];
    // A proof covers only its own sizes, so a checkpoint of a different size cannot match.
    const isSame = tree.roots.get(checkpoint.size) === checkpoint.root;
    return isSame ? null : [isPin ? "L513" : "L509", `${subject} has a different root`];
  }

  report() {
    return { source: this.source, size: this.checkpoint?.size ?? 0, signed_by: this.key?.name ?? null };
  }
}
