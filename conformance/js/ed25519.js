// @ts-check
/** Ed25519 verification (RFC 8032, section 5.1.7). It does not multiply by the cofactor and does not run in constant time. */

import { concat } from "./bytes.js";
import { sha512 } from "./sha512.js";

/** @typedef {{x: bigint, y: bigint, z: bigint, t: bigint}} Point extended homogeneous coordinates */

const P = (1n << 255n) - 19n;
const ORDER = (1n << 252n) + 27742317777372353535851937790883648493n;
const D = mod(-121665n * powerMod(121666n, P - 2n));
const ROOT_OF_MINUS_ONE = powerMod(2n, (P - 1n) / 4n);
const BASE = /** @type {Point} */ (decodePoint(encodeY(mod(4n * powerMod(5n, P - 2n)), 0n)));
/** @type {Point} */
const NEUTRAL = { x: 0n, y: 1n, z: 1n, t: 0n };

/** @param {bigint} value */
function mod(value) {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

/**
 * @param {bigint} base
 * @param {bigint} exponent
 */
function powerMod(base, exponent) {
  let result = 1n;
  for (let square = mod(base); exponent > 0n; exponent >>= 1n, square = (square * square) % P) {
    if (exponent & 1n) result = (result * square) % P;
  }
  return result;
}

/** @param {Uint8Array} bytes */
function littleEndian(bytes) {
  let value = 0n;
  for (let i = bytes.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[i]);
  return value;
}

/**
 * @param {bigint} y
 * @param {bigint} sign
 */
function encodeY(y, sign) {
  const bytes = new Uint8Array(32);
  for (let i = 0, rest = y | (sign << 255n); i < 32; i++, rest >>= 8n) bytes[i] = Number(rest & 255n);
  return bytes;
}

/**
 * The point of an encoding (section 5.1.3); null if there is none, or if the encoding is not canonical.
 * @param {Uint8Array} bytes
 * @returns {Point | null}
 */
function decodePoint(bytes) {
  const value = littleEndian(bytes);
  const sign = value >> 255n;
  const y = value & ((1n << 255n) - 1n);
  if (y >= P) return null;
  const u = mod(y * y - 1n);
  const v = mod(D * y * y + 1n);
  let x = mod(u * powerMod(v, 3n) * powerMod(u * powerMod(v, 7n), (P - 5n) / 8n));
  const square = mod(v * x * x);
  if (square === mod(-u)) x = mod(x * ROOT_OF_MINUS_ONE);
  else if (square !== u) return null;
  if (x === 0n && sign === 1n) return null;
  if ((x & 1n) !== sign) x = P - x;
  return { x, y, z: 1n, t: mod(x * y) };
}

/** @param {Point} point */
function encodePoint(point) {
  const inverse = powerMod(point.z, P - 2n);
  return encodeY(mod(point.y * inverse), mod(point.x * inverse) & 1n);
}

/**
 * The sum of two points (section 5.1.4).
 * @param {Point} p
 * @param {Point} q
 * @returns {Point}
 */
function addPoints(p, q) {
  const a = mod((p.y - p.x) * (q.y - q.x));
  const b = mod((p.y + p.x) * (q.y + q.x));
  const c = mod(2n * p.t * q.t * D);
  const d = mod(2n * p.z * q.z);
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return { x: mod(e * f), y: mod(g * h), z: mod(f * g), t: mod(e * h) };
}

/**
 * @param {bigint} factor
 * @param {Point} point
 */
function multiplyPoint(factor, point) {
  let result = NEUTRAL;
  for (let doubled = point; factor > 0n; factor >>= 1n, doubled = addPoints(doubled, doubled)) {
    if (factor & 1n) result = addPoints(result, doubled);
  }
  return result;
}

/**
 * @param {Uint8Array} publicKey 32 bytes
 * @param {Uint8Array} message
 * @param {Uint8Array} signature
 * @returns {boolean}
 */
export function isSignedBy(publicKey, message, signature) {
  if (publicKey.length !== 32 || signature.length !== 64) return false;
  const key = decodePoint(publicKey);
  const s = littleEndian(signature.subarray(32));
  if (key === null || s >= ORDER) return false;
  const r = signature.subarray(0, 32);
  const k = littleEndian(sha512(concat([r, publicKey, message]))) % ORDER;
  const minusKey = { x: mod(-key.x), y: key.y, z: 1n, t: mod(-key.t) };
  const expected = encodePoint(addPoints(multiplyPoint(s, BASE), multiplyPoint(k, minusKey)));
  return expected.every((byte, i) => byte === r[i]);
}
