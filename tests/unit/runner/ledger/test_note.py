"""Signed notes: the example in Go's documentation, properties, and malformed notes."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_runner.ledger.note import MalformedKeyError, MalformedNoteError, Note, SignerKey, VerifierKey, read_note

pytestmark = pytest.mark.requirement("LEDGER-CHECKPOINT-002")

# From the documentation of golang.org/x/mod/sumdb/note.
PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
PUBLIC = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
LINE = (
    "\N{EM DASH} PeterNeumann "
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
NOTE = f"{TEXT}\n{LINE}".encode()

NAMES = st.text(st.characters(exclude_categories=["Z", "C"], exclude_characters="+"), min_size=1, max_size=20)
SEEDS = st.binary(min_size=32, max_size=32)


def key_of(name: str, seed: bytes) -> SignerKey:
    return SignerKey.generate(name, lambda count: seed[:count])


def test_signing_reproduces_the_go_example_exactly() -> None:
    assert Note(TEXT).with_signature(SignerKey.parse(PRIVATE)).encode() == NOTE


def test_the_go_example_verifies_with_its_public_key() -> None:
    note = read_note(NOTE)

    assert note.text == TEXT
    assert note.is_signed_by(VerifierKey.parse(PUBLIC))


def test_the_public_key_of_the_go_example_is_derived_from_the_private_key() -> None:
    assert SignerKey.parse(PRIVATE).verifier().encode() == PUBLIC


@given(NAMES, SEEDS)
def test_a_written_key_is_read_back_unchanged(name: str, seed: bytes) -> None:
    key = key_of(name, seed)

    assert SignerKey.parse(key.encode()) == key
    assert VerifierKey.parse(key.verifier().encode()) == key.verifier()


@given(NAMES, SEEDS, st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"])))
def test_a_key_verifies_exactly_the_text_it_signed(name: str, seed: bytes, text: str) -> None:
    key = key_of(name, seed)

    note = read_note(Note(f"{text}\n").with_signature(key).encode())

    assert note.is_signed_by(key.verifier())
    assert not Note(f"{text}.\n", note.signatures).is_signed_by(key.verifier())


def test_signatures_by_other_keys_are_ignored() -> None:
    stranger, namesake = key_of("stranger", bytes(32)), key_of("PeterNeumann", bytes(32))

    note = read_note(
        Note(TEXT).with_signature(stranger).with_signature(namesake).with_signature(SignerKey.parse(PRIVATE)).encode()
    )
    with_invalid_others = Note("other\n", note.signatures[:2]).with_signature(SignerKey.parse(PRIVATE))

    assert note.is_signed_by(VerifierKey.parse(PUBLIC))
    assert with_invalid_others.is_signed_by(VerifierKey.parse(PUBLIC))


def test_a_note_without_a_signature_by_the_key_is_not_signed_by_it() -> None:
    note = Note(TEXT).with_signature(key_of("PeterNeumann", bytes(32)))

    assert not note.is_signed_by(VerifierKey.parse(PUBLIC))


def test_every_signature_by_the_key_must_be_valid() -> None:
    key = SignerKey.parse(PRIVATE)
    valid, invalid = key.sign(TEXT), key.sign("other\n")

    assert not Note(TEXT, (valid, invalid)).is_signed_by(key.verifier())
    assert not Note(TEXT, (invalid, valid)).is_signed_by(key.verifier())


@given(st.integers(0, 8 * 64 - 1))
def test_a_signature_with_one_changed_bit_is_invalid(bit: int) -> None:
    value = bytearray(SignerKey.parse(PRIVATE).sign(TEXT).value)
    value[bit // 8] ^= 1 << bit % 8

    assert not VerifierKey.parse(PUBLIC).verifies(bytes(value), TEXT)


@pytest.mark.parametrize("length", [0, 63, 65])
def test_a_signature_of_the_wrong_length_is_invalid(length: int) -> None:
    assert not VerifierKey.parse(PUBLIC).verifies(bytes(length), TEXT)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        TEXT.encode(),
        f"{TEXT}\n".encode(),
        f"{TEXT}{LINE}".encode(),
        f"{TEXT}\n{LINE}".removesuffix("\n").encode(),
        f"{TEXT}\n{LINE}\n".encode(),
        f"{TEXT}\n{LINE}more\n".encode(),
        NOTE.replace("\N{EM DASH}".encode(), b"-"),
        NOTE.replace(b"PeterNeumann ", b"Peter+Neumann "),
        NOTE.replace(b"PeterNeumann ", "Peter\N{NO-BREAK SPACE}Neumann ".encode()),
        NOTE.replace(b" PeterNeumann ", b"  "),
        NOTE.replace(b"nAM=", b"nAM"),
        NOTE.replace(b"nAM=", b"nAN="),
        NOTE.replace(b"x08go/", b"x08go_"),
        f"{TEXT}\n\N{EM DASH} PeterNeumann x08gow==\n".encode(),
        NOTE.replace(b"\n", b"\r\n"),
        b"\xff" + NOTE,
    ],
)
def test_a_malformed_note_is_rejected(data: bytes) -> None:
    with pytest.raises(MalformedNoteError):
        read_note(data)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PUBLIC.replace("c74f20a3", "c74f20a4"), "its id does not match its name and key"),
        (PUBLIC.replace("PeterNeumann", "PeterNewmann"), "its id does not match its name and key"),
        (PUBLIC.replace("c74f20a3", "C74F20A3"), "it does not have the form NAME+ID+BASE64"),
        (PUBLIC.replace("PeterNeumann", ""), "a key name cannot be empty or contain whitespace"),
        (PUBLIC.replace("PeterNeumann", "Peter Neumann"), "a key name cannot be empty or contain whitespace"),
        (PUBLIC[:-4], "it is not an Ed25519 key"),
        (PUBLIC.replace("+ARpc", "+AhpC"), "it is not an Ed25519 key"),
        (PUBLIC + "=", "it does not have the form NAME+ID+BASE64"),
        (PRIVATE, "it is a private key; pass the public key"),
        ("", "it does not have the form NAME+ID+BASE64"),
    ],
)
def test_a_malformed_public_key_is_rejected(text: str, reason: str) -> None:
    with pytest.raises(MalformedKeyError) as caught:
        VerifierKey.parse(text)

    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PUBLIC, "it is a public key; pass the private key"),
        (PRIVATE.replace("c74f20a3", "c74f20a4"), "its id does not match its name and key"),
        (PRIVATE[:-4], "it is not an Ed25519 key"),
        ("-----BEGIN PRIVATE KEY-----", "it does not have the form NAME+ID+BASE64"),
    ],
)
def test_a_malformed_private_key_is_rejected_and_not_shown(text: str, reason: str) -> None:
    with pytest.raises(MalformedKeyError) as caught:
        SignerKey.parse(text)

    assert str(caught.value).startswith(reason)
    assert text not in str(caught.value)


def test_the_repr_of_a_private_key_does_not_show_its_seed() -> None:
    assert repr(SignerKey.parse(PRIVATE)) == "SignerKey(name='PeterNeumann')"


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\tb", "a\N{NO-BREAK SPACE}b", "a\nb", "\x00", "\udcff"])
def test_a_key_name_that_a_note_cannot_contain_is_rejected(name: str) -> None:
    with pytest.raises(MalformedKeyError):
        key_of(name, bytes(32))


def test_cryptography_is_loaded_only_to_sign_or_verify() -> None:
    program = (
        "import sys\nfrom forum_runner.ledger.note import VerifierKey, read_note\n"
        f"VerifierKey.parse({PUBLIC!r}); read_note({NOTE!r})\nprint('cryptography' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"False\n"
