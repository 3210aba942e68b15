// @ts-check
/** The lines of a ledger (LEDGER-LINE-001, LEDGER-LINE-002), with their hashes, read in chunks. */

import { concat } from "./bytes.js";
import { leafHash } from "./merkle.js";
import { startSha256 } from "./sha256.js";
import { chunksOf } from "./sources.js";

export const MAX_LINE_BYTES = 65535;
const LF = 0x0a;

/**
 * @typedef {Object} Line
 * @property {number} number from 0: the seq that its entry must have
 * @property {Uint8Array | null} bytes without the LF; null if the line is too long
 * @property {Uint8Array} hash
 */

/** A line whose end has not been read yet. */
class OpenLine {
  constructor() {
    /** @type {Uint8Array[]} */
    this.parts = [];
    this.length = 0;
    /** @type {import("./sha256.js").Hasher | null} set once the line is too long to store */
    this.hasher = null;
  }

  /** @param {Uint8Array} part */
  add(part) {
    this.length += part.length;
    if (this.hasher !== null) {
      this.hasher.update(part);
      return;
    }
    this.parts.push(part);
    if (this.length <= MAX_LINE_BYTES) return;
    this.hasher = startSha256();
    this.hasher.update(Uint8Array.of(0));
    for (const stored of this.parts) this.hasher.update(stored);
    this.parts = [];
  }

  /**
   * @param {number} number
   * @returns {Line}
   */
  end(number) {
    if (this.hasher !== null) return { number, bytes: null, hash: this.hasher.digest() };
    const bytes = this.parts.length === 1 ? this.parts[0] : concat(this.parts);
    return { number, bytes, hash: leafHash(bytes) };
  }
}

export class LineReader {
  /** @param {import("./sources.js").ByteSource} source */
  constructor(source) {
    this.source = source;
    this.count = 0;
    this.hasTornTail = false;
  }

  /**
   * The lines, in batches; afterwards `count` and `hasTornTail` are set.
   * @returns {AsyncGenerator<Line[]>}
   */
  async *batches() {
    let openLine = new OpenLine();
    for await (const chunk of chunksOf(this.source, 0, this.source.size)) {
      const batch = [];
      let from = 0;
      for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
        openLine.add(chunk.subarray(from, end));
        batch.push(openLine.end(this.count++));
        openLine = new OpenLine();
        from = end + 1;
      }
      if (from < chunk.length) openLine.add(chunk.subarray(from));
      yield batch;
    }
    this.hasTornTail = openLine.length > 0;
  }
}
