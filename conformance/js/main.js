#!/usr/bin/env node
// @ts-check
/** The program under test: `node main.js ROLE` for one request, `node main.js serve` for many. */

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { OpenFiles, readSchemas } from "./node_files.js";
import { answer, ROLES } from "./protocol.js";
import { provideSha256 } from "./sha256.js";
import { UsageError } from "./verify.js";

const USAGE = 2;
const NOT_OFFERED = 33;

/** @param {NodeJS.ErrnoException} error */
function isNotFound(error) {
  return error.code === "ENOENT" || error.code === "ENOTDIR";
}

/**
 * @param {string} path
 * @param {OpenFiles} files
 */
async function openRun(path, files) {
  try {
    return await files.run(path);
  } catch (error) {
    if (isNotFound(/** @type {NodeJS.ErrnoException} */ (error))) throw new UsageError(`no ledger at ${path}`);
    throw error;
  }
}

/**
 * @param {any} request
 * @param {import("./schema.js").Schemas} schemas
 */
async function answerRequest(request, schemas) {
  const files = new OpenFiles();
  try {
    return await answer(request, {
      schemas,
      openRun: (path) => openRun(path, files),
      read: (path) => readFile(path).catch((error) => (isNotFound(error) ? null : Promise.reject(error))),
      write: (path, bytes) => writeFile(path, bytes),
    });
  } finally {
    await files.close();
  }
}

/** @param {string} role */
async function answerOnce(role) {
  if (!ROLES.has(role)) return NOT_OFFERED;
  const parts = [];
  for await (const part of process.stdin) parts.push(part);
  const request = JSON.parse(Buffer.concat(parts).toString("utf8"));
  console.log(JSON.stringify(await answerRequest({ ...request, role }, await readSchemas())));
  return 0;
}

async function serve() {
  const schemas = await readSchemas();
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (line.trim() !== "") console.log(JSON.stringify(await answerRequest(JSON.parse(line), schemas)));
  }
  return 0;
}

provideSha256(() => createHash("sha256"));
const [role] = process.argv.slice(2);
if (role === undefined) console.error("usage: main.js canonicalize|verify|prove|serve");
process.exitCode = role === undefined ? USAGE : await (role === "serve" ? serve() : answerOnce(role));
