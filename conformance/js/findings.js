// @ts-check
/** Findings, and the verdict that follows from them (LEDGER-VERIFY-001 to 003). */

/** Codes that make a ledger incomplete. Every other code makes it invalid. */
const INCOMPLETE_CODES = new Set(["L310", "L501", "L502", "L503"]);
const MAX_ITEMS = 100;

/** @typedef {{code: string, level: number, seq: number | null, sentence: string}} Finding */
/** @typedef {"ok" | "fail" | "incomplete" | "not checked"} Status */

export class Findings {
  constructor() {
    /** @type {Finding[]} only the first findings, because every line may have one */
    this.items = [];
    this.count = 0;
    /** @type {Map<string, number | null>} the smallest seq of each code */
    this.firstSeqs = new Map();
  }

  /**
   * @param {string} code
   * @param {number | null} seq
   * @param {string} sentence
   */
  add(code, seq, sentence) {
    this.count++;
    if (this.items.length < MAX_ITEMS) this.items.push({ code, level: Number(code[1]), seq, sentence });
    this.#updateFirstSeq(code, seq);
  }

  /** @param {Findings} others */
  merge(others) {
    for (const finding of others.items) this.add(finding.code, finding.seq, finding.sentence);
    this.count += others.count - others.items.length;
    for (const [code, seq] of others.firstSeqs) this.#updateFirstSeq(code, seq);
  }

  /**
   * @param {string} code
   * @param {number | null} seq
   */
  #updateFirstSeq(code, seq) {
    const first = this.firstSeqs.get(code) ?? null;
    this.firstSeqs.set(code, first === null ? seq : seq === null ? first : Math.min(first, seq));
  }

  /** @param {number} [level] */
  codes(level) {
    const codes = [...this.firstSeqs.keys()].sort();
    return level === undefined ? codes : codes.filter((code) => Number(code[1]) === level);
  }

  /**
   * @param {number} [level]
   * @returns {number | null}
   */
  firstBadSeq(level) {
    const seqs = this.codes(level).map((code) => this.firstSeqs.get(code) ?? null);
    const known = /** @type {number[]} */ (seqs.filter((seq) => seq !== null));
    return known.length === 0 ? null : Math.min(...known);
  }

  /**
   * @param {number} level
   * @returns {Status}
   */
  status(level) {
    const codes = this.codes(level);
    if (codes.length === 0) return "ok";
    return codes.every((code) => INCOMPLETE_CODES.has(code)) ? "incomplete" : "fail";
  }

  /** @returns {"valid" | "invalid" | "incomplete"} */
  verdict() {
    const codes = this.codes();
    if (codes.length === 0) return "valid";
    return codes.every((code) => INCOMPLETE_CODES.has(code)) ? "incomplete" : "invalid";
  }
}
