// @ts-check
/** What a page or another program imports. Nothing in here needs Node. */

export { canonicalBytes, canonicalText, readCanonicalizable } from "./canonical.js";
export { readCheckpoint, readKey } from "./note.js";
export { checkProof, Prover } from "./proof.js";
export { answer, ROLES } from "./protocol.js";
export { Schemas } from "./schema.js";
export { provideSha256 } from "./sha256.js";
export { blobSource, bytesSource, runOfFiles } from "./sources.js";
export { UsageError, verify } from "./verify.js";
