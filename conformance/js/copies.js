// @ts-check
/** The copies of bodies in a run directory: the wave plan and the outputs (LEDGER-DIR-002). */

import { hexOf } from "./bytes.js";
import { Findings } from "./findings.js";
import { chunksOf } from "./sources.js";

const WAVE_PLAN = "wave-plan.json";
const OUTPUTS = "outputs";
/** @type {Record<string, string>} */
const SUFFIXES = { "application/json": ".json", "text/plain": ".txt" };

/** @typedef {{seq: number, reference: import("./bodies.js").BodyReference & {type: string}}} CopiedBody */

/** Collects the bodies that must have copies. Call `add` with every entry, in order. */
export class ExpectedCopies {
  constructor() {
    /** @type {CopiedBody | null} */
    this.wavePlan = null;
    /** @type {Map<string, CopiedBody>} the last value of each output */
    this.outputs = new Map();
  }

  /**
   * @param {number} seq
   * @param {any} entry
   */
  add(seq, entry) {
    if (entry.kind === "run.opened" && entry.bodies.wave_plan !== undefined) {
      this.wavePlan = { seq, reference: entry.bodies.wave_plan };
    }
    if (entry.kind === "answer.given") this.outputs.set(entry.data.output, { seq, reference: entry.bodies.value });
  }

  /** @returns {Map<string, CopiedBody>} by path */
  byPath() {
    const paths = new Map();
    if (this.wavePlan !== null) paths.set(WAVE_PLAN, this.wavePlan);
    for (const [name, body] of this.outputs) {
      const suffix = SUFFIXES[body.reference.type] ?? ".bin";
      paths.set(`${OUTPUTS}/${name}${suffix}`, body);
    }
    return paths;
  }
}

/** Compares the copies in a run directory with the bodies. */
export class CopyCheck {
  /**
   * @param {import("./sources.js").Directory} directory
   * @param {import("./bodies.js").BodyStore} store
   * @param {boolean} endsWithSeal whether the ledger's last line is a seal
   */
  constructor(directory, store, endsWithSeal) {
    this.directory = directory;
    this.store = store;
    this.endsWithSeal = endsWithSeal;
    this.findings = new Findings();
  }

  /**
   * @param {ExpectedCopies} expectedCopies
   * @returns {Promise<Findings>}
   */
  async check(expectedCopies) {
    const expected = expectedCopies.byPath();
    for (const [path, body] of expected) await this.#checkCopy(path, body);
    for (const name of (await this.directory.list(OUTPUTS)) ?? []) {
      if (!name.startsWith(".") && !expected.has(`${OUTPUTS}/${name}`)) {
        this.findings.add("L308", null, `${OUTPUTS}/${name} is not a copy of any output`);
      }
    }
    return this.findings;
  }

  /**
   * @param {string} path
   * @param {CopiedBody} body
   */
  async #checkCopy(path, { seq, reference }) {
    const file = await this.directory.openRegular(path);
    const index = this.store.index;
    if (index.redacted.has(reference.digest)) {
      const firstSeq = index.bodies.get(reference.digest)?.seq ?? seq;
      if (file !== "absent") this.findings.add("L306", firstSeq, `${path} is a copy of a redacted body`);
    } else if (file === "absent") {
      if (this.endsWithSeal) this.findings.add("L308", seq, `${path} is missing`);
    } else if (file === "irregular") {
      this.findings.add("L308", seq, `${path} is not a regular file`);
    } else if (!(await this.#isCopy(file, reference))) {
      this.findings.add("L308", seq, `${path} differs from the body it should be a copy of`);
    }
  }

  /**
   * @param {import("./sources.js").ByteSource} file
   * @param {import("./bodies.js").BodyReference} reference
   */
  async #isCopy(file, reference) {
    const hasher = await this.store.hasherFor(reference);
    // Without the salt the digest cannot be computed, so the copy is not reported.
    if (hasher === null) return true;
    if (file.size !== reference.bytes) return false;
    for await (const chunk of chunksOf(file, 0, file.size)) hasher.update(chunk);
    return hexOf(hasher.digest()) === reference.digest;
  }
}
