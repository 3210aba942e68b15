// @ts-check
/** Level 1: check that the bytes of a line are an entry. */

import { textOf } from "./bytes.js";
import { canonicalText } from "./canonical.js";
import { JsonSyntaxError, readJson } from "./json_text.js";

export const MAX_LINE_DEPTH = 64;

/** @typedef {{entry: any} | {code: string, sentence: string}} EntryResult */

/**
 * @param {string} code
 * @param {string} sentence
 */
const finding = (code, sentence) => ({ code, sentence });

/**
 * @param {string} text
 * @returns {import("./json_text.js").JsonText | null}
 */
function readOrNull(text) {
  try {
    return readJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return null;
    throw error;
  }
}

export class EntryReader {
  /** @param {import("./schema.js").Schemas} schemas */
  constructor(schemas) {
    this.matchesSchema = schemas.check("entry.schema.json");
    this.kinds = schemas.kinds;
  }

  /**
   * The entry of a line, or the first finding that applies to it.
   * @param {Uint8Array | null} bytes null for a line that is too long
   * @returns {EntryResult}
   */
  read(bytes) {
    if (bytes === null) return finding("L101", "the line is too long");
    const text = textOf(bytes);
    if (text === null) return finding("L102", "the line is not UTF-8");
    const json = readOrNull(text);
    if (json === null) return finding("L102", "the line is not JSON");
    const entry = json.value;
    if (entry === null || typeof entry !== "object" || Array.isArray(entry)) {
      return finding("L102", "the line is not a JSON object");
    }
    if (json.hasLoneSurrogate) return finding("L102", "a string contains a lone surrogate");
    if (json.depth > MAX_LINE_DEPTH) return finding("L102", "the line is nested too deeply");
    if (json.hasFraction || json.hasUnsafeInteger) return finding("L103", "a number is not an integer in range");
    if (canonicalText(entry) !== text) return finding("L104", "the line is not in RFC 8785 form");
    if (!this.matchesSchema(entry)) return finding("L105", "the entry does not match its schema");
    if (!entry.kind.startsWith("x-") && !this.kinds.has(entry.kind)) {
      return finding("L106", `unknown kind '${entry.kind}'`);
    }
    return { entry };
  }
}
