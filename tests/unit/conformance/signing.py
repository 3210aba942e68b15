"""Keys and signatures, created by a different implementation than the judge's."""

import base64

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from forum_conformance.note import PublicKey

# The public key of the example in the documentation of Go's sumdb/note.
NEUMANN = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"


def key_of(seed: bytes, name: str = "forum.example") -> tuple[Ed25519PrivateKey, PublicKey]:
    private = Ed25519PrivateKey.from_private_bytes(seed)
    return private, PublicKey(name, private.public_key().public_bytes_raw())


def sign(text: bytes, private: Ed25519PrivateKey, key: PublicKey) -> bytes:
    signature = base64.b64encode(key.key_id + private.sign(text)).decode()
    return f"— {key.name} {signature}\n".encode()
