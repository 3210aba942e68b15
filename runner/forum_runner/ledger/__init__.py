"""The ledger: an append-only, hash-chained record of a run, with its writer and verifier.

    from pathlib import Path
    from forum_runner.ledger import Body, Verdict, create_ledger, ledger_at, verify

    with create_ledger(Path("run")) as ledger:
        ledger.append("x-note", {"count": 3}, bodies={"text": Body.text("three")})
        ledger.seal("passed")
    assert verify(ledger_at(Path("run"))).verdict is Verdict.VALID

Each name is imported on first use, so that a command loads only the modules that it needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forum_runner.ledger.begin import create_ledger as create_ledger
    from forum_runner.ledger.begin import open_ledger as open_ledger
    from forum_runner.ledger.body import Body as Body
    from forum_runner.ledger.entry import EntryError as EntryError
    from forum_runner.ledger.files import Durability as Durability
    from forum_runner.ledger.files import LedgerBusyError as LedgerBusyError
    from forum_runner.ledger.group_commit import GroupCommit as GroupCommit
    from forum_runner.ledger.source import LedgerSource as LedgerSource
    from forum_runner.ledger.source import ledger_at as ledger_at
    from forum_runner.ledger.verification.report import DamagedLedgerError as DamagedLedgerError
    from forum_runner.ledger.verification.report import Verdict as Verdict
    from forum_runner.ledger.verification.report import VerifyReport as VerifyReport
    from forum_runner.ledger.verification.verifier import VerifyRequest as VerifyRequest
    from forum_runner.ledger.verification.verifier import verify as verify
    from forum_runner.ledger.writer import LedgerBrokenError as LedgerBrokenError
    from forum_runner.ledger.writer import LedgerWriter as LedgerWriter

_NAMES_BY_MODULE = {
    "begin": ("create_ledger", "open_ledger"),
    "body": ("Body",),
    "entry": ("EntryError",),
    "files": ("Durability", "LedgerBusyError"),
    "group_commit": ("GroupCommit",),
    "source": ("LedgerSource", "ledger_at"),
    "verification.report": ("DamagedLedgerError", "Verdict", "VerifyReport"),
    "verification.verifier": ("VerifyRequest", "verify"),
    "writer": ("LedgerBrokenError", "LedgerWriter"),
}
_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULE_OF)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
