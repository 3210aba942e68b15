// @ts-check
/** Verifies a ledger level by level and writes the report (LEDGER-VERIFY-001 to 005). */

import { hexOf } from "./bytes.js";
import { ArchiveScan, BodyIndex, BodyStore } from "./bodies.js";
import { ChainChecker } from "./chain.js";
import { CheckpointComparison } from "./checkpoints.js";
import { CopyCheck, ExpectedCopies } from "./copies.js";
import { EntryReader } from "./entry.js";
import { Findings } from "./findings.js";
import { LineReader } from "./lines.js";
import { MAX_CHECKPOINT_BYTES } from "./note.js";
import { checkSemantics } from "./semantics/semantics.js";
import { Seals } from "./seal.js";

/**
 * @typedef {Object} Options
 * @property {number[]} [levels] default: all; levels 1 and 2 are always checked
 * @property {string} [expectHead]
 * @property {Uint8Array} [checkpoint] a checkpoint from a trusted source
 * @property {import("./note.js").Key} [key] the key that must have signed a checkpoint
 * @property {Uint8Array} [pin] the checkpoint of the last valid verification
 */

/** A request that is invalid for any ledger, such as one with a malformed key. */
export class UsageError extends Error {}

const LEVEL_NAMES = ["bytes", "chain", "bodies", "semantics", "seal"];

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
    this.chain = new ChainChecker(this.findings);
    this.index = new BodyIndex();
    this.expectedCopies = new ExpectedCopies();
    /** @type {Map<number, string>} why a level was not checked */
    this.reasons = new Map();
    /** @type {any} the first entry, or null */
    this.opened = null;
    this.matchingCheckpoints = /** @type {CheckpointComparison[]} */ ([]);
  }

  async report() {
    const comparisons = await this.#comparisons();
    const sealFindings = new Findings();
    this.seals = new Seals(sealFindings, new Set(comparisons.map(({ checkpoint }) => checkpoint?.size ?? 0)));
    const lines = await this.#readLines();
    this.#excludeLevels();
    if (this.findings.count === 0) {
      await this.#checkBodiesAndSemantics();
      if (!this.reasons.has(5)) this.#checkSeal(sealFindings, lines.hasTornTail, comparisons);
    } else {
      for (const level of [3, 4, 5]) this.reasons.set(level, "level 1 or 2 failed");
    }
    return this.#reportDocument();
  }

  async #comparisons() {
    const { checkpoint, key = null, pin } = this.options;
    const found = await this.run.directory?.openRegular("checkpoint");
    const comparisons = [];
    if (found !== undefined && found !== "absent") {
      // A link may lead to a regular file. If it does not, it is malformed, not absent.
      const file = found === "irregular" ? await this.run.directory?.open("checkpoint").catch(() => "irregular") : found;
      const bytes = typeof file === "object" ? await file.read(0, MAX_CHECKPOINT_BYTES + 1) : new Uint8Array(0);
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
      for (const line of batch) this.#checkLine(line, reader.read(line.bytes));
    }
    return lines;
  }

  /**
   * @param {import("./lines.js").Line} line
   * @param {import("./entry.js").EntryResult} result
   */
  #checkLine({ number, hash }, result) {
    const entry = "entry" in result ? result.entry : null;
    if ("code" in result) this.findings.add(result.code, number, result.sentence);
    this.chain.check(number, entry, hash);
    /** @type {Seals} */ (this.seals).check(number, entry, hash);
    if (entry === null) return;
    if (number === 0) this.opened = entry;
    this.index.add(number, entry);
    this.expectedCopies.add(number, entry);
  }

  #excludeLevels() {
    for (const level of [3, 4, 5]) if (!this.requestedLevels.has(level)) this.reasons.set(level, "not requested");
    if (this.run.directory === null) {
      for (const level of [3, 4]) this.reasons.set(level, "needs the run directory");
    }
  }

  async #checkBodiesAndSemantics() {
    if (this.run.directory === null || (this.reasons.has(3) && this.reasons.has(4))) return;
    const archive = await this.run.directory.open("bodies.tar");
    const source = typeof archive === "string" ? null : archive;
    const scan = source === null ? null : new ArchiveScan(this.index, source);
    await scan?.read();
    const store = new BodyStore(this.index, source);
    if (!this.reasons.has(3)) await this.#checkBodies(scan, store);
    if (!this.reasons.has(4)) {
      const reason = await checkSemantics(this.run.ledger, this.opened, store, this.schemas, this.findings);
      if (reason !== null) this.reasons.set(4, reason);
    }
  }

  /**
   * @param {ArchiveScan | null} scan
   * @param {BodyStore} store
   */
  async #checkBodies(scan, store) {
    if (scan === null || scan.isTruncated()) {
      this.findings.add("L301", null, "bodies.tar is missing or cannot be read up to the last body");
      return;
    }
    const directory = /** @type {import("./sources.js").Directory} */ (this.run.directory);
    const endsWithSeal = /** @type {Seals} */ (this.seals).endsWithSeal;
    const copies = await new CopyCheck(directory, store, endsWithSeal).check(this.expectedCopies);
    this.findings.merge(scan.finish(endsWithSeal, copies));
  }

  /**
   * @param {Findings} sealFindings the findings from reading the lines
   * @param {boolean} hasTornTail
   * @param {CheckpointComparison[]} comparisons
   */
  #checkSeal(sealFindings, hasTornTail, comparisons) {
    const seals = /** @type {Seals} */ (this.seals);
    seals.checkEnd(hasTornTail);
    const { expectHead } = this.options;
    if (expectHead !== undefined && (seals.tree.size === 0 || this.chain.head !== expectHead)) {
      sealFindings.add("L511", null, "the head differs from the expected one");
    }
    const tree = { run: this.chain.run, size: seals.tree.size, roots: seals.roots };
    this.matchingCheckpoints = comparisons.filter((comparison) => comparison.check(tree, sealFindings));
    this.findings.merge(sealFindings);
  }

  #reportDocument() {
    const seals = /** @type {Seals} */ (this.seals);
    const { size } = seals.tree;
    return {
      format: 1,
      verdict: this.findings.verdict(),
      run: this.chain.run,
      status: seals.endsWithSeal ? seals.lastSeal.status : null,
      entries: size,
      head: size === 0 ? null : this.chain.head,
      root: size === 0 ? null : hexOf(seals.tree.root()),
      redacted: this.index.redacted.size,
      first_bad_seq: this.findings.firstBadSeq(),
      codes: this.findings.codes(),
      levels: LEVEL_NAMES.map((name, i) => this.#levelDocument(i + 1, name)),
      findings: this.findings.items,
      more_findings: this.findings.count - this.findings.items.length,
      checkpoints: this.matchingCheckpoints.map((comparison) => comparison.report()),
    };
  }

  /**
   * @param {number} level
   * @param {string} name
   */
  #levelDocument(level, name) {
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
  const hasEvidence = [expectHead, checkpoint, key, pin].some((option) => option !== undefined);
  if (hasEvidence && levels !== undefined && !levels.includes(5)) {
    throw new UsageError("a head, checkpoint, key or pin requires level 5, which is not requested");
  }
  return new Verification(run, schemas, options).report();
}
