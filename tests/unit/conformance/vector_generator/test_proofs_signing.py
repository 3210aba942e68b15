"""Ed25519 signatures of the generator, compared with RFC 8032 and verified by the judge."""

import pytest

from forum_conformance.ed25519 import verify
from forum_conformance.note import PublicKey, read_checkpoint, read_public_key
from vector_generator.proofs.signing import KEY, SigningKey


# RFC 8032, section 7.1, tests 1 and 2.
@pytest.mark.parametrize(
    ("seed", "public", "message", "signature"),
    [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            (
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595b"
                "be24655141438e7a100b"
            ),
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            (
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb430"
                "2aeeb00d291612bb0c00"
            ),
        ),
    ],
)
def test_a_signature_equals_the_one_in_the_rfc(seed: str, public: str, message: str, signature: str) -> None:
    key = SigningKey("rfc", bytes.fromhex(seed))

    assert (key.public.hex(), key.signature(bytes.fromhex(message)).hex()) == (public, signature)


def test_the_judge_accepts_the_key_and_its_signature() -> None:
    text = b"forum/01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
    key = read_public_key(KEY.public_text.decode())

    assert key == PublicKey(KEY.name, KEY.public)
    assert verify(KEY.public, text, KEY.signature(text))
    assert read_checkpoint(KEY.signed(text)).is_signed_by(key)
