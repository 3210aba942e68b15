"""Verify Ed25519 signatures (RFC 8032, section 5.1). This module does not sign and handles no secrets."""

import hashlib
from typing import TypeAlias

# Section 5.1, with its names: the prime of the field (p), the order of the base point (L), the curve's constant (d).
# Then a square root of -1.
_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_ONE = pow(2, (_P - 1) // 4, _P)

# Extended homogeneous coordinates (X, Y, Z, T) with x = X/Z, y = Y/Z, x * y = T/Z (section 5.1.4).
_Point: TypeAlias = tuple[int, int, int, int]
_NEUTRAL: _Point = (0, 1, 1, 0)


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Section 5.1.7: whether encode([S]B - [k]A) is R."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    key = _decode(public_key)
    scalar = int.from_bytes(signature[32:], "little")
    if key is None or scalar >= _L:
        return False
    challenge = hashlib.sha512(signature[:32] + public_key + message).digest()
    factor = int.from_bytes(challenge, "little") % _L
    point = _add(_multiply(scalar, _BASE), _multiply(factor, _negate(key)))
    return _encode(point) == signature[:32]


def _add(first: _Point, second: _Point) -> _Point:
    x1, y1, z1, t1 = first
    x2, y2, z2, t2 = second
    a = (y1 - x1) * (y2 - x2) % _P
    b = (y1 + x1) * (y2 + x2) % _P
    c = 2 * t1 * t2 * _D % _P
    d = 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _negate(point: _Point) -> _Point:
    x, y, z, t = point
    return -x % _P, y, z, -t % _P


def _multiply(factor: int, point: _Point) -> _Point:
    product = _NEUTRAL
    while factor:
        if factor & 1:
            product = _add(product, point)
        point = _add(point, point)
        factor >>= 1
    return product


def _encode(point: _Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, _P)
    sign = (x * inverse % _P) & 1
    return (y * inverse % _P | sign << 255).to_bytes(32, "little")


def _decode(data: bytes) -> _Point | None:
    """The point of an encoding (section 5.1.3); None if there is none."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    x = _recover_x(y, sign) if y < _P else None
    return None if x is None else (x, y, 1, x * y % _P)


def _recover_x(y: int, sign: int) -> int | None:
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _ROOT_OF_MINUS_ONE % _P
    if (x * x - square) % _P or (x == 0 and sign):
        return None
    return x if x & 1 == sign else _P - x


def _base_point() -> _Point:
    y = 4 * pow(5, -1, _P) % _P
    x = _recover_x(y, 0)
    assert x is not None  # noqa: S101 - the base point is on the curve
    return x, y, 1, x * y % _P


_BASE = _base_point()
