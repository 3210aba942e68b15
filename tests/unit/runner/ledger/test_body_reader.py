"""Single bodies of an archive that holds, or that has several members of one name."""

from io import BytesIO
from pathlib import Path

import pytest

from fake_ledger.files import Body, member_bytes
from forum_runner.ledger import verify
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.read_entry import body_reference
from forum_runner.ledger.source import ledger_at
from ledgers import LEDGERS

RIGHT = Body(b"right")
SALTED = Body(b"right", salt=bytes(range(32)))
NAMES = {RIGHT: f"sha256/{RIGHT.digest}", SALTED: f"salted/{SALTED.digest}"}


def read(body: Body, *contents: bytes) -> bytes | None:
    """What is read of a body in an archive with these members of its name, each before a member of another."""
    other = Body(b"other")
    between = member_bytes(*other.member)
    archive = b"".join(member_bytes(NAMES[body], content) + between for content in contents)
    return BodyReader(BytesIO(archive)).read(body_reference(body.reference))


@pytest.mark.requirement("LEDGER-VERIFY-001")
@pytest.mark.parametrize("body", [RIGHT, SALTED], ids=["plain", "salted"])
def test_of_several_members_one_that_is_right_is_enough(body: Body) -> None:
    right, wrong, short = body.member[1], bytes(len(body.member[1])), b"r"

    assert read(body, right) == read(body, right, wrong) == b"right"
    assert read(body, wrong, right) == read(body, short, wrong, right, short) == b"right"
    assert read(body) is read(body, wrong) is read(body, wrong, short) is None


def test_of_an_archive_that_holds_nothing_is_kept_but_one_place_for_each_member(tmp_path: Path) -> None:
    run = LEDGERS["two_waves"](tmp_path / "run")
    with (run / "bodies.tar").open("rb") as stream:
        reader = BodyReader(stream)

        assert reader.read(body_reference({"digest": "0" * 64, "bytes": 1})) is None
        assert (len(reader._places) > 1, reader._duplicates) == (True, {})


@pytest.mark.requirement("LEDGER-VERIFY-001")
def test_a_wave_plan_with_a_wrong_member_before_the_right_one_is_replayed(tmp_path: Path) -> None:
    run = LEDGERS["two_waves"](tmp_path / "run")
    archive = (run / "bodies.tar").read_bytes()
    plan = (run / "wave-plan.json").read_bytes()
    (run / "bodies.tar").write_bytes(member_bytes(f"sha256/{Body(plan).digest}", bytes(len(plan))) + archive)

    report = verify(ledger_at(run))

    assert report.codes == ("L303",)
    assert [level.status for level in report.levels] == ["ok", "ok", "fail", "ok", "ok"]
