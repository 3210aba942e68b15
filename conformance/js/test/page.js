// @ts-check
/** The program under test as a page: receives the suite's requests from its server, and posts the answers. */

import { answer, blobSource, runOfFiles, Schemas } from "../index.js";

const SCHEMAS = ["entry.schema.json", "wave-plan.schema.json", "types.schema.json", "proof.schema.json"];

/** @param {string} path */
function addressOf(path) {
  return path.split("/").map(encodeURIComponent).join("/");
}

/**
 * @param {string} path
 * @returns {Promise<Response | null>} null if there is no such file
 */
async function get(path) {
  const response = await fetch(addressOf(path));
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response;
}

/** @param {string} path */
async function getRequired(path) {
  const response = await get(path);
  if (response === null) throw new Error(`no such file: ${path}`);
  return response;
}

async function fetchSchemas() {
  const documents = SCHEMAS.map(async (name) => [name, await (await getRequired(`/schemas/v1/${name}`)).json()]);
  return new Schemas(Object.fromEntries(await Promise.all(documents)));
}

/**
 * The server adds a slash to the URL of a directory, and answers with the paths of all files in it.
 * @param {string} path
 */
async function openRun(path) {
  const response = await getRequired(path);
  if (!response.url.endsWith("/")) return { ledger: blobSource(await response.blob()), directory: null };
  /** @type {string[]} */
  const names = await response.json();
  const files = names.map(async (name) => /** @type {const} */ ([name, await (await getRequired(`${path}/${name}`)).blob()]));
  return runOfFiles(new Map(await Promise.all(files)));
}

const host = {
  schemas: await fetchSchemas(),
  openRun,
  read: async (/** @type {string} */ path) => {
    const response = await get(path);
    return response && new Uint8Array(await response.arrayBuffer());
  },
  write: async (/** @type {string} */ path, /** @type {Uint8Array} */ bytes) => {
    const body = new Blob([Uint8Array.from(bytes)]);
    await fetch(addressOf(path), { method: "PUT", body });
  },
};

let response = await fetch("/request", { method: "POST" });
while (response.status !== 204) {
  const reply = JSON.stringify(await answer(await response.json(), host));
  response = await fetch("/report", { method: "POST", body: reply });
}
