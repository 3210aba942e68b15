// @ts-check
/** The RFC 8785 form of JSON values. */

import { textOf, utf8 } from "./bytes.js";
import { JsonSyntaxError, readJson } from "./json_text.js";

/** The maximum nesting of a body and of a value made of bodies (LEDGER-SEMANTICS-018). */
export const MAX_VALUE_DEPTH = 254;

/** @typedef {{values: any[], keys: string[] | null, at: number}} Frame */

/** @param {any} scalar */
function scalarText(scalar) {
  // RFC 8785, 3.2.2: ECMAScript's own forms of strings and numbers, `-0` as `0` (which String gives).
  return typeof scalar === "string" ? JSON.stringify(scalar) : String(scalar);
}

/**
 * @param {any} container
 * @returns {Frame}
 */
function frameOf(container) {
  if (Array.isArray(container)) return { values: container, keys: null, at: 0 };
  // RFC 8785, 3.2.3: keys are sorted by UTF-16 code units, which is how ECMAScript compares strings.
  const keys = Object.keys(container).sort();
  return { values: keys.map((key) => container[key]), keys, at: 0 };
}

/**
 * The value's RFC 8785 form as a string. Numbers must be finite, strings without lone surrogates.
 * @param {any} value
 * @returns {string}
 */
export function canonicalText(value) {
  if (value === null || typeof value !== "object") return scalarText(value);
  /** @type {Frame[]} */
  const frames = [frameOf(value)];
  let text = frames[0].keys === null ? "[" : "{";
  while (frames.length > 0) {
    const frame = frames[frames.length - 1];
    if (frame.at === frame.values.length) {
      text += frame.keys === null ? "]" : "}";
      frames.pop();
      continue;
    }
    if (frame.at > 0) text += ",";
    if (frame.keys !== null) text += JSON.stringify(frame.keys[frame.at]) + ":";
    const child = frame.values[frame.at++];
    if (child === null || typeof child !== "object") {
      text += scalarText(child);
    } else {
      frames.push(frameOf(child));
      text += Array.isArray(child) ? "[" : "{";
    }
  }
  return text;
}

/** @param {any} value */
export function canonicalBytes(value) {
  return utf8(canonicalText(value));
}

/**
 * The value of a text, or null if it is not JSON or has no RFC 8785 form.
 * @param {Uint8Array} bytes
 * @returns {import("./json_text.js").JsonText | null}
 */
export function readCanonicalizable(bytes) {
  const text = textOf(bytes);
  if (text === null) return null;
  try {
    const read = readJson(text);
    const hasForm = !(read.hasDuplicateKey || read.hasLoneSurrogate || read.hasUnsafeInteger || read.hasInfinity);
    return hasForm ? read : null;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return null;
    throw error;
  }
}

/**
 * The value of a body that must be in RFC 8785 form; undefined if it is not.
 * @param {Uint8Array} bytes
 * @returns {any}
 */
export function readCanonicalBody(bytes) {
  const read = readCanonicalizable(bytes);
  if (read === null || read.depth > MAX_VALUE_DEPTH) return undefined;
  return canonicalText(read.value) === textOf(bytes) ? read.value : undefined;
}

/**
 * The nesting depth of a value.
 * @param {any} value
 * @returns {number}
 */
export function depthOf(value) {
  let deepest = 0;
  /** @type {[any, number][]} */
  const left = [[value, 1]];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [item, depth] = next;
    if (item === null || typeof item !== "object") continue;
    deepest = Math.max(deepest, depth);
    for (const child of Object.values(item)) left.push([child, depth + 1]);
  }
  return deepest;
}
