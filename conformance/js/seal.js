// @ts-check
/** Seals, and the Merkle roots that they and checkpoints are compared with (LEDGER-SEAL-001, LEDGER-SEAL-002). */

import { hexOf } from "./bytes.js";
import { canonicalText } from "./canonical.js";
import { GrowingTree } from "./merkle.js";

export class Seals {
  /**
   * @param {import("./findings.js").Findings} findings
   * @param {Set<number>} sizes the numbers of entries whose roots are needed
   */
  constructor(findings, sizes) {
    this.findings = findings;
    this.tree = new GrowingTree();
    /** @type {Map<number, string>} */
    this.roots = new Map();
    this.sizes = sizes;
    /** @type {any} the data of the last seal */
    this.lastSeal = null;
    /** Whether the last line so far is a seal. */
    this.endsWithSeal = false;
    this.#storeRoot();
  }

  /**
   * @param {number} number
   * @param {any} entry null for a line with a level 1 finding
   * @param {Uint8Array} hash the hash of the line
   */
  check(number, entry, hash) {
    this.endsWithSeal = entry?.kind === "run.sealed";
    if (this.endsWithSeal) this.#checkSeal(number, entry.data);
    this.tree.append(hash);
    this.#storeRoot();
  }

  /**
   * @param {number} number
   * @param {any} data
   */
  #checkSeal(number, data) {
    const isSame = (/** @type {string} */ member) => canonicalText(data[member]) === canonicalText(this.lastSeal[member]);
    if (this.lastSeal !== null && !["status", "counts", "totals"].every(isSame)) {
      this.findings.add("L504", number, "the seal differs from the previous one in status, counts or totals");
    }
    if (data.root !== hexOf(this.tree.root())) {
      this.findings.add("L505", number, "the seal's root is not the root of the entries before it");
    }
    this.lastSeal = data;
  }

  #storeRoot() {
    if (this.sizes.has(this.tree.size)) this.roots.set(this.tree.size, hexOf(this.tree.root()));
  }

  /**
   * Adds the findings about the end of the file.
   * @param {boolean} hasTornTail
   */
  checkEnd(hasTornTail) {
    if (this.tree.size === 0) this.findings.add("L502", null, "the ledger has no lines");
    else if (!this.endsWithSeal) this.findings.add("L501", null, "the last line is not a seal");
    if (hasTornTail) this.findings.add("L503", this.tree.size, "bytes after the last LF");
  }
}
