// @ts-check
/** Adapters from Node's files to the sources of the core. */

import { constants } from "node:fs";
import { access, lstat, open, readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Schemas } from "./schema.js";

/** @typedef {import("node:fs/promises").FileHandle} FileHandle */

/** Opens files; `close` closes all of them. */
export class OpenFiles {
  constructor() {
    /** @type {FileHandle[]} */
    this.handles = [];
  }

  /**
   * @param {string} path
   * @returns {Promise<import("./sources.js").ByteSource>}
   */
  async source(path) {
    const handle = await open(path, constants.O_RDONLY);
    this.handles.push(handle);
    const { size } = await handle.stat();
    return { size, read: (offset, length) => readFully(handle, offset, Math.min(length, size - offset)) };
  }

  /**
   * @param {string} path a run directory or a bare ledger
   * @returns {Promise<import("./sources.js").Run>}
   */
  async run(path) {
    if (!(await stat(path)).isDirectory()) return { ledger: await this.source(path), directory: null };
    return { ledger: await this.source(join(path, "ledger.jsonl")), directory: this.#directory(path) };
  }

  /**
   * @param {string} root
   * @returns {import("./sources.js").Directory}
   */
  #directory(root) {
    const open = async (/** @type {string} */ path, /** @type {typeof stat} */ getStatus) => {
      const status = await getStatus(join(root, path)).catch(nullIfNotFound);
      if (status === null) return "absent";
      return status.isFile() ? this.source(join(root, path)) : "irregular";
    };
    return {
      open: (path) => open(path, stat),
      openRegular: (path) => open(path, lstat),
      list: (path) => readdir(join(root, path)).catch(nullIfNotFound),
    };
  }

  async close() {
    for (const handle of this.handles) await handle.close();
  }
}

/**
 * @param {NodeJS.ErrnoException} error
 * @returns {null}
 */
function nullIfNotFound(error) {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
  throw error;
}

/**
 * Reads until the length or the end of the file is reached: a single read may return less.
 * @param {FileHandle} handle
 * @param {number} offset
 * @param {number} length
 */
async function readFully(handle, offset, length) {
  if (length <= 0) return new Uint8Array(0);
  const buffer = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, offset + filled);
    if (bytesRead === 0) return buffer.subarray(0, filled);
    filled += bytesRead;
  }
  return buffer;
}

/** The schema documents, from a directory next to this file or from the checkout. */
export async function readSchemas() {
  const here = dirname(fileURLToPath(import.meta.url));
  const packaged = join(here, "schemas");
  const folder = await access(packaged).then(() => packaged, () => join(here, "..", "..", "schemas", "v1"));
  /** @type {Record<string, any>} */
  const documents = {};
  for (const name of await readdir(folder)) {
    if (name.endsWith(".schema.json")) documents[name] = JSON.parse(await readFile(join(folder, name), "utf8"));
  }
  return new Schemas(documents);
}
