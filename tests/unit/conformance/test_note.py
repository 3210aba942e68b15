"""Checkpoints, signed notes and keys."""

import base64

import pytest

from fake_ledger.files import RUN
from forum_conformance.note import (
    MalformedCheckpoint,
    MalformedKey,
    PublicKey,
    checkpoint_text,
    is_signed,
    read_checkpoint,
    read_public_key,
    read_signatures,
)
from unit.conformance.signing import NEUMANN, key_of, sign

ROOT = bytes(range(32))
TEXT = checkpoint_text(RUN, 7, ROOT)
NOTE_TEXT = b"If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
SIGNED = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"


@pytest.mark.requirement("LEDGER-CHECKPOINT-002")
def test_a_known_note_is_signed_by_its_known_key() -> None:
    key = read_public_key(NEUMANN)
    signatures = read_signatures(SIGNED)

    assert key.key_id.hex() == "c74f20a3"
    assert is_signed(NOTE_TEXT, signatures, key)
    assert not is_signed(NOTE_TEXT + b"\n", signatures, key)


@pytest.mark.requirement("LEDGER-CHECKPOINT-001")
def test_a_checkpoint_is_an_origin_a_size_and_a_root() -> None:
    checkpoint = read_checkpoint(TEXT)

    assert (checkpoint.run, checkpoint.size, checkpoint.root, checkpoint.signatures) == (RUN, 7, ROOT, ())


@pytest.mark.requirement("LEDGER-CHECKPOINT-001")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        TEXT[:-1],
        TEXT + b"\n",
        TEXT + b"extension\n",
        TEXT.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + TEXT,
        TEXT + b"\xff",
        TEXT.replace(b"forum/", b"log/"),
        TEXT.replace(RUN.encode(), b"latest"),
        TEXT.replace(b"\n7\n", b"\n07\n"),
        TEXT.replace(b"\n7\n", b"\n-7\n"),
        TEXT.replace(b"\n7\n", b"\n 7\n"),
        TEXT.replace(b"\n7\n", "\n\u0667\n".encode()),
        TEXT.replace(b"=\n", b"\n"),
        TEXT.replace(b"8=\n", b"9=\n"),
        TEXT.replace(base64.b64encode(ROOT), base64.b64encode(ROOT[1:])),
        TEXT + b"\n" + SIGNED.encode()[:-1],
        TEXT + b"\n" + SIGNED.encode() + b"\n",
        TEXT + b"\n\n" + SIGNED.encode(),
        TEXT + SIGNED.encode(),
        TEXT + b"\n" + SIGNED.replace("—", "-").encode(),
        TEXT + b"\n" + SIGNED.replace("Peter", "Peter ").encode(),
        TEXT + b"\n" + SIGNED.replace("Peter", "Peter+").encode(),
        TEXT + b"\n" + SIGNED.replace("Peter", "Peter\x01").encode(),
        TEXT + b"\n" + SIGNED.replace("Peter", "Peter\u00a0").encode(),
        TEXT + b"\n" + SIGNED.replace("=", "").encode(),
        TEXT + "\n— name AAAA\n".encode(),
        TEXT + b"\n" + SIGNED.encode() * 10_000,
    ],
)
def test_a_malformed_checkpoint_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedCheckpoint):
        read_checkpoint(data)


def test_the_number_of_entries_is_a_safe_integer() -> None:
    assert read_checkpoint(TEXT.replace(b"\n7\n", b"\n%d\n" % (2**53 - 1))).size == 2**53 - 1
    for size in (b"%d" % 2**53, b"7" * 5_000):
        with pytest.raises(MalformedCheckpoint):
            read_checkpoint(TEXT.replace(b"\n7\n", b"\n" + size + b"\n"))


@pytest.mark.requirement("LEDGER-CHECKPOINT-002")
def test_a_signature_is_found_among_signatures_of_other_keys() -> None:
    private, key = key_of(bytes(32))
    _, other = key_of(bytes(31) + b"\1")
    note = read_checkpoint(TEXT + b"\n" + SIGNED.encode() + sign(TEXT, private, key))

    assert note.is_signed_by(key)
    assert not note.is_signed_by(other)
    assert not note.is_signed_by(PublicKey("another.name", key.data))
    assert not read_checkpoint(TEXT).is_signed_by(key)


@pytest.mark.requirement("LEDGER-CHECKPOINT-002")
def test_all_signatures_of_one_key_must_be_valid() -> None:
    private, key = key_of(bytes(32))
    right, wrong = sign(TEXT, private, key), sign(TEXT + b"x", private, key)

    assert read_checkpoint(TEXT + b"\n" + right + right).is_signed_by(key)
    assert not read_checkpoint(TEXT + b"\n" + right + wrong).is_signed_by(key)


@pytest.mark.requirement("LEDGER-CHECKPOINT-002")
def test_a_signature_of_a_different_text_is_invalid() -> None:
    private, key = key_of(bytes(32))
    other = checkpoint_text(RUN, 8, ROOT)

    assert not read_checkpoint(other + b"\n" + sign(TEXT, private, key)).is_signed_by(key)


@pytest.mark.requirement("LEDGER-CHECKPOINT-002")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "PeterNeumann",
        "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz",
        NEUMANN.replace("c74f20a3", "c74f20a4"),
        NEUMANN.replace("PeterNeumann", "Peter Neumann"),
        NEUMANN.replace("+ARpc", "+BRpc"),
        NEUMANN.replace("c74f20a3", "C74F20A3"),
        NEUMANN.replace("PeterNeumann", "Peter\x01Neumann"),
        NEUMANN[:-4],
        NEUMANN + "\n" + NEUMANN,
    ],
)
def test_an_invalid_public_key_is_refused(text: str) -> None:
    with pytest.raises(MalformedKey):
        read_public_key(text)


@pytest.mark.requirement("LEDGER-CHECKPOINT-002")
@pytest.mark.parametrize("text", [f"{NEUMANN}\n", f" \t{NEUMANN} \r\n\n"])
def test_whitespace_around_a_public_key_is_ignored(text: str) -> None:
    assert read_public_key(text) == read_public_key(NEUMANN)
