// @ts-check
/** Verifies a ledger level by level and writes the report (LEDGER-VERIFY-001 to 005). */

import { hexOf } from "./bytes.js";
import { ArchiveScan, BodyIndex, BodyStore } from "./bodies.js";
import { Chain } from "./chain.js";
import { CheckpointComparison } from "./checkpoints.js";
import { CopyCheck, Originals } from "./copies.js";
import { EntryReader } from "./entry.js";
import { Findings } from "./findings.js";
import { LineReader } from "./lines.js";
import { replay } from "./semantics/semantics.js";
import { Seals } from "./seal.js";

/**
 * @typedef {Object} Options
 * @property {number[]} [levels] default: all; levels 1 and 2 are always checked
 * @property {string} [expectHead]
 * @property {Uint8Array} [checkpoint] a checkpoint from a trusted source
 * @property {import("./note.js").Key} [key] the key that must have signed a checkpoint
 * @property {Uint8Array} [pin] the checkpoint of the last valid verification
 */

/** A request that is invalid for any ledger. */
export class UsageError extends Error {}

const NAMES = ["bytes", "chain", "bodies", "semantics", "seal"];

class Verification {
  /**
   * @param {import("./sources.js").Run} run
   * @param {import("./schema.js").Schemas} schemas
   * @param {Options} options
   */
  constructor(run, schemas, options) {
    this.run = run;
    this.schemas = schemas;
    this.options = options;
    this.requestedLevels = new Set([1, 2, ...(options.levels ?? [3, 4, 5])]);
    this.findings = new Findings();
    this.chain = new Chain(this.findings);
    this.index = new BodyIndex();
    this.originals = new Originals();
    /** @type {Map<number, string>} why a level was not checked */
    this.reasons = new Map();
    /** @type {any} */
    this.opened = null;
    this.matchingCheckpoints = /** @type {CheckpointComparison[]} */ ([]);
  }

  async report() {
    const comparisons = await this.#comparisons();
    const seal = new Findings();
    this.seals = new Seals(seal, new Set(comparisons.map(({ checkpoint }) => checkpoint?.size ?? 0)));
    const lines = await this.#readLines();
    this.#excludeLevels();
    if (this.findings.count === 0) {
      await this.#bodiesAndSemantics();
      if (!this.reasons.has(5)) this.#seal(seal, lines.hasTornTail, comparisons);
    } else {
      for (const level of [3, 4, 5]) this.reasons.set(level, "level 1 or 2 failed");
    }
    return this.#reportDocument();
  }

