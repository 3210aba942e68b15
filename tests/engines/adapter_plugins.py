"""Register the adapters of this package as an installed package would, also for worker processes."""

from pathlib import Path

import pytest

ENTRY_POINTS = """[forum.adapters]
x-journal = engines.journal_adapter:JournalAdapter
x-faulty = engines.faulty_adapter:FaultyAdapter
"""


def install_adapters(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = folder / "faulty_adapters-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: test-adapters\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(folder)
