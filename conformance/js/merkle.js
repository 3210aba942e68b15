// @ts-check
/** The Merkle tree of RFC 6962, section 2.1: incremental roots, and creating and checking proofs. */

import { sameBytes } from "./bytes.js";
import { sha256 } from "./sha256.js";

const LEAF_PREFIX = Uint8Array.of(0);
const NODE_PREFIX = Uint8Array.of(1);

/** @param {Uint8Array} line */
export function leafHash(line) {
  return sha256(LEAF_PREFIX, line);
}

/**
 * @param {Uint8Array} left
 * @param {Uint8Array} right
 */
function nodeHash(left, right) {
  return sha256(NODE_PREFIX, left, right);
}

/** Computes the root of a growing list of leaves, with memory logarithmic in its length. */
export class GrowingTree {
  constructor() {
    this.size = 0;
    /** @type {Uint8Array[]} the roots of the complete subtrees, the largest first */
    this.peaks = [];
  }

  /** @param {Uint8Array} leaf the hash of a leaf */
  append(leaf) {
    let node = leaf;
    for (let bits = this.size; bits % 2 === 1; bits = Math.floor(bits / 2)) {
      node = nodeHash(/** @type {Uint8Array} */ (this.peaks.pop()), node);
    }
    this.peaks.push(node);
    this.size++;
  }

  root() {
    if (this.size === 0) return sha256();
    return this.peaks.reduceRight((right, left) => nodeHash(left, right));
  }
}

/**
 * The number of leaves in the left subtree: the largest power of two below the size.
 * @param {number} size at least 2
 */
function leftSize(size) {
  let power = 1;
  while (power * 2 < size) power *= 2;
  return power;
}

/**
 * @param {Uint8Array[]} leaves
 * @param {number} from
 * @param {number} to
 */
function rootOf(leaves, from, to) {
  const tree = new GrowingTree();
  for (let i = from; i < to; i++) tree.append(leaves[i]);
  return tree.root();
}

/**
 * The inclusion path of a leaf: PATH(m, D[n]) of section 2.1.1.
 * @param {Uint8Array[]} leaves
 * @param {number} index below the number of leaves
 */
export function inclusionPath(leaves, index) {
  /** @type {Uint8Array[]} */
  const path = [];
  for (let from = 0, to = leaves.length; to - from > 1; ) {
    const middle = from + leftSize(to - from);
    if (index < middle) {
      path.unshift(rootOf(leaves, middle, to));
      to = middle;
    } else {
      path.unshift(rootOf(leaves, from, middle));
      from = middle;
    }
  }
  return path;
}

/**
 * The consistency path from a smaller tree: PROOF(m, D[n]) of section 2.1.2. Empty if `size` is 0 or the number of leaves.
 * @param {Uint8Array[]} leaves
 * @param {number} size of the smaller tree
 */
export function consistencyPath(leaves, size) {
  /** @type {Uint8Array[]} */
  const path = [];
  if (size === 0) return path;
  let isRootKnown = true;
  let from = 0;
  let to = leaves.length;
  while (size !== to) {
    const middle = from + leftSize(to - from);
    if (size <= middle) {
      path.unshift(rootOf(leaves, middle, to));
      to = middle;
    } else {
      path.unshift(rootOf(leaves, from, middle));
      from = middle;
      isRootKnown = false;
    }
  }
  if (!isRootKnown) path.unshift(rootOf(leaves, from, to));
  return path;
}

/**
 * Whether the path leads from a leaf to the root.
 * @param {Uint8Array} leaf
 * @param {number} index below size
 * @param {number} size
 * @param {Uint8Array[]} path
 * @param {Uint8Array} root
 */
export function isIncluded(leaf, index, size, path, root) {
  let node = leaf;
  let last = size - 1;
  for (const sibling of path) {
    if (last === 0) return false;
    if (index % 2 === 1 || index === last) {
      node = nodeHash(sibling, node);
      while (index % 2 === 0 && index !== 0) {
        index = Math.floor(index / 2);
        last = Math.floor(last / 2);
      }
    } else {
      node = nodeHash(node, sibling);
    }
    index = Math.floor(index / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && sameBytes(node, root);
}

/**
 * Whether the path leads from the root of the first `fromSize` leaves to the root of the first `size` leaves.
 * @param {number} fromSize at most size
 * @param {Uint8Array} fromRoot
 * @param {number} size
 * @param {Uint8Array} root
 * @param {Uint8Array[]} path
 */
export function isConsistent(fromSize, fromRoot, size, root, path) {
  if (fromSize === 0 && !sameBytes(fromRoot, sha256())) return false;
  if (fromSize === size) return path.length === 0 && sameBytes(fromRoot, root);
  if (fromSize === 0) return path.length === 0;
  let index = fromSize - 1;
  let last = size - 1;
  while (index % 2 === 1) {
    index = Math.floor(index / 2);
    last = Math.floor(last / 2);
  }
  const nodes = index === 0 ? [fromRoot, ...path] : path;
  if (nodes.length === 0) return false;
  let [smaller] = nodes;
  let larger = smaller;
  for (const node of nodes.slice(1)) {
    if (last === 0) return false;
    if (index % 2 === 1 || index === last) {
      smaller = nodeHash(node, smaller);
      larger = nodeHash(node, larger);
      while (index % 2 === 0 && index !== 0) {
        index = Math.floor(index / 2);
        last = Math.floor(last / 2);
      }
    } else {
      larger = nodeHash(larger, node);
    }
    index = Math.floor(index / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && sameBytes(smaller, fromRoot) && sameBytes(larger, root);
}