  async #comparisons() {
    const { checkpoint, key = null, pin } = this.options;
    const directoryFile = await this.run.directory?.open("checkpoint");
    const comparisons = [];
    if (directoryFile !== undefined && directoryFile !== "absent") {
      const bytes = directoryFile === "irregular" ? new Uint8Array(0) : await directoryFile.read(0, (1 << 20) + 1);
      comparisons.push(new CheckpointComparison("directory", bytes, checkpoint === undefined ? key : null));
    }
    if (checkpoint !== undefined) comparisons.push(new CheckpointComparison("given", checkpoint, key));
    if (key !== null && comparisons.length === 0) {
      throw new UsageError("no checkpoint to verify with the key");
    }
    if (pin !== undefined) comparisons.push(new CheckpointComparison("pin", pin, null));
    const last = comparisons.at(-1);
    if (last?.source === "pin" && last.checkpoint === null) throw new UsageError("the pin is malformed");
    return comparisons;
  }

  async #readLines() {
    const reader = new EntryReader(this.schemas);
    const lines = new LineReader(this.run.ledger);
    for await (const batch of lines.batches()) {
      for (const line of batch) this.#line(line, reader.read(line.bytes));
    }
    return lines;
  }

  /**
   * @param {import("./lines.js").Line} line
   * @param {import("./entry.js").ReadEntry} read
   */
  #line({ number, hash }, read) {
    const entry = "entry" in read ? read.entry : null;
    if ("code" in read) this.findings.add(read.code, number, read.sentence);
    this.chain.take(number, entry, hash);
    /** @type {Seals} */ (this.seals).take(number, entry, hash);
    if (entry === null) return;
    if (number === 0) this.opened = entry;
    this.index.take(number, entry);
    this.originals.take(number, entry);
  }

  #excludeLevels() {
    for (const level of [3, 4, 5]) if (!this.requestedLevels.has(level)) this.reasons.set(level, "not requested");
    if (this.run.directory === null) {
      for (const level of [3, 4]) this.reasons.set(level, "needs the run directory");
    }
  }

  async #bodiesAndSemantics() {
    if (this.run.directory === null || (this.reasons.has(3) && this.reasons.has(4))) return;
    const archive = await this.run.directory.open("bodies.tar");
    const source = typeof archive === "string" ? null : archive;
    const scan = source === null ? null : new ArchiveScan(this.index, source);
    await scan?.read();
    const store = new BodyStore(this.index, source);
    if (!this.reasons.has(3)) await this.#bodies(scan, store);
    if (!this.reasons.has(4)) {
      const reason = await replay(this.run.ledger, this.opened, store, this.schemas, this.findings);
      if (reason !== null) this.reasons.set(4, reason);
    }
  }

  /**
   * @param {ArchiveScan | null} scan
   * @param {BodyStore} store
   */
  async #bodies(scan, store) {
    if (scan === null || scan.isTruncated()) {
      this.findings.add("L301", null, "bodies.tar is missing or cannot be read up to the last body");
      return;
    }
    const directory = /** @type {import("./sources.js").Directory} */ (this.run.directory);
    const isSealed = /** @type {Seals} */ (this.seals).isLastLine;
    const copies = await new CopyCheck(directory, store, isSealed).check(this.originals);
    this.findings.merge(scan.conclude(isSealed, copies));
  }

  /**
   * @param {Findings} found the findings from reading the lines
   * @param {boolean} hasTornTail
   * @param {CheckpointComparison[]} comparisons
   */
  #seal(found, hasTornTail, comparisons) {
    const seals = /** @type {Seals} */ (this.seals);
    seals.end(hasTornTail);
    const { expectHead } = this.options;
    if (expectHead !== undefined && (seals.tree.size === 0 || this.chain.head !== expectHead)) {
      found.add("L511", null, "the head differs from the expected one");
    }
    const known = { run: this.chain.run, size: seals.tree.size, roots: seals.roots };
    this.matchingCheckpoints = comparisons.filter((comparison) => comparison.check(known, found));
    this.findings.merge(found);
  }

  #reportDocument() {
    const seals = /** @type {Seals} */ (this.seals);
    const { size } = seals.tree;
    return {
      format: 1,
      verdict: this.findings.verdict(),
      run: this.chain.run,
      status: seals.isLastLine ? seals.last.status : null,
      entries: size,
      head: size === 0 ? null : this.chain.head,
      root: size === 0 ? null : hexOf(seals.tree.root()),
      redacted: this.index.redacted.size,
      first_bad_seq: this.findings.firstBadSeq(),
      codes: this.findings.codes(),
      levels: NAMES.map((name, i) => this.#level(i + 1, name)),
      findings: this.findings.kept,
      more_findings: this.findings.count - this.findings.kept.length,
      checkpoints: this.matchingCheckpoints.map((comparison) => comparison.report()),
    };
  }

  /**
   * @param {number} level
   * @param {string} name
   */
  #level(level, name) {
    const reason = this.reasons.get(level) ?? null;
    const status = reason === null ? this.findings.status(level) : "not checked";
    return { level, name, status, first_bad_seq: this.findings.firstBadSeq(level), reason };
  }
}

/**
 * Verifies a ledger. The result matches `verify-report.schema.json`.
 * @param {import("./sources.js").Run} run
 * @param {import("./schema.js").Schemas} schemas
 * @param {Options} [options]
 * @throws {UsageError}
 */
export async function verify(run, schemas, options = {}) {
  const { levels, expectHead, checkpoint, key, pin } = options;
  // A malformed key (null) must not be mistaken for an omitted one.
  if (key === null) throw new UsageError("the key is not a public key");
  const isForSeal = [expectHead, checkpoint, key, pin].some((given) => given !== undefined);
  if (isForSeal && levels !== undefined && !levels.includes(5)) throw new UsageError("level 5 is not requested");
  return new Verification(run, schemas, options).report();
}
