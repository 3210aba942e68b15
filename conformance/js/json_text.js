// @ts-check
/**
 * A strict JSON parser (RFC 8259) that also records repeated keys, the spelling of numbers, lone surrogates and the nesting
 * depth. It is not recursive, so no text can exhaust the stack.
 */

/**
 * @typedef {Object} JsonText
 * @property {any} value objects have no prototype, so that `__proto__` and `constructor` are keys like any other
 * @property {number} depth the nesting depth of arrays and objects
 * @property {boolean} hasDuplicateKey whether a key is repeated; `value` has the last member
 * @property {boolean} hasLoneSurrogate
 * @property {boolean} hasFraction whether a number is written with a fraction or an exponent
 * @property {boolean} hasUnsafeInteger whether an integer without fraction and exponent is beyond ±(2^53 - 1)
 * @property {boolean} hasInfinity whether a number is not finite as an IEEE 754 double
 */

export class JsonSyntaxError extends Error {
  /** @param {number} position */
  constructor(position) {
    super(`invalid JSON at character ${position}`);
    this.position = position;
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const LONE_SURROGATE = /\p{Surrogate}/u;
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** @typedef {{container: any, isArray: boolean, key: string}} Frame */

class Reader {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.position = 0;
    /** @type {Frame[]} */
    this.frames = [];
    /** @type {JsonText} */
    this.result = {
      value: undefined,
      depth: 0,
      hasDuplicateKey: false,
      hasLoneSurrogate: false,
      hasFraction: false,
      hasUnsafeInteger: false,
      hasInfinity: false,
    };
  }

  read() {
    let done = false;
    while (!done) {
      this.#skipSpace();
      const code = this.text.charCodeAt(this.position);
      if (code === 0x7b || code === 0x5b) {
        if (this.#openContainer(code === 0x5b)) done = this.#closeContainer();
      } else {
        done = this.#addValue(this.#readScalar(code));
      }
    }
    this.#skipSpace();
    if (this.position !== this.text.length) throw new JsonSyntaxError(this.position);
    return this.result;
  }

  #skipSpace() {
    for (;;) {
      const code = this.text.charCodeAt(this.position);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.position++;
    }
  }

  /**
   * Opens a container; returns true if it is empty.
   * @param {boolean} isArray
   */
  #openContainer(isArray) {
    this.position++;
    this.frames.push({ container: isArray ? [] : Object.create(null), isArray, key: "" });
    this.result.depth = Math.max(this.result.depth, this.frames.length);
    this.#skipSpace();
    if (this.text[this.position] === (isArray ? "]" : "}")) return true;
    if (!isArray) this.#readKey();
    return false;
  }

  /** Closes the innermost container and adds it to its parent; returns true if it is the top-level value. */
  #closeContainer() {
    this.position++;
    const frame = /** @type {Frame} */ (this.frames.pop());
    return this.#addValue(frame.container);
  }

  #readKey() {
    this.#skipSpace();
    if (this.text.charCodeAt(this.position) !== QUOTE) throw new JsonSyntaxError(this.position);
    this.frames[this.frames.length - 1].key = this.#readString();
    this.#skipSpace();
    if (this.text[this.position] !== ":") throw new JsonSyntaxError(this.position);
    this.position++;
  }

  /**
   * Adds a complete value to its container and reads the separator or brackets after it.
   * @param {any} value
   * @returns {boolean} whether it is the top-level value
   */
  #addValue(value) {
    for (;;) {
      const frame = this.frames[this.frames.length - 1];
      if (frame === undefined) {
        this.result.value = value;
        return true;
      }
      this.#addToContainer(frame, value);
      this.#skipSpace();
      const next = this.text[this.position];
      if (next === ",") {
        this.position++;
        if (!frame.isArray) this.#readKey();
        return false;
      }
      if (next !== (frame.isArray ? "]" : "}")) throw new JsonSyntaxError(this.position);
      this.position++;
      this.frames.pop();
      value = frame.container;
    }
  }

  /**
   * @param {Frame} frame
   * @param {any} value
   */
  #addToContainer(frame, value) {
    if (frame.isArray) {
      frame.container.push(value);
      return;
    }
    if (frame.key in frame.container) this.result.hasDuplicateKey = true;
    frame.container[frame.key] = value;
  }

  /** @param {number} code */
  #readScalar(code) {
    if (code === QUOTE) return this.#readString();
    if (code === 0x2d || (code >= 0x30 && code <= 0x39)) return this.#readNumber();
    for (const [word, value] of /** @type {const} */ ([["true", true], ["false", false], ["null", null]])) {
      if (this.text.startsWith(word, this.position)) {
        this.position += word.length;
        return value;
      }
    }
    throw new JsonSyntaxError(this.position);
  }

  #readNumber() {
    NUMBER.lastIndex = this.position;
    const match = NUMBER.exec(this.text);
    if (match === null) throw new JsonSyntaxError(this.position);
    this.position = NUMBER.lastIndex;
    const value = Number(match[0]);
    if (match[1] !== undefined || match[2] !== undefined) {
      this.result.hasFraction = true;
      if (!Number.isFinite(value)) this.result.hasInfinity = true;
    } else if (!Number.isSafeInteger(value)) {
      this.result.hasUnsafeInteger = true;
    }
    return value;
  }

  #readString() {
    const start = ++this.position;
    for (;;) {
      const code = this.text.charCodeAt(this.position);
      if (code === QUOTE) return this.text.slice(start, this.position++);
      if (code === BACKSLASH) return this.#readEscapedString(start);
      // At the end of the text, `code` is NaN, which also fails this comparison.
      if (!(code >= 0x20)) throw new JsonSyntaxError(this.position);
      this.position++;
    }
  }

  /** @param {number} start */
  #readEscapedString(start) {
    const parts = [];
    for (;;) {
      const code = this.text.charCodeAt(this.position);
      if (code === QUOTE) break;
      if (!(code >= 0x20)) throw new JsonSyntaxError(this.position);
      if (code === BACKSLASH) {
        parts.push(this.text.slice(start, this.position), this.#readEscape());
        start = this.position;
      } else {
        this.position++;
      }
    }
    parts.push(this.text.slice(start, this.position++));
    const string = parts.join("");
    if (LONE_SURROGATE.test(string)) this.result.hasLoneSurrogate = true;
    return string;
  }

  #readEscape() {
    const letter = this.text[this.position + 1];
    if (letter === "u") {
      const digits = this.text.slice(this.position + 2, this.position + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new JsonSyntaxError(this.position);
      this.position += 6;
      return String.fromCharCode(parseInt(digits, 16));
    }
    if (letter === undefined || !Object.hasOwn(ESCAPES, letter)) throw new JsonSyntaxError(this.position);
    this.position += 2;
    return ESCAPES[/** @type {keyof typeof ESCAPES} */ (letter)];
  }
}

/**
 * @param {string} text
 * @returns {JsonText}
 * @throws {JsonSyntaxError}
 */
export function readJson(text) {
  return new Reader(text).read();
}
