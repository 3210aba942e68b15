// @ts-check
/** Level 3: compares the digests that entries refer to with the members of the archive. */

import { ArchiveReader } from "./archive.js";
import { hexOf, isAllZeros, utf8 } from "./bytes.js";
import { Findings } from "./findings.js";
import { startSha256 } from "./sha256.js";
import { chunksOf } from "./sources.js";

export const SALT_BYTES = 32;
const SALTED_TAG = utf8("forum:salted:v1\n");
const MEMBER_NAME = /^(sha256|salted|redacted)\/([0-9a-f]{64})$/;

/**
 * @typedef {Object} Body a digest that an entry refers to
 * @property {number} seq the first entry that refers to it
 * @property {number} rank its position in the order of first references
 * @property {number} bytes
 * @property {boolean} isSalted
 * @property {number} offset of the content of a correct member; -1 while none was found
 * @property {boolean} isFound whether it has a member, correct or not
 */

/** @typedef {{digest: string, bytes: number, salted?: true}} BodyReference */

/**
 * Copies the string: a slice of a line would keep the whole line in memory.
 * @param {string} text
 */
const copyOf = (text) => (" " + text).slice(1);

/** @param {Body} body */
const memberBytes = (body) => body.bytes + (body.isSalted ? SALT_BYTES : 0);

/** The bodies that entries refer to. Receives every entry in order. */
export class BodyIndex {
  constructor() {
    /** @type {Map<string, Body>} in the order of first references */
    this.bodies = new Map();
    /** @type {Set<string>} digests of body.redacted entries */
    this.redacted = new Set();
    this.findings = new Findings();
  }

  /**
   * @param {number} number
   * @param {any} entry
   */
  add(number, entry) {
    const redactedDigest = entry.kind === "body.redacted" ? copyOf(entry.data.digest) : null;
    if (redactedDigest !== null && (!this.bodies.has(redactedDigest) || this.redacted.has(redactedDigest))) {
      this.findings.add("L309", number, `${redactedDigest} is already redacted, or no earlier entry refers to it`);
    }
    // Canonical lines have their keys sorted, so this is the order of names.
    for (const name of Object.keys(entry.bodies)) this.#addReference(number, entry.bodies[name]);
    if (redactedDigest !== null) this.redacted.add(redactedDigest);
  }

  /**
   * @param {number} number
   * @param {BodyReference} reference
   */
  #addReference(number, reference) {
    const { digest, bytes } = reference;
    const isSalted = reference.salted === true;
    if (this.redacted.has(digest)) this.findings.add("L309", number, `the entry refers to ${digest}, which is redacted`);
    const known = this.bodies.get(digest);
    if (known === undefined) {
      const rank = this.bodies.size;
      this.bodies.set(copyOf(digest), { seq: number, rank, bytes, isSalted, offset: -1, isFound: false });
    } else if (known.bytes !== bytes || known.isSalted !== isSalted) {
      this.findings.add("L303", number, `the size or salt of ${digest} differs from its first reference`);
    }
  }
}

/** Reads an archive once and compares its members with the digests of an index. */
export class ArchiveScan {
  /**
   * @param {BodyIndex} index
   * @param {import("./sources.js").ByteSource} source
   */
  constructor(index, source) {
    this.index = index;
    this.reader = new ArchiveReader(source);
    this.findings = new Findings();
    /** The end of the last referenced member. */
    this.referencedEnd = 0;
    /** The number of different bodies found so far. */
    this.position = 0;
    this.hasUnreferenced = false;
    this.hasUnreferencedBefore = false;
    this.hasRepeated = false;
    /** @type {number | null} the seq of the first body whose member is out of order */
    this.firstMisplaced = null;
  }

  async read() {
    for await (const member of this.reader.members()) {
      const match = MEMBER_NAME.exec(String.fromCharCode(...member.name));
      const body = match === null ? undefined : this.index.bodies.get(match[2]);
      if (match === null || body === undefined) {
        this.hasUnreferenced = true;
        continue;
      }
      this.hasUnreferencedBefore ||= this.hasUnreferenced;
      this.referencedEnd = this.reader.offset;
      await this.#checkMember(match[1], match[2], body, member);
    }
  }

