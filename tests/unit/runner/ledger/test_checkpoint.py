"""Checkpoints: their text, malformed checkpoints, and comparison with a ledger."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_runner.ledger.checkpoint import (
    Checkpoint,
    MalformedCheckpointError,
    compare_checkpoint,
    open_checkpoint,
    read_checkpoint,
)
from forum_runner.ledger.note import SignerKey
from forum_runner.ledger.verification.report import LedgerFinding

RUN = "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f"
OTHER_RUN = "01936b2e-4d10-7a3c-9f00-000000000000"
ROOT = bytes(range(32))
TEXT = f"forum/{RUN}\n7\n{base64.b64encode(ROOT).decode()}\n"
CHECKPOINT = Checkpoint(RUN, 7, ROOT)
KEY = SignerKey("witness", bytes(32))


@pytest.mark.requirement("LEDGER-CHECKPOINT-001")
def test_a_checkpoint_is_three_lines() -> None:
    assert CHECKPOINT.note().encode() == TEXT.encode()


@pytest.mark.requirement("LEDGER-CHECKPOINT-001", "LEDGER-CHECKPOINT-002")
@given(st.integers(0, 2**53 - 1), st.binary(min_size=32, max_size=32), st.booleans())
def test_a_written_checkpoint_is_read_back_unchanged(size: int, root: bytes, is_signed: bool) -> None:
    checkpoint = Checkpoint(RUN, size, root)
    note = checkpoint.note().with_signature(KEY) if is_signed else checkpoint.note()

    assert read_checkpoint(note.encode()) == (checkpoint, note)


@pytest.mark.requirement("LEDGER-CHECKPOINT-001")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "its text is not three lines that end with LF"),
        (TEXT.removesuffix("\n"), "its text is not three lines that end with LF"),
        (f"{TEXT}more\n", "its text is not three lines that end with LF"),
        (TEXT.replace("\n7", ""), "its text is not three lines that end with LF"),
        (f"\n{TEXT}", "its text is not three lines that end with LF"),
        (f"{TEXT}\n", "it has no signatures (no blank line followed by signature lines)"),
        (TEXT.replace("\n", "\r\n"), "its first line is not 'forum/' and a run id"),
        (f"\N{ZERO WIDTH NO-BREAK SPACE}{TEXT}", "its first line is not 'forum/' and a run id"),
        (TEXT.replace("forum/", "example.org/"), "its first line is not 'forum/' and a run id"),
        (TEXT.replace("-7a3c", "-4a3c"), "its first line is not 'forum/' and a run id"),
        (TEXT.replace(RUN, RUN.upper()), "its first line is not 'forum/' and a run id"),
        (TEXT.replace("\n7\n", "\n07\n"), "its second line is not a decimal number"),
        (TEXT.replace("\n7\n", "\n-7\n"), "its second line is not a decimal number"),
        (TEXT.replace("\n7\n", "\n 7\n"), "its second line is not a decimal number"),
        (TEXT.replace("\n7\n", "\n\N{ARABIC-INDIC DIGIT SEVEN}\n"), "its second line is not a decimal number"),
        (TEXT.replace("\n7\n", f"\n{2**53}\n"), "its second line is not a decimal number"),
        (TEXT.replace("\n7\n", f"\n{'9' * 5000}\n"), "its second line is not a decimal number"),
        (TEXT.replace("=", ""), "its third line is not a root in base64"),
        (TEXT.replace("Hh8=", "Hh9="), "its third line is not a root in base64"),
        (TEXT.replace("AAEC", ""), "its third line is not a root in base64"),
        (TEXT.replace("AAEC", "AA-_"), "its third line is not a root in base64"),
    ],
)
def test_a_malformed_checkpoint_is_rejected_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(MalformedCheckpointError) as caught:
        read_checkpoint(text.encode())

    assert str(caught.value).startswith(reason)
    assert open_checkpoint(text.encode(), None) == LedgerFinding(
        "L506", None, f"the checkpoint is malformed: {caught.value}"
    )


@pytest.mark.requirement("LEDGER-CHECKPOINT-001")
@given(st.integers(0, len(TEXT) - 1), st.integers(0, 255))
def test_a_changed_byte_is_malformed_or_a_different_checkpoint(offset: int, byte: int) -> None:
    data = TEXT.encode()
    changed = data[:offset] + bytes([byte]) + data[offset + 1 :]

    opened = open_checkpoint(changed, None)

    assert (opened == CHECKPOINT) == (changed == data)


@pytest.mark.requirement("LEDGER-CHECKPOINT-002")
def test_a_signed_text_that_is_not_a_checkpoint_is_malformed() -> None:
    data = CHECKPOINT.note().with_signature(KEY).encode().replace(b"\n7\n", b"\n7\nmore\n")

    with pytest.raises(MalformedCheckpointError, match="its text is not three lines"):
        read_checkpoint(data)


@pytest.mark.requirement("LEDGER-CHECKPOINT-003")
def test_a_checkpoint_must_be_signed_by_the_given_key() -> None:
    signed = CHECKPOINT.note().with_signature(KEY).encode()
    stranger = SignerKey("stranger", bytes(32)).verifier()

    assert open_checkpoint(signed, KEY.verifier()) == CHECKPOINT
    assert open_checkpoint(signed, None) == CHECKPOINT
    unsigned = open_checkpoint(TEXT.encode(), KEY.verifier())
    assert unsigned == LedgerFinding("L510", None, "the checkpoint is not signed by the key 'witness'")
    wrong_signer = open_checkpoint(signed, stranger)
    assert wrong_signer == LedgerFinding("L510", None, "the checkpoint is not signed by the key 'stranger'")


@pytest.mark.requirement("LEDGER-CHECKPOINT-002", "LEDGER-CHECKPOINT-003")
def test_a_text_changed_after_signing_is_not_signed() -> None:
    changed = CHECKPOINT.note().with_signature(KEY).encode().replace(b"\n7\n", b"\n8\n")

    opened = open_checkpoint(changed, KEY.verifier())

    assert isinstance(opened, LedgerFinding) and opened.code == "L510"


@pytest.mark.requirement("LEDGER-CHECKPOINT-003")
@pytest.mark.parametrize(
    ("run", "size", "root", "code"),
    [
        (RUN, 7, ROOT, None),
        (RUN, 9, ROOT, None),
        (OTHER_RUN, 3, None, "L507"),
        (RUN, 6, None, "L508"),
        (RUN, 7, bytes(32), "L509"),
    ],
)
def test_comparing_a_checkpoint_returns_the_first_finding(
    run: str, size: int, root: bytes | None, code: str | None
) -> None:
    finding = compare_checkpoint(CHECKPOINT, run, size, root)

    assert (finding.code if finding else None) == code
