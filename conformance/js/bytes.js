// @ts-check
/** Encodings of bytes: UTF-8, hexadecimal, base64. */

const ENCODER = new TextEncoder();
// Keep a byte order mark in the text: dropping it would accept a line that has one.
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** @param {string} text */
export function utf8(text) {
  return ENCODER.encode(text);
}

/**
 * The text of UTF-8 bytes, or null if they are not UTF-8.
 * @param {Uint8Array} bytes
 * @returns {string | null}
 */
export function textOf(bytes) {
  try {
    return DECODER.decode(bytes);
  } catch {
    return null;
  }
}

/** @param {Uint8Array} bytes */
export function hexOf(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += HEX[bytes[i]];
  return text;
}

/** @param {string} hex an even number of hexadecimal digits */
export function bytesOfHex(hex) {
  const bytes = new Uint8Array(hex.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

/** @param {Uint8Array[]} parts */
export function concat(parts) {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    result.set(part, offset);
    offset += part.length;
  }
  return result;
}

/**
 * @param {Uint8Array} a
 * @param {Uint8Array} b
 */
export function sameBytes(a, b) {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** @param {Uint8Array} bytes */
export function isAllZeros(bytes) {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}

/** @param {Uint8Array} bytes */
export function base64Of(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const group = (bytes[i] << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    text += BASE64[group >> 18] + BASE64[(group >> 12) & 63];
    text += i + 1 < bytes.length ? BASE64[(group >> 6) & 63] : "=";
    text += i + 2 < bytes.length ? BASE64[group & 63] : "=";
  }
  return text;
}

/**
 * The bytes of a base64 text, or null if the text is not their canonical encoding: two different texts must not have the
 * same bytes.
 * @param {string} text
 * @returns {Uint8Array | null}
 */
export function bytesOfBase64(text) {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return null;
  const digits = text.replace(/=+$/, "");
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4));
  let bits = 0;
  let buffer = 0;
  let offset = 0;
  for (const digit of digits) {
    buffer = ((buffer << 6) | BASE64.indexOf(digit)) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[offset++] = (buffer >> bits) & 0xff;
    }
  }
  return base64Of(bytes) === text ? bytes : null;
}
