// @ts-check
/** The archive of bodies: a ustar archive with one form only (LEDGER-TAR-001). */

import { isAllZeros, sameBytes, utf8 } from "./bytes.js";

const BLOCK = 512;
const END = 2 * BLOCK;
const WINDOW = 1 << 20;

/** @typedef {{name: Uint8Array, offset: number, size: number}} Member `offset` is where the content begins */

/** Buffers a part of a source, so that small members do not need separate reads. */
export class Window {
  /** @param {import("./sources.js").ByteSource} source */
  constructor(source) {
    this.source = source;
    this.size = source.size;
    this.start = 0;
    /** @type {Uint8Array} */
    this.buffer = new Uint8Array(0);
  }

  /**
   * @param {number} offset
   * @param {number} length
   * @returns {Promise<Uint8Array>} fewer bytes at the end of the source
   */
  async read(offset, length) {
    if (offset < this.start || offset + length > this.start + this.buffer.length) {
      this.buffer = await this.source.read(offset, Math.max(length, WINDOW));
      this.start = offset;
    }
    return this.buffer.subarray(offset - this.start, offset - this.start + length);
  }
}

/** A header without name, size and checksum; the checksum is counted as spaces. */
const TEMPLATE = new Uint8Array(BLOCK);
for (const [at, text] of /** @type {const} */ ([
  [100, "0000644\0" + "0000000\0" + "0000000\0"],
  [135, "\0" + "00000000000\0"],
  [148, "        0"],
  [257, "ustar\0" + "00"],
  [329, "0000000\0" + "0000000\0"],
])) {
  TEMPLATE.set(utf8(text), at);
}

/**
 * The only valid header of a member with this name and size.
 * @param {Uint8Array} name
 * @param {number} size
 */
export function headerOf(name, size) {
  const header = TEMPLATE.slice();
  header.set(name, 0);
  putOctal(header, 124, 11, size);
  let sum = 0;
  for (let i = 0; i < BLOCK; i++) sum += header[i];
  putOctal(header, 148, 6, sum);
  header[154] = 0;
  return header;
}

/**
 * @param {Uint8Array} header
 * @param {number} at
 * @param {number} digits
 * @param {number} value
 */
function putOctal(header, at, digits, value) {
  for (let i = at + digits - 1; i >= at; i--, value = Math.floor(value / 8)) header[i] = 0x30 + (value % 8);
}

/**
 * @param {Uint8Array} header
 * @returns {number | null}
 */
function sizeIn(header) {
  let size = 0;
  for (let i = 124; i < 135; i++) {
    if (header[i] < 0x30 || header[i] > 0x37) return null;
    size = size * 8 + (header[i] - 0x30);
  }
  return size;
}

/** @param {number} size */
function padded(size) {
  return Math.ceil(size / BLOCK) * BLOCK;
}

/**
 * @param {Uint8Array} header
 * @returns {{name: Uint8Array, size: number} | null}
 */
function readHeader(header) {
  if (header.length < BLOCK) return null;
  const nul = header.subarray(0, 100).indexOf(0);
  const name = header.slice(0, nul === -1 ? 100 : nul);
  const size = sizeIn(header);
  return size !== null && sameBytes(header, headerOf(name, size)) ? { name, size } : null;
}

export class ArchiveReader {
  /** @param {import("./sources.js").ByteSource} source */
  constructor(source) {
    this.window = new Window(source);
    this.at = 0;
    /** @type {"archive" | "file" | "broken" | null} how the archive ended, once all members are read */
    this.end = null;
  }

  /**
   * The well-formed members. Afterwards, `at` is the offset behind the last one, and `end` describes the bytes there.
   * @returns {AsyncGenerator<Member>}
   */
  async *members() {
    for (;;) {
      const member = await this.#member();
      if (member === null) break;
      this.at = member.offset + padded(member.size);
      yield member;
    }
    this.end = await this.#ending();
  }

  /** @returns {Promise<Member | null>} */
  async #member() {
    const header = readHeader(await this.window.read(this.at, BLOCK));
    if (header === null) return null;
    const offset = this.at + BLOCK;
    const end = offset + padded(header.size);
    if (end > this.window.size) return null;
    // Read small content together with its padding: the padding is needed next.
    if (padded(header.size) <= WINDOW) await this.window.read(offset, padded(header.size));
    const padding = await this.window.read(offset + header.size, end - offset - header.size);
    return isAllZeros(padding) ? { ...header, offset } : null;
  }

  async #ending() {
    const left = this.window.size - this.at;
    if (left === 0) return "file";
    return left === END && isAllZeros(await this.window.read(this.at, END)) ? "archive" : "broken";
  }
}
