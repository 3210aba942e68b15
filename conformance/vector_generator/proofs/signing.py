"""Signs checkpoints with Ed25519 (RFC 8032, section 5.1.6). Slow and not constant-time: only for public test keys."""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache

# The prime of the field, the order of the group and the constant of the curve (RFC 8032, section 5.1).
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

ED25519 = b"\x01"
"""The prefix of a key of this type."""

Point = tuple[int, int]


def _base_point() -> Point:
    y = 4 * pow(5, -1, P) % P
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    return (x if x % 2 == 0 else P - x), y


def _add(first: Point, second: Point) -> Point:
    """The addition law of a twisted Edwards curve with a = -1."""
    (x1, y1), (x2, y2) = first, second
    product = D * x1 * x2 * y1 * y2
    x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P)
    y = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P)
    return x % P, y % P


def _multiply(factor: int) -> Point:
    """The base point, multiplied by a factor."""
    product: Point = (0, 1)
    doubled = _base_point()
    while factor:
        if factor & 1:
            product = _add(product, doubled)
        doubled = _add(doubled, doubled)
        factor >>= 1
    return product


def _encoded(point: Point) -> bytes:
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _hash_to_scalar(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % ORDER


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key for C2SP signed notes, derived from a public seed."""

    name: str
    seed: bytes

    def _secret(self) -> tuple[int, bytes]:
        digest = hashlib.sha512(self.seed).digest()
        scalar = int.from_bytes(digest[:32], "little")
        return scalar & ((1 << 254) - 8) | 1 << 254, digest[32:]

    @property
    def public(self) -> bytes:
        return _public(self._secret()[0])

    @property
    def key_id(self) -> bytes:
        return hashlib.sha256(self.name.encode() + b"\n" + ED25519 + self.public).digest()[:4]

    @property
    def public_text(self) -> bytes:
        """The public key in the form of LEDGER-CHECKPOINT-002, with LF."""
        return f"{self.name}+{self.key_id.hex()}+{_base64(ED25519 + self.public)}\n".encode()

    @property
    def private_text(self) -> bytes:
        return f"PRIVATE+KEY+{self.name}+{self.key_id.hex()}+{_base64(ED25519 + self.seed)}\n".encode()

    def signature(self, text: bytes) -> bytes:
        scalar, prefix = self._secret()
        nonce = _hash_to_scalar(prefix, text)
        point = _encoded(_multiply(nonce))
        response = (nonce + _hash_to_scalar(point, self.public, text) * scalar) % ORDER
        return point + response.to_bytes(32, "little")

    def line(self, text: bytes) -> bytes:
        """The signature line of a text."""
        return signature_line(self.name, self.key_id + self.signature(text))

    def signed(self, text: bytes) -> bytes:
        return text + b"\n" + self.line(text)


@cache
def _public(scalar: int) -> bytes:
    return _encoded(_multiply(scalar))


def signature_line(name: str, data: bytes) -> bytes:
    return f"\u2014 {name} {_base64(data)}\n".encode()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


KEY = SigningKey("example.org/release", bytes(range(32)))
OTHER_KEY = SigningKey("example.org/other", bytes(range(32, 64)))
