// @ts-check
/** The public API for pages and programs. It does not depend on Node. */

export { canonicalBytes, canonicalText, readCanonicalizable } from "./canonical.js";
export { readCheckpoint, readKey } from "./note.js";
export { checkProof, Prover } from "./proof.js";
export { answer, ROLES } from "./protocol.js";
export { Schemas } from "./schema.js";
export { provideSha256 } from "./sha256.js";
export { blobSource, bytesSource, runOfFiles } from "./sources.js";
export { UsageError, verify } from "./verify.js";
