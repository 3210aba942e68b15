"""Reading single bodies from an archive, even if several members have the same name."""

from io import BytesIO
from pathlib import Path

import pytest

from fake_ledger.files import Body, member_bytes
from forum_runner.ledger import verify
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.read_entry import body_reference
from forum_runner.ledger.source import ledger_at
from ledgers import LEDGERS

PLAIN = Body(b"right")
SALTED = Body(b"right", salt=bytes(range(32)))
NAMES = {PLAIN: f"sha256/{PLAIN.digest}", SALTED: f"salted/{SALTED.digest}"}


def read(body: Body, *contents: bytes) -> bytes | None:
    """Read a body from an archive with these members of its name, each followed by an unrelated member."""
    other = Body(b"other")
    unrelated = member_bytes(*other.member)
    archive = b"".join(member_bytes(NAMES[body], content) + unrelated for content in contents)
    return BodyReader(BytesIO(archive)).read(body_reference(body.reference))


@pytest.mark.requirement("LEDGER-VERIFY-001")
@pytest.mark.parametrize("body", [PLAIN, SALTED], ids=["plain", "salted"])
def test_one_intact_member_of_several_is_enough(body: Body) -> None:
    intact, corrupt, short = body.member[1], bytes(len(body.member[1])), b"r"

    assert read(body, intact) == read(body, intact, corrupt) == b"right"
    assert read(body, corrupt, intact) == read(body, short, corrupt, intact, short) == b"right"
    assert read(body) is read(body, corrupt) is read(body, corrupt, short) is None


def test_the_reader_keeps_one_offset_per_member_of_a_valid_archive(tmp_path: Path) -> None:
    run = LEDGERS["two_waves"](tmp_path / "run")
    with (run / "bodies.tar").open("rb") as stream:
        reader = BodyReader(stream)

        assert reader.read(body_reference({"digest": "0" * 64, "bytes": 1})) is None
        assert (len(reader._locations) > 1, reader._duplicates) == (True, {})


@pytest.mark.requirement("LEDGER-VERIFY-001")
def test_a_corrupt_wave_plan_member_before_the_intact_one_does_not_prevent_level_4(tmp_path: Path) -> None:
    run = LEDGERS["two_waves"](tmp_path / "run")
    archive = (run / "bodies.tar").read_bytes()
    plan = (run / "wave-plan.json").read_bytes()
    (run / "bodies.tar").write_bytes(member_bytes(f"sha256/{Body(plan).digest}", bytes(len(plan))) + archive)

    report = verify(ledger_at(run))

    assert report.codes == ("L303",)
    assert [level.status for level in report.levels] == ["ok", "ok", "fail", "ok", "ok"]
