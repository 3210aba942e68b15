// @ts-check
/** The RFC 8785 form of JSON values. */

import { textOf, utf8 } from "./bytes.js";
import { JsonSyntaxError, readJson } from "./json_text.js";

/** The maximum nesting of a body, and of a value that is computed from bodies (LEDGER-SEMANTICS-018). */
export const MAX_VALUE_DEPTH = 254;

/** @typedef {{values: any[], keys: string[] | null, next: number}} Frame an open array (without keys) or object */

/** @param {any} scalar */
function scalarText(scalar) {
  // RFC 8785, 3.2.2: ECMAScript's own forms of strings and numbers, and `-0` as `0`, as String writes it.
  return typeof scalar === "string" ? JSON.stringify(scalar) : String(scalar);
}

/**
 * @param {any} container
 * @returns {Frame}
 */
function frameOf(container) {
  if (Array.isArray(container)) return { values: container, keys: null, next: 0 };
  // RFC 8785, 3.2.3: keys are sorted by UTF-16 code units, which is how ECMAScript compares strings.
  const keys = Object.keys(container).sort();
  return { values: keys.map((key) => container[key]), keys, next: 0 };
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
    if (frame.next === frame.values.length) {
      text += frame.keys === null ? "]" : "}";
      frames.pop();
      continue;
    }
    if (frame.next > 0) text += ",";
    if (frame.keys !== null) text += JSON.stringify(frame.keys[frame.next]) + ":";
    const child = frame.values[frame.next++];
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
 * The value of a JSON text; null if the text is not JSON or has no RFC 8785 form.
 * @param {Uint8Array} bytes
 * @returns {import("./json_text.js").JsonText | null}
 */
export function readCanonicalizable(bytes) {
  const text = textOf(bytes);
  if (text === null) return null;
  try {
    const json = readJson(text);
    const hasForm = !(json.hasDuplicateKey || json.hasLoneSurrogate || json.hasUnsafeInteger || json.hasInfinity);
    return hasForm ? json : null;
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
  const json = readCanonicalizable(bytes);
  if (json === null || json.depth > MAX_VALUE_DEPTH) return undefined;
  return canonicalText(json.value) === textOf(bytes) ? json.value : undefined;
}

/**
 * The nesting depth of a value.
 * @param {any} value
 * @returns {number}
 */
export function depthOf(value) {
  let deepest = 0;
  /** @type {[any, number][]} */
  const pending = [[value, 1]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [item, depth] = next;
    if (item === null || typeof item !== "object") continue;
    deepest = Math.max(deepest, depth);
    for (const child of Object.values(item)) pending.push([child, depth + 1]);
  }
  return deepest;
}
