// @ts-check
/**
 * A validator for the JSON Schema 2020-12 keywords that ledgers and proofs need. An unknown keyword is an error: if it were
 * ignored, the validator would accept invalid values.
 */

/** @typedef {(value: any) => boolean} Check */
/** @typedef {(argument: any, schema: any, compile: (schema: any) => Check) => Check | null} Keyword compiles a keyword */

/** @param {any} value */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** @type {Record<string, Check>} */
const TYPES = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  array: Array.isArray,
  object: isObject,
};

/**
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
function isEqual(a, b) {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]));
}

/**
 * Whether a string has at most this many code points. A string never has fewer UTF-16 units than code points.
 * @param {string} text
 * @param {number} limit
 */
function hasAtMostCodePoints(text, limit) {
  return text.length <= limit || (text.length <= 2 * limit && [...text].length <= limit);
}

const NO_CHECK = () => null;

/** @type {Record<string, Keyword>} */
const KEYWORDS = {
  $schema: NO_CHECK,
  $defs: NO_CHECK,
  title: NO_CHECK,
  description: NO_CHECK,
  examples: NO_CHECK,
  default: NO_CHECK,
  then: NO_CHECK,
  else: NO_CHECK,

  type: (names) => {
    const checks = [names].flat().map((name) => TYPES[name]);
    return (value) => checks.some((check) => check(value));
  },
  const: (expected) => (value) => isEqual(value, expected),
  enum: (expected) => (value) => expected.some((/** @type {any} */ item) => isEqual(value, item)),
  minimum: (limit) => (value) => typeof value !== "number" || value >= limit,
  maximum: (limit) => (value) => typeof value !== "number" || value <= limit,
  exclusiveMinimum: (limit) => (value) => typeof value !== "number" || value > limit,
  minLength: (limit) => (value) => typeof value !== "string" || limit === 0 || !hasAtMostCodePoints(value, limit - 1),
  maxLength: (limit) => (value) => typeof value !== "string" || hasAtMostCodePoints(value, limit),
  pattern: (source) => {
    const pattern = new RegExp(source, "u");
    return (value) => typeof value !== "string" || pattern.test(value);
  },

  items: (schema, _, compile) => {
    const check = compile(schema);
    return (value) => !Array.isArray(value) || value.every(check);
  },
  minItems: (limit) => (value) => !Array.isArray(value) || value.length >= limit,
  maxItems: (limit) => (value) => !Array.isArray(value) || value.length <= limit,
  uniqueItems: (isRequired) => (value) =>
    !isRequired ||
    !Array.isArray(value) ||
    value.every((item, i) => !value.slice(0, i).some((other) => isEqual(item, other))),
  contains: (schema, _, compile) => {
    const check = compile(schema);
    return (value) => !Array.isArray(value) || value.some(check);
  },

  properties: (schemas, _, compile) => {
    const checks = Object.keys(schemas).map((key) => /** @type {const} */ ([key, compile(schemas[key])]));
    return (value) =>
      !isObject(value) || checks.every(([key, check]) => !Object.hasOwn(value, key) || check(value[key]));
  },
  patternProperties: (schemas, _, compile) => {
    const checks = compilePatterns(schemas, compile);
    return (value) =>
      !isObject(value) ||
      Object.keys(value).every((key) => checks.every(([pattern, check]) => !pattern.test(key) || check(value[key])));
  },
  additionalProperties: (schema, parent, compile) => {
    const check = compile(schema);
    const declared = new Set(Object.keys(parent.properties ?? {}));
    const patterns = Object.keys(parent.patternProperties ?? {}).map((source) => new RegExp(source, "u"));
    const isDeclared = (/** @type {string} */ key) => declared.has(key) || patterns.some((pattern) => pattern.test(key));
    return (value) => !isObject(value) || Object.keys(value).every((key) => isDeclared(key) || check(value[key]));
  },
  propertyNames: (schema, _, compile) => {
    const check = compile(schema);
    return (value) => !isObject(value) || Object.keys(value).every(check);
  },
  required: (keys) => (value) =>
    !isObject(value) || keys.every((/** @type {string} */ key) => Object.hasOwn(value, key)),
  dependentRequired: (dependencies) => (value) => {
    const has = (/** @type {string} */ key) => Object.hasOwn(value, key);
    return !isObject(value) || Object.keys(dependencies).every((key) => !has(key) || dependencies[key].every(has));
  },
  minProperties: (limit) => (value) => !isObject(value) || Object.keys(value).length >= limit,
  maxProperties: (limit) => (value) => !isObject(value) || Object.keys(value).length <= limit,

  allOf: (schemas, _, compile) => {
    const checks = schemas.map(compile);
    return (value) => checks.every((/** @type {Check} */ check) => check(value));
  },
  anyOf: (schemas, _, compile) => {
    const checks = schemas.map(compile);
    return (value) => checks.some((/** @type {Check} */ check) => check(value));
  },
  oneOf: (schemas, _, compile) => {
    const checks = schemas.map(compile);
    return (value) => checks.filter((/** @type {Check} */ check) => check(value)).length === 1;
  },
  not: (schema, _, compile) => {
    const check = compile(schema);
    return (value) => !check(value);
  },
  if: (schema, parent, compile) => {
    const condition = compile(schema);
    const thenCheck = compile(parent.then ?? true);
    const elseCheck = compile(parent.else ?? true);
    return (value) => (condition(value) ? thenCheck(value) : elseCheck(value));
  },
};

