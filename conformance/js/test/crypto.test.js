import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { base64Of, bytesOfBase64, bytesOfHex, hexOf } from "../bytes.js";
import { isSignedBy } from "../ed25519.js";
import { consistencyPath, isConsistent, GrowingTree, isIncluded, inclusionPath, leafHash } from "../merkle.js";
import { startPlainSha256 } from "../sha256.js";
import { sha512 } from "../sha512.js";

// The leaves and roots of the reference implementation of RFC 6962.
const LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
const ROOTS = [
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];
// RFC 8032, section 7.1: public key, message, signature.
const SIGNED = [
  [
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "",
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155" +
      "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  ],
  [
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    "72",
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da" +
      "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  ],
  [
    "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    "af82",
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac" +
      "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
  ],
];
const ORDER = (1n << 252n) + 27742317777372353535851937790883648493n;

const leaves = LEAVES.map((hex) => leafHash(bytesOfHex(hex)));

function rootOf(size) {
  const tree = new GrowingTree();
  for (const leaf of leaves.slice(0, size)) tree.append(leaf);
  return tree.root();
}

test("hashes of all lengths up to three blocks match those of the platform", () => {
  for (let length = 0; length < 400; length++) {
    const message = Buffer.alloc(length, length);
    const hasher = startPlainSha256();
    hasher.update(message.subarray(0, length >> 1));
    hasher.update(message.subarray(length >> 1));

    assert.equal(hexOf(hasher.digest()), createHash("sha256").update(message).digest("hex"));
    assert.equal(hexOf(sha512(message)), createHash("sha512").update(message).digest("hex"));
  }
});

test("the roots match the reference implementation of RFC 6962", () => {
  assert.deepEqual(ROOTS.map((_, size) => hexOf(rootOf(size))), ROOTS);
});

test("every inclusion proof leads to its root and to no other root", () => {
  for (let size = 1; size <= leaves.length; size++) {
    for (let index = 0; index < size; index++) {
      const path = inclusionPath(leaves.slice(0, size), index);

      assert.ok(isIncluded(leaves[index], index, size, path, rootOf(size)));
      assert.ok(!isIncluded(leaves[index], index, size, [...path, leaves[0]], rootOf(size)));
      assert.ok(!isIncluded(leaves[(index + 1) % 8], index, size, path, rootOf(size)));
      assert.ok(size === 1 || !isIncluded(leaves[index], index, size, path.slice(1), rootOf(size)));
    }
  }
});

test("every consistency proof leads from its first root to its second, and not from a different root", () => {
  for (let size = 1; size <= leaves.length; size++) {
    for (let from = 0; from <= size; from++) {
      const path = consistencyPath(leaves.slice(0, size), from);

      assert.ok(isConsistent(from, rootOf(from), size, rootOf(size), path));
      assert.ok(!isConsistent(from, leaves[7], size, rootOf(size), path));
      assert.ok(!isConsistent(from, rootOf(from), size, rootOf(size), [...path, leaves[0]]));
    }
  }
});

test("an empty tree has only one valid root", () => {
  assert.ok(!isConsistent(0, rootOf(0), 0, leaves[0], []));
});

test("the signatures of RFC 8032 are valid, and invalid with one bit changed", () => {
  for (const [key, message, signature] of SIGNED.map((row) => row.map(bytesOfHex))) {
    assert.ok(isSignedBy(key, message, signature));

    const changed = signature.slice();
    changed[40] ^= 1;
    assert.ok(!isSignedBy(key, message, changed));
    assert.ok(!isSignedBy(key, Buffer.from("other"), signature));
  }
});

test("a signature whose scalar is not reduced is refused", () => {
  const [key, message, signature] = SIGNED[0].map(bytesOfHex);
  const unreduced = signature.slice();
  let number = ORDER + signature.slice(32).reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  for (let i = 32; i < 64; i++, number >>= 8n) unreduced[i] = Number(number & 255n);

  assert.ok(!isSignedBy(key, message, unreduced));
});

test("a signature that the platform created is valid", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const key = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const message = Buffer.from("forum\n");

  assert.ok(isSignedBy(key, message, sign(null, message, privateKey)));
});

test("only canonical base64 is accepted", () => {
  assert.equal(base64Of(Uint8Array.of(255, 254)), "//4=");
  assert.deepEqual(bytesOfBase64("//4="), Uint8Array.of(255, 254));
  assert.deepEqual(["//5=", "//4", "//4==", "__4=", "//4= "].map(bytesOfBase64), [null, null, null, null, null]);
});