  /**
   * @param {string} folder
   * @param {string} digest
   * @param {Body} body
   * @param {import("./archive.js").Member} member
   */
  async #checkMember(folder, digest, body, member) {
    if (body.isFound) {
      this.hasRepeated = true;
    } else {
      if (body.rank !== this.position) this.firstMisplaced ??= body.seq;
      this.position++;
    }
    body.isFound = true;
    const isCorrect = await this.#isCorrect(folder, digest, body, member);
    if (isCorrect && folder !== "redacted" && body.offset === -1) body.offset = member.offset;
    const isRecorded = this.index.redacted.has(digest);
    if (isRecorded && folder !== "redacted") {
      this.findings.add("L306", body.seq, `${digest} is recorded as redacted, but still exists`);
      return;
    }
    if (!isCorrect) this.findings.add("L303", body.seq, `the member of ${digest} does not match its digest`);
    if (folder === "redacted" && !isRecorded) {
      this.findings.add("L307", body.seq, `${digest} is redacted, but no entry records the redaction`);
    }
  }

  /**
   * @param {string} folder
   * @param {string} digest
   * @param {Body} body
   * @param {import("./archive.js").Member} member
   */
  async #isCorrect(folder, digest, body, member) {
    if (member.size !== memberBytes(body)) return false;
    const chunks = chunksOf(this.reader.window, member.offset, member.offset + member.size);
    if (folder === "redacted") {
      for await (const chunk of chunks) if (!isAllZeros(chunk)) return false;
      return true;
    }
    if (folder !== (body.isSalted ? "salted" : "sha256")) return false;
    const hasher = startSha256();
    if (body.isSalted) hasher.update(SALTED_TAG);
    for await (const chunk of chunks) hasher.update(chunk);
    return hexOf(hasher.digest()) === digest;
  }

  /** Whether the archive is unreadable before its last body (L301). */
  isTruncated() {
    return this.reader.end === "broken" && [...this.index.bodies.values()].some((body) => !body.isFound);
  }

  /**
   * All findings of level 3 for a readable archive.
   * @param {boolean} endsWithSeal whether the ledger's last line is a seal
   * @param {Findings} copies the findings about copies
   * @returns {Findings}
   */
  finish(endsWithSeal, copies) {
    const findings = this.findings;
    for (const [digest, body] of this.index.bodies) {
      if (!body.isFound) findings.add("L302", body.seq, `the body ${digest} has no member in bodies.tar`);
    }
    if (this.hasUnreferencedBefore) findings.add("L304", null, "a member before the last body is not referenced by any entry");
    findings.merge(this.index.findings);
    findings.merge(copies);
    if (findings.count === 0) this.#checkOrder();
    const isAtEnd = this.referencedEnd === this.reader.offset && this.reader.end !== "broken";
    if (!isAtEnd || (endsWithSeal && this.reader.end !== "archive")) {
      findings.add("L310", null, "the archive does not end after its last body");
    }
    return findings;
  }

  #checkOrder() {
    if (this.hasRepeated) this.findings.add("L305", null, "a digest has two members");
    if (this.firstMisplaced !== null) this.findings.add("L305", this.firstMisplaced, "members are out of order");
  }
}

/** The intact bodies of an archive. */
export class BodyStore {
  /**
   * @param {BodyIndex} index after a scan
   * @param {import("./sources.js").ByteSource | null} source null if there is no archive
   */
  constructor(index, source) {
    this.index = index;
    this.source = source;
  }

  /**
   * @param {BodyReference} reference
   * @returns {Promise<Uint8Array | null>} null if it is redacted, missing or altered
   */
  async read(reference) {
    const body = this.#intactBody(reference);
    if (body === null) return null;
    const salt = body.isSalted ? SALT_BYTES : 0;
    return this.#openSource().read(body.offset + salt, body.bytes);
  }

  /**
   * A hasher that returns the body's digest after it receives the body's bytes, or null if the salt is unknown.
   * @param {BodyReference} reference
   */
  async hasherFor(reference) {
    const hasher = startSha256();
    if (reference.salted !== true) return hasher;
    const body = this.#intactBody(reference);
    if (body === null) return null;
    hasher.update(SALTED_TAG);
    hasher.update(await this.#openSource().read(body.offset, SALT_BYTES));
    return hasher;
  }

  #openSource() {
    return /** @type {import("./sources.js").ByteSource} */ (this.source);
  }

  /**
   * @param {BodyReference} reference
   * @returns {Body | null}
   */
  #intactBody(reference) {
    const body = this.index.bodies.get(reference.digest);
    if (this.source === null || body === undefined || body.offset === -1) return null;
    return body.bytes === reference.bytes && body.isSalted === (reference.salted === true) ? body : null;
  }
}
