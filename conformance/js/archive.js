// @ts-check
/** The archive of bodies: a ustar archive with one form only (LEDGER-TAR-001). */

import { isAllZeros, sameBytes, utf8 } from "./bytes.js";

const BLOCK = 512;
const END_BYTES = 2 * BLOCK;
const WINDOW_BYTES = 1 << 20;

/** @typedef {{name: Uint8Array, offset: number, size: number}} Member `offset` is the offset of its content */

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
   * @returns {Promise<Uint8Array>} fewer bytes than requested at the end of the source
   */
  async read(offset, length) {
    if (offset < this.start || offset + length > this.start + this.buffer.length) {
      this.buffer = await this.source.read(offset, Math.max(length, WINDOW_BYTES));
      this.start = offset;
    }
    return this.buffer.subarray(offset - this.start, offset - this.start + length);
  }
}

/** A header without name and size, and with spaces as its checksum, as the checksum is computed. */
const TEMPLATE = new Uint8Array(BLOCK);
for (const [offset, text] of /** @type {const} */ ([
  [100, "0000644\0" + "0000000\0" + "0000000\0"],
  [135, "\0" + "00000000000\0"],
  [148, "        0"],
  [257, "ustar\0" + "00"],
  [329, "0000000\0" + "0000000\0"],
])) {
  TEMPLATE.set(utf8(text), offset);
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
 * @param {number} offset
 * @param {number} digits
 * @param {number} value
 */
function putOctal(header, offset, digits, value) {
  for (let i = offset + digits - 1; i >= offset; i--, value = Math.floor(value / 8)) header[i] = 0x30 + (value % 8);
}

/**
 * @param {Uint8Array} header
 * @returns {number | null}
 */
function readSize(header) {
  let size = 0;
  for (let i = 124; i < 135; i++) {
    if (header[i] < 0x30 || header[i] > 0x37) return null;
    size = size * 8 + (header[i] - 0x30);
  }
  return size;
}

/** @param {number} size */
function paddedSize(size) {
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
  const size = readSize(header);
  return size !== null && sameBytes(header, headerOf(name, size)) ? { name, size } : null;
}

/** Reads the members of an archive, in order. */
export class ArchiveReader {
  /** @param {import("./sources.js").ByteSource} source */
  constructor(source) {
    this.window = new Window(source);
    this.offset = 0;
    /** @type {"archive" | "file" | "broken" | null} how the archive ended, once all members are read */
    this.end = null;
  }

  /**
   * The well-formed members. Afterwards, `offset` is where the last one ends, and `end` describes the bytes there.
   * @returns {AsyncGenerator<Member>}
   */
  async *members() {
    for (;;) {
      const member = await this.#member();
      if (member === null) break;
      this.offset = member.offset + paddedSize(member.size);
      yield member;
    }
    this.end = await this.#ending();
  }

  /** @returns {Promise<Member | null>} */
  async #member() {
    const header = readHeader(await this.window.read(this.offset, BLOCK));
    if (header === null) return null;
    const offset = this.offset + BLOCK;
    const end = offset + paddedSize(header.size);
    if (end > this.window.size) return null;
    // Read small content together with its padding: the padding is needed next.
    if (paddedSize(header.size) <= WINDOW_BYTES) await this.window.read(offset, paddedSize(header.size));
    const padding = await this.window.read(offset + header.size, end - offset - header.size);
    return isAllZeros(padding) ? { ...header, offset } : null;
  }

  async #ending() {
    const remaining = this.window.size - this.offset;
    if (remaining === 0) return "file";
    return remaining === END_BYTES && isAllZeros(await this.window.read(this.offset, END_BYTES)) ? "archive" : "broken";
  }
}
