// @ts-check
/** SHA-256 (FIPS 180-4), synchronous. A host can provide a faster implementation. */

/**
 * @typedef {Object} Hasher
 * @property {(bytes: Uint8Array) => unknown} update
 * @property {() => Uint8Array} digest
 */

const ROUND_CONSTANTS = new Int32Array(64);
const INITIAL_STATE = new Int32Array(8);
fillConstants();

/** Fills the constants: the first 32 bits of the fractional parts of the square and cube roots of the first primes. */
function fillConstants() {
  const fraction = (/** @type {number} */ root) => ((root - Math.floor(root)) * 2 ** 32) | 0;
  let count = 0;
  for (let candidate = 2; count < 64; candidate++) {
    let divisor = 2;
    while (divisor * divisor <= candidate && candidate % divisor !== 0) divisor++;
    if (divisor * divisor <= candidate) continue;
    if (count < 8) INITIAL_STATE[count] = fraction(Math.sqrt(candidate));
    ROUND_CONSTANTS[count++] = fraction(Math.cbrt(candidate));
  }
}

/** @implements {Hasher} */
class PlainSha256 {
  constructor() {
    this.state = INITIAL_STATE.slice();
    this.block = new Uint8Array(64);
    this.words = new Int32Array(64);
    this.length = 0;
  }

  /** @param {Uint8Array} bytes */
  update(bytes) {
    let filled = this.length % 64;
    this.length += bytes.length;
    let offset = 0;
    while (offset < bytes.length) {
      const taken = Math.min(64 - filled, bytes.length - offset);
      if (taken === 64) {
        this.#compress(bytes, offset);
      } else {
        this.block.set(bytes.subarray(offset, offset + taken), filled);
        if (filled + taken === 64) this.#compress(this.block, 0);
      }
      offset += taken;
      filled = (filled + taken) % 64;
    }
  }

  digest() {
    const bits = BigInt(this.length) * 8n;
    const padding = new Uint8Array(((119 - (this.length % 64)) % 64) + 9);
    padding[0] = 0x80;
    new DataView(padding.buffer).setBigUint64(padding.length - 8, bits);
    this.update(padding);
    const result = new Uint8Array(32);
    const view = new DataView(result.buffer);
    this.state.forEach((word, i) => view.setInt32(4 * i, word));
    return result;
  }

  /**
   * @param {Uint8Array} bytes
   * @param {number} offset
   */
  #compress(bytes, offset) {
    const w = this.words;
    for (let i = 0; i < 16; i++, offset += 4) {
      w[i] = (bytes[offset] << 24) | (bytes[offset + 1] << 16) | (bytes[offset + 2] << 8) | bytes[offset + 3];
    }
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15];
      const y = w[i - 2];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
    }
    this.#mix(w);
  }

  /** @param {Int32Array} w */
  #mix(w) {
    const s = this.state;
    let a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + ROUND_CONSTANTS[i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    s[0] += a;
    s[1] += b;
    s[2] += c;
    s[3] += d;
    s[4] += e;
    s[5] += f;
    s[6] += g;
    s[7] += h;
  }
}

/** @type {() => Hasher} */
let createHasher = () => new PlainSha256();

/**
 * Lets a host provide its own SHA-256.
 * @param {() => Hasher} factory
 */
export function provideSha256(factory) {
  createHasher = factory;
}

/** @returns {Hasher} */
export function startSha256() {
  return createHasher();
}

/** @returns {Hasher} the implementation of this module, even if a host provided a different one */
export function startPlainSha256() {
  return new PlainSha256();
}

/** @param {...Uint8Array} parts */
export function sha256(...parts) {
  const hasher = createHasher();
  for (const part of parts) hasher.update(part);
  return hasher.digest();
}
