"""Truncated ledgers as a killed process leaves them, and snapshots of a run state that tests can compare."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from forum_runner.execute.machine import RunState, Unit
from forum_runner.execute.machine.budgets import Account
from forum_runner.execute.machine.rates import Rates

Entry = Mapping[str, Any]
TAR_BLOCK_BYTES = 512


def copy_truncated(directory: Path, target: Path, entries: Sequence[Entry], count: int, *, is_torn: bool) -> None:
    """Copy the first `count` entries and their bodies; if torn, also later bodies and half of the next line."""
    lines = (directory / "ledger.jsonl").read_bytes().split(b"\n")
    target.mkdir()
    torn = lines[count][: len(lines[count]) // 2] if is_torn else b""
    (target / "ledger.jsonl").write_bytes(b"\n".join(lines[:count]) + b"\n" + torn)
    shutil.copy(directory / "wave-plan.json", target)
    archive = (directory / "bodies.tar").read_bytes()
    members = dict(_members(archive))
    referenced = {body["digest"] for entry in entries[:count] for body in entry["bodies"].values()}
    ends = members.values() if is_torn else [end for digest, end in members.items() if digest in referenced]
    (target / "bodies.tar").write_bytes(archive[: max(ends)])


def _members(archive: bytes) -> Iterator[tuple[str, int]]:
    """Yield each digest with the offset at which its member ends."""
    start = 0
    while start + TAR_BLOCK_BYTES <= len(archive) and archive[start]:
        header = archive[start : start + TAR_BLOCK_BYTES]
        size = int(header[124:135], 8)
        start += TAR_BLOCK_BYTES + -(-size // TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES
        yield header[:100].rstrip(b"\0").decode().partition("/")[2], start


def snapshot(state: RunState) -> dict[str, Any]:
    """Return every part of the state that can influence the next transition."""
    names = (
        "seq", "open_dependencies", "counts", "ended_tasks", "waves_opened", "left_in_wave", "reader_counts",
        "order_blockers", "recorded_outputs", "is_stopping", "is_out_of_budget", "is_out_of_time", "is_paused",
        "pause_reason", "last_ended_seq", "is_sealed", "open_gates", "active_us", "active_since_us", "last_entry_us",
    )  # fmt: skip
    fields = {name: _copy(getattr(state, name)) for name in names}
    return {
        **fields,
        "units": {name: _unit(unit) for name, unit in state.units.items()},
        "expansions": {
            name: (expansion.seq, expansion.open, expansion.items.body.data, [unit.name for unit in expansion.units])
            for name, expansion in state.expansions.items()
        },
        "open_calls": {call: unit.name for call, unit in state.open_calls.items()},
        "totals": dict(state.budgets.totals),
        "accounts": _accounts(state),
        "rates": _windows(state.rates, state.last_entry_us),
    }


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, (dict, set)) else value


def _unit(unit: Unit) -> dict[str, Any]:
    names = (
        "agent", "check_tries", "attempts_at_step", "attempts", "cause_seq", "checks_passed", "closed_seq",
        "delivered_seq", "ended_seq", "ending", "fingerprint", "has_failed_check", "index", "ladder", "name",
        "prompt_digest", "is_reused", "answered_prompts", "state", "step", "feedback",
    )  # fmt: skip
    fields = {name: getattr(unit, name) for name in names}
    gate, call = unit.gate, unit.call
    if gate is not None:
        edited = None if gate.edited is None else gate.edited.data
        fields["gate"] = (gate.seq, gate.displayed, gate.deadline_us, gate.decision, gate.by, gate.decided_seq, edited)
    if call is not None:
        fields["call"] = (call.id, call.seq, call.attempt, call.agent, call.adapter, call.reserved, call.timeout_ms,
                         call.started_us, call.check)  # fmt: skip
    fields["output"] = None if unit.output is None else (unit.output.body.data, unit.output.body.type)
    fields["delivered"] = {
        name: (value.body.data, value.body.type, value.body.is_sensitive, value.origin, value.digest, value.kept_bytes)
        for name, value in unit.delivered.items()
    }
    return fields


def _accounts(state: RunState) -> dict[str, Any]:
    budgets = state.budgets
    accounts: list[Account] = [budgets.run, *budgets._agent_accounts.values(), *budgets._task_accounts.values()]
    used = [account for account in accounts if any(account.charged + account.held)]
    return {f"{account.scope} {account.name}": (list(account.charged), list(account.held)) for account in used}


def _windows(rates: Rates, now_us: int) -> dict[str, Any]:
    windows = {}
    for name, window in rates._windows.items():
        window.forget(now_us)
        windows[name] = ([list(call) for call in window.calls], window.tokens_in_window)
    return windows
