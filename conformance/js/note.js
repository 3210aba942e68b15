// @ts-check
/** Checkpoints and keys as texts: C2SP tlog-checkpoint and signed note (LEDGER-CHECKPOINT-001 and 002). */

import { base64Of, bytesOfBase64, bytesOfHex, hexOf, concat, sameBytes, textOf, utf8 } from "./bytes.js";
import { isSignedBy } from "./ed25519.js";
import { sha256 } from "./sha256.js";

export const MAX_CHECKPOINT_BYTES = 1 << 20;
const RUN_ID = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
const TEXT = new RegExp(`^forum/(${RUN_ID})\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+/]{43}=)\n`);
const SIGNATURE_LINE = /^— ([^ ]+) ([A-Za-z0-9+/=]+)$/u;
// Unicode's white space, the control characters that a note must not contain, and the separator of a key's parts.
const FORBIDDEN_IN_A_NAME = /[\p{White_Space}\u0000-\u001f+]/u;
const ED25519_TYPE = Uint8Array.of(1);
const KEY_ID_BYTES = 4;
const PUBLIC_KEY_BYTES = 32;

/** @typedef {{name: string, id: Uint8Array, publicKey: Uint8Array}} Key */
/** @typedef {{name: string, id: Uint8Array, signature: Uint8Array}} Signature */
/** @typedef {{run: string, size: number, root: string, text: string, signatures: Signature[]}} Checkpoint */

/**
 * @param {string} run
 * @param {number} size
 * @param {Uint8Array} root
 */
export function checkpointText(run, size, root) {
  return `forum/${run}\n${size}\n${base64Of(root)}\n`;
}

/**
 * @param {Uint8Array} bytes
 * @returns {Checkpoint | null} null if it is malformed
 */
export function readCheckpoint(bytes) {
  const text = bytes.length > MAX_CHECKPOINT_BYTES ? null : textOf(bytes);
  const match = text === null ? null : TEXT.exec(text);
  if (text === null || match === null) return null;
  const size = Number(match[2]);
  const root = bytesOfBase64(match[3]);
  const signatures = readSignatures(text.slice(match[0].length));
  if (!Number.isSafeInteger(size) || root === null || signatures === null) return null;
  return { run: match[1], size, root: hexOf(root), text: match[0], signatures };
}

/**
 * @param {string} text the text after the first three lines
 * @returns {Signature[] | null}
 */
function readSignatures(text) {
  if (text === "") return [];
  if (!text.startsWith("\n") || !text.endsWith("\n") || text.length < 2) return null;
  const signatures = text.slice(1, -1).split("\n").map(readSignature);
  return signatures.includes(null) ? null : /** @type {Signature[]} */ (signatures);
}

/**
 * @param {string} line
 * @returns {Signature | null}
 */
function readSignature(line) {
  const match = SIGNATURE_LINE.exec(line);
  const bytes = match === null ? null : bytesOfBase64(match[2]);
  if (match === null || bytes === null || bytes.length <= KEY_ID_BYTES || FORBIDDEN_IN_A_NAME.test(match[1])) return null;
  return { name: match[1], id: bytes.subarray(0, KEY_ID_BYTES), signature: bytes.subarray(KEY_ID_BYTES) };
}

/**
 * @param {Uint8Array} bytes the content of a public key file
 * @returns {Key | null} null if it is not a valid public key
 */
export function readKey(bytes) {
  const text = textOf(bytes);
  const match = text === null ? null : /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/u.exec(text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/gu, ""));
  const material = match === null ? null : bytesOfBase64(match[3]);
  if (match === null || material === null || material.length !== 1 + PUBLIC_KEY_BYTES || material[0] !== ED25519_TYPE[0]) return null;
  const publicKey = material.subarray(1);
  const id = keyId(match[1], publicKey);
  if (FORBIDDEN_IN_A_NAME.test(match[1]) || !sameBytes(id, bytesOfHex(match[2]))) return null;
  return { name: match[1], id, publicKey };
}

/**
 * @param {string} name
 * @param {Uint8Array} publicKey
 */
function keyId(name, publicKey) {
  return sha256(concat([utf8(`${name}\n`), ED25519_TYPE, publicKey])).subarray(0, KEY_ID_BYTES);
}

/**
 * Whether the key signed the checkpoint: at least once, and every signature with its name and id is valid.
 * @param {Checkpoint} checkpoint
 * @param {Key} key
 */
export function isSigned(checkpoint, key) {
  const keySignatures = checkpoint.signatures.filter(({ name, id }) => name === key.name && sameBytes(id, key.id));
  const text = utf8(checkpoint.text);
  return keySignatures.length > 0 && keySignatures.every(({ signature }) => isSignedBy(key.publicKey, text, signature));
}
