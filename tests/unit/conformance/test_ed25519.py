"""Ed25519 signatures: the test vectors of RFC 8032, section 7.1, and input that a verifier must refuse."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from forum_conformance import ed25519

VECTORS = {
    "TEST 1": (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    "TEST 2": (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    "TEST 3": (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
            "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
    "TEST SHA(abc)": (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        (
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
        (
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
            "09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704"
        ),
    ),
}
ORDER = 2**252 + 27742317777372353535851937790883648493


def bytes_of(name: str) -> tuple[bytes, bytes, bytes]:
    key, message, signature = VECTORS[name]
    return bytes.fromhex(key), bytes.fromhex(message), bytes.fromhex(signature)


@pytest.mark.parametrize("name", VECTORS)
def test_the_signatures_of_the_rfc_are_valid(name: str) -> None:
    assert ed25519.verify(*bytes_of(name))


@pytest.mark.parametrize("name", VECTORS)
def test_a_changed_key_message_or_signature_is_invalid(name: str) -> None:
    key, message, signature = bytes_of(name)
    changed_key = bytes([key[0] ^ 1]) + key[1:]
    changed_point = bytes([signature[0] ^ 1]) + signature[1:]
    changed_scalar = signature[:32] + bytes([signature[32] ^ 1]) + signature[33:]

    assert not ed25519.verify(changed_key, message, signature)
    assert not ed25519.verify(key, message + b"\0", signature)
    assert not ed25519.verify(key, message, changed_point)
    assert not ed25519.verify(key, message, changed_scalar)


def test_a_scalar_above_the_order_is_refused() -> None:
    key, message, signature = bytes_of("TEST 1")
    scalar = int.from_bytes(signature[32:], "little") + ORDER

    assert not ed25519.verify(key, message, signature[:32] + scalar.to_bytes(32, "little"))


@pytest.mark.parametrize(
    "key",
    [
        b"",
        bytes(31),
        (2**255 - 19 + 1).to_bytes(32, "little"),
        (1 | 1 << 255).to_bytes(32, "little"),
        (2).to_bytes(32, "little"),
    ],
)
def test_a_key_that_is_not_a_point_is_refused(key: bytes) -> None:
    _, message, signature = bytes_of("TEST 1")

    assert not ed25519.verify(key, message, signature)


def test_a_signature_has_64_bytes() -> None:
    key, message, signature = bytes_of("TEST 1")

    assert not ed25519.verify(key, message, signature[:-1])
    assert not ed25519.verify(key, message, signature + b"\0")


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=100))
@settings(max_examples=20)
def test_signatures_of_another_implementation_are_valid(seed: bytes, message: bytes) -> None:
    private = Ed25519PrivateKey.from_private_bytes(seed)

    assert ed25519.verify(private.public_key().public_bytes_raw(), message, private.sign(message))
