"""Random worlds decide how and when each call is answered. The same seed gives the same answers."""

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

import jsonschema_rs
from hypothesis import strategies as st

from forum_adapters.base import Attempt, ErrorKind, Executable, Failure, Reply, Usage
from forum_runner.canonical import canonical
from forum_runner.execute.machine import VERDICT_SCHEMA, Lost, Replied, Reusable, Unit
from forum_runner.ledger.body import JSON, TEXT, Body
from unit.runner.execute.random_plans import SECRET, Draw

OTHER_RUN = "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f"
VALUES: tuple[Any, ...] = (
    {"a": 1, "items": [1, 2]},
    {"a": 2, "items": []},
    {"a": 3, "items": ["é", {"a": 1}, None]},
    {"a": [], "items": [1, 2, 3, 4, 5, 6]},
    [],
    [1],
    [{"a": 1}, {"a": 2, "items": [3]}],
    7,
    "text",
    None,
)
GARBAGE = (b"\xff\xfe", b"{", b'{"a": 1, "a": 2}', b'{"a": 1e999}', b'["\\ud800"]', b"", b"```json\n[1]\n```")
DueReport = tuple[int, Replied | Lost]


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often each event happens, in percent; `seed` decides when."""

    seed: int = 0
    errors: int = 0
    invalid_outputs: int = 0
    verdicts: int = 0
    losses: int = 0
    duplicates: int = 0
    unmeasured: int = 0
    overruns: int = 0
    delays: int = 0
    reuses: int = 0
    interrupts: int = 0
    decisions: int = 0
    crashes: int = 0


@st.composite
def fault_rates(draw: st.DrawFn) -> FaultRates:
    return draw_fault_rates(Draw(lambda low, high: draw(st.integers(low, high))))


def draw_fault_rates(d: Draw) -> FaultRates:
    return FaultRates(
        seed=d.integer(0, 2**32),
        errors=d.pick((0, 0, 0, 5, 30)),
        invalid_outputs=d.pick((0, 0, 5, 20)),
        verdicts=d.pick((0, 10, 40)),
        losses=d.pick((0, 0, 3, 20)),
        duplicates=d.pick((0, 20)),
        unmeasured=d.pick((0, 50, 100)),
        overruns=d.pick((0, 0, 0, 20)),
        delays=d.pick((0, 50, 100)),
        reuses=d.pick((0, 50)),
        interrupts=d.pick((0, 0, 1, 5)),
        decisions=d.pick((0, 10, 50)),
        crashes=d.pick((0, 0, 1, 5)),
    )


class World:
    """Answers calls as an adapter or an engine would, with random faults."""

    def __init__(self, faults: FaultRates) -> None:
        self.faults = faults
        self._call_counts: Counter[tuple[str, int, int | None]] = Counter()

    def draw(self, *key: Any) -> Random:
        """Return the random numbers for this key."""
        return Random(f"{self.faults.seed}/{key}")  # noqa: S311 - reproducible on purpose

    def answers(self, attempt: Attempt) -> list[DueReport]:
        """Return the reports on a call, at least one, each with its delay in milliseconds."""
        key = (attempt.task, attempt.number, attempt.check)
        self._call_counts[key] += 1
        r = self.draw(*key, self._call_counts[key])
        delay_ms = r.randrange(4_000) if is_due(r, self.faults.delays) else 0
        if is_due(r, self.faults.losses):
            return [(delay_ms, Lost(attempt.id))]
        reports: list[DueReport] = [self._answer(r, attempt, delay_ms)]
        if is_due(r, self.faults.duplicates):
            duplicate = self._answer(r, attempt, delay_ms + r.randrange(100))
            reports.append(r.choice((duplicate, (duplicate[0], Lost(attempt.id)))))
        return reports

    def predict(self, attempt: Attempt) -> tuple[Reply, int]:
        """Answer like an adapter that knows its answers: no call is lost."""
        prompt = attempt.prompt
        r = self.draw(attempt.task, attempt.number, attempt.check, prompt.text, prompt.argv, prompt.stdin)
        return self._reply(r, attempt), r.randrange(4_000) if is_due(r, self.faults.delays) else 0

    def reports_on_cancel(self, call: str) -> list[DueReport]:
        """Return the additional reports on a call that is being cancelled."""
        r = self.draw("cancel", call)
        cancelled = Reply(failure=Failure(ErrorKind.CANCELLED, "the call was cancelled"))
        options: tuple[list[DueReport], ...] = ([], [(r.randrange(50), Replied(call, cancelled))], [(0, Lost(call))])
        return r.choice(options)

    def find_reusable(self, unit: Unit, fingerprint: str) -> Reusable | None:
        r = self.draw("reuse", unit.name, fingerprint)
        if not unit.task.uses_cache or not is_due(r, self.faults.reuses):
            return None
        is_json = unit.task.output is not None
        output = Body(canonical(r.choice(VALUES)), JSON) if is_json else Body(b"earlier", TEXT)
        return Reusable("cache", OTHER_RUN, r.randrange(100), output)

    def _answer(self, r: Random, attempt: Attempt, delay_ms: int) -> DueReport:
        timeout_ms = attempt.limits.timeout_ms
        if delay_ms > timeout_ms:
            return timeout_ms, Replied(attempt.id, Reply(failure=Failure(ErrorKind.TIMEOUT, "too long")))
        return delay_ms, Replied(attempt.id, self._reply(r, attempt))

    def _reply(self, r: Random, attempt: Attempt) -> Reply:
        is_measured = not attempt.prompt.argv and not is_due(r, self.faults.unmeasured)
        usage = self._usage(r, attempt) if is_measured else None
        if is_due(r, self.faults.errors):
            return _failure(r, usage)
        if attempt.check is not None:
            return self._verdict(r, attempt, usage)
        content = self._content(r, attempt)
        if attempt.prompt.argv:
            program = Executable("/bin/true", "0" * 64)
            return Reply(content + b"\n", usage=usage, exit_status=0, executable=program, stderr=r.choice((b"", b"!")))
        return Reply(content, usage=usage, model="m", finish="stop")

    def _usage(self, r: Random, attempt: Attempt) -> Usage:
        sent, generated = r.randrange(300), r.randrange(max(attempt.limits.max_tokens, 1))
        if is_due(r, self.faults.overruns):
            sent, generated = sent + r.randrange(3_000), attempt.limits.max_tokens + r.randrange(500)
        return Usage(sent, r.randrange(sent + 1), generated)

    def _verdict(self, r: Random, attempt: Attempt, usage: Usage | None) -> Reply:
        is_bad = is_due(r, self.faults.verdicts)
        if attempt.prompt.argv and attempt.agent is None:
            failure = Failure(ErrorKind.EXIT_STATUS, "status 1") if is_bad else None
            return Reply(b"said\n", failure, exit_status=int(is_bad))
        if is_due(r, self.faults.invalid_outputs):
            return Reply(r.choice(GARBAGE), usage=usage)
        return Reply(canonical({"verdict": "fail" if is_bad else "pass", "reason": f"g{r.random()}"}), usage=usage)

    def _content(self, r: Random, attempt: Attempt) -> bytes:
        schema = attempt.prompt.output_schema
        if is_due(r, self.faults.invalid_outputs):
            return r.choice(GARBAGE)
        if schema is None:
            return f"text of {attempt.task} {r.choice((SECRET, 'é', ''))}".encode()
        matching = [value for value in VALUES if _matches(schema, value)]
        return canonical(r.choice(matching))


def is_due(r: Random, percent: int) -> bool:
    return r.randrange(100) < percent


def _matches(schema: Any, value: Any) -> bool:
    assert schema is not VERDICT_SCHEMA
    return jsonschema_rs.is_valid(schema, value)


def _failure(r: Random, usage: Usage | None) -> Reply:
    kind = r.choice(tuple(ErrorKind))
    retry_after_ms = r.choice((None, None, 0, 1_500))
    content = r.choice((b"", b"the part that arrived", b"\xff"))
    failure = Failure(kind, r.choice(("", f"it went wrong, with {SECRET}")), retry_after_ms)
    return Reply(content, failure, usage, exit_status=r.choice((None, 1, -9)))
