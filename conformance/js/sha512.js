// @ts-check
/** SHA-512 (FIPS 180-4) with BigInt, for the short messages of Ed25519 signatures. */

const MASK = (1n << 64n) - 1n;
const PRIMES = firstPrimes(80);
const ROUND_CONSTANTS = PRIMES.map((prime) => rootBits(BigInt(prime), 3n));
const INITIAL_STATE = PRIMES.slice(0, 8).map((prime) => rootBits(BigInt(prime), 2n));

/** @param {number} count */
function firstPrimes(count) {
  /** @type {number[]} */
  const primes = [];
  for (let candidate = 2; primes.length < count; candidate++) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
}

/**
 * The first 64 bits of the fractional part of a root, computed by bisection.
 * @param {bigint} value
 * @param {bigint} degree
 */
function rootBits(value, degree) {
  const scaled = value << (64n * degree);
  let low = 0n;
  let high = 1n << 80n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** degree <= scaled) low = middle;
    else high = middle;
  }
  return low & MASK;
}

/**
 * @param {bigint} word
 * @param {bigint} by
 */
function rotateRight(word, by) {
  return ((word >> by) | (word << (64n - by))) & MASK;
}

/**
 * @param {bigint[]} state
 * @param {DataView} view
 * @param {number} offset
 */
function compress(state, view, offset) {
  /** @type {bigint[]} */
  const w = [];
  for (let i = 0; i < 16; i++) w.push(view.getBigUint64(offset + 8 * i));
  for (let i = 16; i < 80; i++) {
    const s0 = rotateRight(w[i - 15], 1n) ^ rotateRight(w[i - 15], 8n) ^ (w[i - 15] >> 7n);
    const s1 = rotateRight(w[i - 2], 19n) ^ rotateRight(w[i - 2], 61n) ^ (w[i - 2] >> 6n);
    w.push((w[i - 16] + s0 + w[i - 7] + s1) & MASK);
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 80; i++) {
    const s1 = rotateRight(e, 14n) ^ rotateRight(e, 18n) ^ rotateRight(e, 41n);
    const t1 = h + s1 + ((e & f) ^ (~e & MASK & g)) + ROUND_CONSTANTS[i] + w[i];
    const s0 = rotateRight(a, 28n) ^ rotateRight(a, 34n) ^ rotateRight(a, 39n);
    const t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) & MASK, c, b, a, (t1 + t2) & MASK];
  }
  return [a, b, c, d, e, f, g, h].map((word, i) => (state[i] + word) & MASK);
}

/** @param {Uint8Array} message */
export function sha512(message) {
  const padded = new Uint8Array(Math.ceil((message.length + 17) / 128) * 128);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(message.length) * 8n);
  let state = INITIAL_STATE;
  for (let offset = 0; offset < padded.length; offset += 128) state = compress(state, view, offset);
  const digest = new Uint8Array(64);
  const out = new DataView(digest.buffer);
  state.forEach((word, i) => out.setBigUint64(8 * i, word));
  return digest;
}
