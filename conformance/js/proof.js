// @ts-check
/** Creates inclusion and consistency proofs from a ledger, and checks them without one (LEDGER-PROOF-001). */

import { bytesOfHex, hexOf, textOf, utf8 } from "./bytes.js";
import { readCanonicalizable } from "./canonical.js";
import { CheckpointComparison } from "./checkpoints.js";
import { MAX_LINE_DEPTH } from "./entry.js";
import { Findings } from "./findings.js";
import { JsonSyntaxError, readJson } from "./json_text.js";
import { LineReader } from "./lines.js";
import { consistencyPath, isConsistent, GrowingTree, isIncluded, inclusionPath, leafHash } from "./merkle.js";
import { checkpointText, readCheckpoint } from "./note.js";
import { UsageError, verify } from "./verify.js";

/** Creates checkpoints and proofs from a ledger's hashes, and from the line that an inclusion proof contains. */
export class Prover {
  /**
   * Reads a ledger. Levels 1 and 2 must be valid: there are no checkpoints and proofs of an invalid ledger.
   * @param {import("./sources.js").ByteSource} ledger
   * @param {import("./schema.js").Schemas} schemas
   * @param {number} [seq] the seq of the line to store
   * @returns {Promise<Prover | null>} null if the ledger is invalid or has no entry
   */
  static async of(ledger, schemas, seq) {
    const { verdict, run } = await verify({ ledger, directory: null }, schemas, { levels: [1, 2] });
    if (verdict !== "valid" || run === null) return null;
    const prover = new Prover(run);
    for await (const batch of new LineReader(ledger).batches()) {
      for (const line of batch) {
        prover.leaves.push(line.hash);
        if (line.number === seq) prover.line = textOf(line.bytes ?? new Uint8Array(0));
      }
    }
    return prover;
  }

  /** @param {string} run */
  constructor(run) {
    this.run = run;
    /** @type {Uint8Array[]} */
    this.leaves = [];
    /** @type {string | null} */
    this.line = null;
  }

  /**
   * @param {number} size
   * @returns {string | null} null if the ledger has fewer entries
   */
  checkpoint(size) {
    if (size > this.leaves.length) return null;
    return checkpointText(this.run, size, this.#root(size));
  }

  /**
   * @param {number} seq the seq that was passed to `of`
   * @param {number} size
   */
  inclusion(seq, size) {
    const checkpoint = this.checkpoint(size);
    if (checkpoint === null || seq >= size || this.line === null) return null;
    const path = inclusionPath(this.leaves.slice(0, size), seq);
    return { ...this.#common("inclusion", size, path, checkpoint), seq, entry: this.line };
  }

  /**
   * @param {number} fromSize
   * @param {number} size
   */
  consistency(fromSize, size) {
    const checkpoint = this.checkpoint(size);
    if (checkpoint === null || fromSize > size) return null;
    const path = consistencyPath(this.leaves.slice(0, size), fromSize);
    const common = this.#common("consistency", size, path, checkpoint);
    return { ...common, from_size: fromSize, from_root: hexOf(this.#root(fromSize)) };
  }

  /**
   * @param {string} proof
   * @param {number} size
   * @param {Uint8Array[]} path
   * @param {string} checkpoint
   */
  #common(proof, size, path, checkpoint) {
    return { format: 1, proof, run: this.run, size, root: hexOf(this.#root(size)), path: path.map(hexOf), checkpoint };
  }

  /** @param {number} size */
  #root(size) {
    const tree = new GrowingTree();
    for (const leaf of this.leaves.slice(0, size)) tree.append(leaf);
    return tree.root();
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {import("./schema.js").Schemas} schemas
 * @returns {any} the proof, or null if it is malformed
 */
function readProof(bytes, schemas) {
  const proof = readCanonicalizable(bytes)?.value;
  if (proof === undefined || !schemas.check("proof.schema.json")(proof)) return null;
  const checkpoint = readCheckpoint(utf8(proof.checkpoint));
  const agrees =
    checkpoint !== null &&
    checkpoint.run === proof.run &&
    checkpoint.size === proof.size &&
    checkpoint.root === proof.root &&
    (proof.proof === "inclusion" ? matchesEntry(proof) : proof.from_size <= proof.size);
  return agrees ? proof : null;
}

/** @param {any} proof */
function matchesEntry(proof) {
  const entry = proof.entry.includes("\n") ? null : parseEntry(proof.entry);
  return proof.seq < proof.size && entry?.seq === proof.seq && entry?.run === proof.run;
}

/**
 * The value of a line, or null if it violates LEDGER-LINE-003. The other rules for entries are not checked.
 * @param {string} line
 * @returns {any}
 */
function parseEntry(line) {
  try {
    const { value, depth, hasLoneSurrogate } = readJson(line);
    return depth > MAX_LINE_DEPTH || hasLoneSurrogate ? null : value;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return null;
    throw error;
  }
}

/** @param {any} proof */
function leadsToRoot(proof) {
  const path = proof.path.map(bytesOfHex);
  const root = bytesOfHex(proof.root);
  if (proof.proof === "inclusion") return isIncluded(leafHash(utf8(proof.entry)), proof.seq, proof.size, path, root);
  return isConsistent(proof.from_size, bytesOfHex(proof.from_root), proof.size, root, path);
}

/**
 * @typedef {Object} Evidence trusted information that a proof must agree with
 * @property {Uint8Array} [checkpoint]
 * @property {import("./note.js").Key} [key]
 * @property {Uint8Array} [pin]
 */

/**
 * Checks a proof against a trusted checkpoint, key and pin.
 * @param {Uint8Array} bytes
 * @param {import("./schema.js").Schemas} schemas
 * @param {Evidence} evidence
 * @returns {Findings}
 * @throws {UsageError}
 */
export function checkProof(bytes, schemas, { checkpoint, key, pin }) {
  const findings = new Findings();
  // A malformed key (null) must not be mistaken for an omitted one.
  if (key === null) throw new UsageError("the key is not a public key");
  const pinComparison = pin === undefined ? null : new CheckpointComparison("pin", pin, null);
  if (pinComparison !== null && pinComparison.checkpoint === null) throw new UsageError("the pin is malformed");
  const proof = readProof(bytes, schemas);
  if (proof === null) {
    findings.add("L601", null, "the proof is malformed");
    return findings;
  }
  if (!leadsToRoot(proof)) findings.add("L602", null, "the path does not lead to the root");
  const roots = new Map([[proof.size, proof.root]]);
  if (proof.proof === "consistency") roots.set(proof.from_size, proof.from_root);
  const tree = { run: proof.run, size: proof.size, roots };
  if (checkpoint !== undefined) new CheckpointComparison("given", checkpoint, key ?? null).check(tree, findings);
  else if (key !== undefined) new CheckpointComparison("given", utf8(proof.checkpoint), key).check(tree, findings);
  pinComparison?.check(tree, findings);
  return findings;
}
