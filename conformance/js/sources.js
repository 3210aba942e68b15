// @ts-check
/** Sources of bytes. A host provides its files in this form; this module has the sources that work on every host. */

/**
 * @typedef {Object} ByteSource
 * @property {number} size
 * @property {(offset: number, length: number) => Promise<Uint8Array>} read returns fewer bytes than requested at the end of the source
 */

/**
 * @typedef {Object} Directory a run directory
 * @property {(path: string) => Promise<ByteSource | "absent" | "irregular">} open follows links
 * @property {(path: string) => Promise<ByteSource | "absent" | "irregular">} openRegular reports a link as irregular
 * @property {(path: string) => Promise<string[] | null>} list the names in a directory, or null if it does not exist
 */

/**
 * @typedef {Object} Run the input of a verification
 * @property {ByteSource} ledger
 * @property {Directory | null} directory null for a bare ledger
 */

const CHUNK_BYTES = 1 << 20;

/**
 * @param {Uint8Array} bytes
 * @returns {ByteSource}
 */
export function bytesSource(bytes) {
  return { size: bytes.length, read: async (offset, length) => bytes.subarray(offset, offset + length) };
}

/**
 * @param {Blob} blob
 * @returns {ByteSource}
 */
export function blobSource(blob) {
  return {
    size: blob.size,
    read: async (offset, length) => new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer()),
  };
}

/**
 * A run directory in memory: bytes or blobs by path, such as `ledger.jsonl` and `outputs/notes.txt`.
 * @param {Map<string, Uint8Array | Blob>} files
 * @returns {Run}
 */
export function runOfFiles(files) {
  const source = (/** @type {Uint8Array | Blob} */ file) =>
    file instanceof Uint8Array ? bytesSource(file) : blobSource(file);
  const ledger = files.get("ledger.jsonl");
  if (ledger === undefined) throw new Error("ledger.jsonl is missing");
  const open = async (/** @type {string} */ path) => {
    const file = files.get(path);
    return file === undefined ? "absent" : source(file);
  };
  /** @type {Directory} */
  const directory = {
    open,
    openRegular: open,
    list: async (path) => {
      const paths = [...files.keys()].filter((name) => name.startsWith(`${path}/`));
      return paths.length === 0 ? null : [...new Set(paths.map((name) => name.slice(path.length + 1).split("/")[0]))];
    },
  };
  return { ledger: source(ledger), directory };
}

/**
 * The bytes of a part of a source, in chunks.
 * @param {ByteSource} source
 * @param {number} from
 * @param {number} to
 */
export async function* chunksOf(source, from, to) {
  while (from < to) {
    const chunk = await source.read(from, Math.min(CHUNK_BYTES, to - from));
    if (chunk.length === 0) return;
    yield chunk;
    from += chunk.length;
  }
}
