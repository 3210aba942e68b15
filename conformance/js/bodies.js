// @ts-check
/** Level 3: the digests that entries name, and the members of the archive that belong to them. */

import { ArchiveReader } from "./archive.js";
import { hexOf, isAllZeros, utf8 } from "./bytes.js";
import { Findings } from "./findings.js";
import { startSha256 } from "./sha256.js";
import { chunksOf } from "./sources.js";

export const SALT_BYTES = 32;
const SALTED_TAG = utf8("forum:salted:v1\n");
const MEMBER_NAME = /^(sha256|salted|redacted)\/([0-9a-f]{64})$/;

/**
 * @typedef {Object} Body what is known of a digest that an entry names
 * @property {number} seq the entry that names it first
 * @property {number} rank its place among all digests, in the order of first naming
 * @property {number} bytes
 * @property {boolean} isSalted
 * @property {number} offset of the content of a member that is as it should be; -1 while none was found
 * @property {boolean} isFound whether it has a member, right or wrong
 */

/** @typedef {{digest: string, bytes: number, salted?: true}} Naming */

/**
 * Copy the string: a slice of a line would keep the whole line in memory.
 * @param {string} text
 */
const detached = (text) => (" " + text).slice(1);

/** @param {Body} body */
const memberBytes = (body) => body.bytes + (body.isSalted ? SALT_BYTES : 0);

export class BodyIndex {
  constructor() {
    /** @type {Map<string, Body>} in the order of first naming */
    this.bodies = new Map();
    /** @type {Set<string>} digests that a body.redacted names */
    this.redacted = new Set();
    this.findings = new Findings();
  }

  /**
   * @param {number} number
   * @param {any} entry
   */
  take(number, entry) {
    const redacts = entry.kind === "body.redacted" ? detached(entry.data.digest) : null;
    if (redacts !== null && (!this.bodies.has(redacts) || this.redacted.has(redacts))) {
      this.findings.add("L309", number, `${redacts} is not named before, or redacted already`);
    }
    // Canonical lines have their keys sorted, so this is the order of names.
    for (const name of Object.keys(entry.bodies)) this.#name(number, entry.bodies[name]);
    if (redacts !== null) this.redacted.add(redacts);
  }

  /**
   * @param {number} number
   * @param {Naming} naming
   */
  #name(number, naming) {
    const { digest, bytes } = naming;
    const isSalted = naming.salted === true;
    if (this.redacted.has(digest)) this.findings.add("L309", number, `${digest} was redacted before`);
    const known = this.bodies.get(digest);
    if (known === undefined) {
      const rank = this.bodies.size;
      this.bodies.set(detached(digest), { seq: number, rank, bytes, isSalted, offset: -1, isFound: false });
    } else if (known.bytes !== bytes || known.isSalted !== isSalted) {
      this.findings.add("L303", number, `${digest} has other bytes or another salt than where it is first named`);
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
    /** The end of the last member that an entry names. */
    this.namedEnd = 0;
    this.position = 0;
    this.hasStranger = false;
    this.hasStrangerBefore = false;
    this.hasRepeated = false;
    /** @type {number | null} */
    this.firstMisplaced = null;
  }

  async read() {
    for await (const member of this.reader.members()) {
      const match = MEMBER_NAME.exec(String.fromCharCode(...member.name));
      const body = match === null ? undefined : this.index.bodies.get(match[2]);
      if (match === null || body === undefined) {
        this.hasStranger = true;
        continue;
      }
      this.hasStrangerBefore ||= this.hasStranger;
      this.namedEnd = this.reader.at;
      await this.#look(match[1], match[2], body, member);
    }
  }

  /**
   * @param {string} folder
   * @param {string} digest
   * @param {Body} body
   * @param {import("./archive.js").Member} member
   */
  async #look(folder, digest, body, member) {
    if (body.isFound) {
      this.hasRepeated = true;
    } else {
      if (body.rank !== this.position) this.firstMisplaced ??= body.seq;
      this.position++;
    }
    body.isFound = true;
    const isRight = await this.#isRight(folder, digest, body, member);
    if (isRight && folder !== "redacted" && body.offset === -1) body.offset = member.offset;
    const isRecorded = this.index.redacted.has(digest);
    if (isRecorded && folder !== "redacted") {
      this.findings.add("L306", body.seq, `${digest} is recorded as redacted, but still exists`);
      return;
    }
    if (!isRight) this.findings.add("L303", body.seq, `the member of ${digest} does not match its digest`);
    if (folder === "redacted" && !isRecorded) {
      this.findings.add("L307", body.seq, `${digest} is redacted, but no entry records it`);
    }
  }

  /**
   * @param {string} folder
   * @param {string} digest
   * @param {Body} body
   * @param {import("./archive.js").Member} member
   */
  async #isRight(folder, digest, body, member) {
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

  /** Whether the archive became unreadable before the last body: L301. */
  isCutShort() {
    return this.reader.end === "broken" && [...this.index.bodies.values()].some((body) => !body.isFound);
  }

  /**
   * All findings of an archive that could be read, but those about copies.
   * @param {boolean} isSealed whether the ledger's last line is a seal
   * @param {Findings} copies the findings about copies
   * @returns {Findings}
   */
  conclude(isSealed, copies) {
    const findings = this.findings;
    for (const [digest, body] of this.index.bodies) {
      if (!body.isFound) findings.add("L302", body.seq, `${digest} has no member`);
    }
    if (this.hasStrangerBefore) findings.add("L304", null, "a member that no entry refers to is among the bodies");
    findings.merge(this.index.findings);
    findings.merge(copies);
    if (findings.count === 0) this.#order();
    const isAtEnd = this.namedEnd === this.reader.at && this.reader.end !== "broken";
    if (!isAtEnd || (isSealed && this.reader.end !== "archive")) {
      findings.add("L310", null, "the archive does not end after its last body");
    }
    return findings;
  }

  #order() {
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
   * @param {Naming} naming
   * @returns {Promise<Uint8Array | null>} null if it is redacted, missing or wrong
   */
  async read(naming) {
    const body = this.#there(naming);
    if (body === null) return null;
    const salt = body.isSalted ? SALT_BYTES : 0;
    return this.#held().read(body.offset + salt, body.bytes);
  }

  /**
   * A hasher that gives the digest once it has had the body's bytes, or null if the salt is not known.
   * @param {Naming} naming
   */
  async hasherFor(naming) {
    const hasher = startSha256();
    if (naming.salted !== true) return hasher;
    const body = this.#there(naming);
    if (body === null) return null;
    hasher.update(SALTED_TAG);
    hasher.update(await this.#held().read(body.offset, SALT_BYTES));
    return hasher;
  }

  #held() {
    return /** @type {import("./sources.js").ByteSource} */ (this.source);
  }

  /**
   * @param {Naming} naming
   * @returns {Body | null}
   */
  #there(naming) {
    const body = this.index.bodies.get(naming.digest);
    if (this.source === null || body === undefined || body.offset === -1) return null;
    return body.bytes === naming.bytes && body.isSalted === (naming.salted === true) ? body : null;
  }
}
