// @ts-check
/** The protocol between the suite and a program: a request in, an answer out (conformance/PROTOCOL.md). */

import { canonicalBytes, canonicalText, readCanonicalizable } from "./canonical.js";
import { readKey } from "./note.js";
import { checkProof, Prover } from "./proof.js";
import { UsageError, verify } from "./verify.js";

export const ROLES = new Set(["canonicalize", "verify", "prove"]);

const MAX_FINDINGS_IN_MESSAGE = 5;

/**
 * @typedef {Object} Host the environment that the program runs in
 * @property {import("./schema.js").Schemas} schemas
 * @property {(path: string) => Promise<import("./sources.js").Run>} openRun
 * @property {(path: string) => Promise<Uint8Array | null>} read null if the file does not exist
 * @property {(path: string, bytes: Uint8Array) => Promise<void>} write
 */

/** @typedef {Record<string, any>} Answer */

/**
 * @param {any} request
 * @param {Host} host
 * @returns {Promise<Answer>}
 */
export async function answer(request, host) {
  const id = request.id === undefined ? {} : { id: request.id };
  try {
    return { protocol: 1, ...id, ...(await answerRole(request, host)) };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { protocol: 1, ...id, ...unsupported(error.message) };
  }
}

/** @param {string} message */
function unsupported(message) {
  return { verdict: "unsupported", message };
}

/**
 * @param {any} request
 * @param {Host} host
 * @returns {Promise<Answer>}
 */
async function answerRole(request, host) {
  if (request.role === "canonicalize") return answerCanonicalize(request, host);
  if (request.role === "verify") return answerVerify(request, host);
  if (request.role === "prove") return answerProve(request, host);
  return unsupported(`the role '${request.role}' is not offered`);
}

/**
 * @param {Host} host
 * @param {string} path
 */
async function readRequired(host, path) {
  const bytes = await host.read(path);
  if (bytes === null) throw new UsageError(`no such file: ${path}`);
  return bytes;
}

/**
 * @param {any} request
 * @param {Host} host
 */
async function answerCanonicalize(request, host) {
  const json = readCanonicalizable(await readRequired(host, request.input));
  if (json === null) return { verdict: "invalid", codes: [] };
  await host.write(request.output, canonicalBytes(json.value));
  return { verdict: "valid", codes: [] };
}

/**
 * The checkpoint, key and pin of a request. A pin file that does not exist yet is ignored.
 * @param {any} request
 * @param {Host} host
 */
async function readEvidence(request, host) {
  /** @type {{checkpoint?: Uint8Array, key?: import("./note.js").Key, pin?: Uint8Array}} */
  const evidence = {};
  if (request.checkpoint !== undefined) evidence.checkpoint = await readRequired(host, request.checkpoint);
  if (request.pin !== undefined) evidence.pin = (await host.read(request.pin)) ?? undefined;
  if (request.key !== undefined) {
    const key = readKey(await readRequired(host, request.key));
    if (key === null) throw new UsageError(`${request.key} is not a public key`);
    evidence.key = key;
  }
  return evidence;
}

/**
 * @param {any} request
 * @param {Host} host
 */
async function answerVerify(request, host) {
  // Without level 5, ignore the head, checkpoint, key and pin of the request.
  const isLevel5Requested = request.levels === undefined || request.levels.includes(5);
  const evidence = isLevel5Requested ? { ...(await readEvidence(request, host)), expectHead: request.expect_head } : {};
  const run = await host.openRun(request.input);
  const options = { ...evidence, levels: request.levels };
  const report = await verify(run, host.schemas, options);
  return {
    verdict: report.verdict,
    codes: report.codes,
    first_bad_seq: report.first_bad_seq,
    levels: Object.fromEntries(report.levels.map(({ level, status }) => [level, status])),
    message: report.findings.slice(0, MAX_FINDINGS_IN_MESSAGE).map(({ code, seq, sentence }) => `${code} at ${seq}: ${sentence}`).join("; "),
  };
}

/**
 * @param {any} request
 * @param {Host} host
 */
async function answerProve(request, host) {
  if (request.action === "check") return answerCheck(request, host);
  const document = await createDocument(request, (await host.openRun(request.input)).ledger, host);
  if (document === null) return { verdict: "invalid", codes: [] };
  const text = typeof document === "string" ? document : canonicalText(document);
  await host.write(request.output, new TextEncoder().encode(text));
  return { verdict: "valid", codes: [] };
}

/**
 * @param {any} request
 * @param {import("./sources.js").ByteSource} ledger
 * @param {Host} host
 * @returns {Promise<string | object | null>}
 */
async function createDocument(request, ledger, host) {
  const prover = await Prover.of(ledger, host.schemas, request.seq);
  if (prover === null) return null;
  const size = request.size ?? prover.leaves.length;
  if (request.action === "checkpoint") return prover.checkpoint(size);
  if (request.action === "inclusion") return prover.inclusion(request.seq, size);
  if (request.action === "consistency") return prover.consistency(request.from_size, size);
  throw new UsageError(`unknown action '${request.action}'`);
}

/**
 * @param {any} request
 * @param {Host} host
 */
async function answerCheck(request, host) {
  const evidence = await readEvidence(request, host);
  if (request.pin !== undefined && evidence.pin === undefined) throw new UsageError(`no such file: ${request.pin}`);
  const findings = checkProof(await readRequired(host, request.input), host.schemas, evidence);
  return {
    verdict: findings.verdict(),
    codes: findings.codes(),
    first_bad_seq: findings.firstBadSeq(),
    message: findings.items.map(({ code, sentence }) => `${code}: ${sentence}`).join("; "),
  };
}
