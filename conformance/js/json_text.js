// @ts-check
/**
 * A strict JSON parser (RFC 8259) that also records repeated keys, the spelling of numbers, lone surrogates and the nesting
 * depth. It is not recursive, so no text can exhaust the stack.
 */

/**
 * @typedef {Object} JsonText
 * @property {any} value objects have no prototype, so that `__proto__` and `constructor` are keys like any other
 * @property {number} depth the nesting depth of arrays and objects
 * @property {boolean} hasDuplicateKey `value` contains the last one
 * @property {boolean} hasLoneSurrogate
 * @property {boolean} hasFraction a number is written with a fraction or an exponent
 * @property {boolean} hasUnsafeInteger an integer without fraction and exponent is beyond ±(2^53 - 1)
 * @property {boolean} hasInfinity a number is not finite as an IEEE 754 double
 */

export class JsonSyntaxError extends Error {
  /** @param {number} at */
  constructor(at) {
    super(`not JSON at character ${at}`);
    this.at = at;
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
    this.at = 0;
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
      this.#space();
      const code = this.text.charCodeAt(this.at);
      if (code === 0x7b || code === 0x5b) {
        if (this.#open(code === 0x5b)) done = this.#close();
      } else {
        done = this.#addValue(this.#scalar(code));
      }
    }
    this.#space();
    if (this.at !== this.text.length) throw new JsonSyntaxError(this.at);
    return this.result;
  }

  #space() {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.at++;
    }
  }

  /**
   * Opens a container; returns true if it is empty.
   * @param {boolean} isArray
   */
  #open(isArray) {
    this.at++;
    this.frames.push({ container: isArray ? [] : Object.create(null), isArray, key: "" });
    this.result.depth = Math.max(this.result.depth, this.frames.length);
    this.#space();
    if (this.text[this.at] === (isArray ? "]" : "}")) return true;
    if (!isArray) this.#key();
    return false;
  }

  /** Closes the innermost container and adds it to its parent; returns true if it is the top-level value. */
  #close() {
    this.at++;
    const frame = /** @type {Frame} */ (this.frames.pop());
    return this.#addValue(frame.container);
  }

  #key() {
    this.#space();
    if (this.text.charCodeAt(this.at) !== QUOTE) throw new JsonSyntaxError(this.at);
    this.frames[this.frames.length - 1].key = this.#string();
    this.#space();
    if (this.text[this.at] !== ":") throw new JsonSyntaxError(this.at);
    this.at++;
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
      this.#space();
      const next = this.text[this.at];
      if (next === ",") {
        this.at++;
        if (!frame.isArray) this.#key();
        return false;
      }
      if (next !== (frame.isArray ? "]" : "}")) throw new JsonSyntaxError(this.at);
      this.at++;
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
  #scalar(code) {
    if (code === QUOTE) return this.#string();
    if (code === 0x2d || (code >= 0x30 && code <= 0x39)) return this.#number();
    for (const [word, value] of /** @type {const} */ ([["true", true], ["false", false], ["null", null]])) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    throw new JsonSyntaxError(this.at);
  }

  #number() {
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text);
    if (match === null) throw new JsonSyntaxError(this.at);
    this.at = NUMBER.lastIndex;
    const value = Number(match[0]);
    if (match[1] !== undefined || match[2] !== undefined) {
      this.result.hasFraction = true;
      if (!Number.isFinite(value)) this.result.hasInfinity = true;
    } else if (!Number.isSafeInteger(value)) {
      this.result.hasUnsafeInteger = true;
    }
    return value;
  }

  #string() {
    const start = ++this.at;
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code === QUOTE) return this.text.slice(start, this.at++);
      if (code === BACKSLASH) return this.#escapedString(start);
      // At the end of the text, `code` is NaN, which also fails this comparison.
      if (!(code >= 0x20)) throw new JsonSyntaxError(this.at);
      this.at++;
    }
  }

  /** @param {number} start */
  #escapedString(start) {
    const parts = [];
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code === QUOTE) break;
      if (!(code >= 0x20)) throw new JsonSyntaxError(this.at);
      if (code === BACKSLASH) {
        parts.push(this.text.slice(start, this.at), this.#escape());
        start = this.at;
      } else {
        this.at++;
      }
    }
    parts.push(this.text.slice(start, this.at++));
    const string = parts.join("");
    if (LONE_SURROGATE.test(string)) this.result.hasLoneSurrogate = true;
    return string;
  }

  #escape() {
    const letter = this.text[this.at + 1];
    if (letter === "u") {
      const digits = this.text.slice(this.at + 2, this.at + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new JsonSyntaxError(this.at);
      this.at += 6;
      return String.fromCharCode(parseInt(digits, 16));
    }
    if (letter === undefined || !Object.hasOwn(ESCAPES, letter)) throw new JsonSyntaxError(this.at);
    this.at += 2;
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