/**
 * @param {Record<string, any>} schemas
 * @param {(schema: any) => Check} compile
 * @returns {[RegExp, Check][]}
 */
function compilePatterns(schemas, compile) {
  return Object.keys(schemas).map((source) => [new RegExp(source, "u"), compile(schemas[source])]);
}

/** Schema documents that may refer to each other by name. */
export class Schemas {
  /** @param {Record<string, any>} documents by file name, such as `entry.schema.json` */
  constructor(documents) {
    this.documents = documents;
    /** @type {Map<string, Check>} compiled checks, by document and pointer */
    this.checks = new Map();
    /** @type {Set<string>} */
    this.kinds = knownKinds(documents["entry.schema.json"]);
  }

  /**
   * @param {string} name the file name of a document
   * @returns {Check}
   */
  check(name) {
    return this.#reference(`${name}#`, name);
  }

  /**
   * @param {string} reference
   * @param {string} base the document that contains it
   * @returns {Check}
   */
  #reference(reference, base) {
    const [file, pointer] = reference.split("#");
    const name = file === "" ? base : file;
    const id = `${name}#${pointer}`;
    // Compile on first use, because a schema may refer to itself.
    /** @type {Check | undefined} */
    let check;
    return (value) => {
      check ??= this.#resolve(id, name, pointer);
      return check(value);
    };
  }

  /**
   * @param {string} id
   * @param {string} name
   * @param {string} pointer
   * @returns {Check}
   */
  #resolve(id, name, pointer) {
    let check = this.checks.get(id);
    if (check === undefined) {
      check = this.#compile(this.#schemaAt(name, pointer), name);
      this.checks.set(id, check);
    }
    return check;
  }

  /**
   * @param {string} name
   * @param {string} pointer
   */
  #schemaAt(name, pointer) {
    let schema = this.documents[name];
    for (const token of pointer.split("/").slice(1)) schema = schema?.[token];
    if (schema === undefined) throw new Error(`no schema at ${name}#${pointer}`);
    return schema;
  }

  /**
   * @param {any} schema
   * @param {string} base
   * @returns {Check}
   */
  #compile(schema, base) {
    if (typeof schema === "boolean") return () => schema;
    /** @type {Check[]} */
    const checks = [];
    for (const keyword of Object.keys(schema)) {
      if (keyword === "$ref") {
        checks.push(this.#reference(schema.$ref, base));
        continue;
      }
      if (!Object.hasOwn(KEYWORDS, keyword)) throw new Error(`unknown keyword '${keyword}' in ${base}`);
      const check = KEYWORDS[keyword](schema[keyword], schema, (part) => this.#compile(part, base));
      if (check !== null) checks.push(check);
    }
    return (value) => checks.every((check) => check(value));
  }
}

/**
 * The kinds that the schema of an entry lists in the conditions of its `allOf`.
 * @param {any} schema
 * @returns {Set<string>}
 */
function knownKinds(schema) {
  return new Set((schema?.allOf ?? []).map((/** @type {any} */ branch) => branch.if.properties.kind.const));
}
