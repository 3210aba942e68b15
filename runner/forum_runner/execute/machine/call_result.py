"""Records the ends of calls, and decides what their units do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from forum_adapters.base import ErrorKind, Failure, Reply
from forum_runner.canonical import canonical
from forum_runner.execute.machine import task_end
from forum_runner.execute.machine.backoff import backoff_ms
from forum_runner.execute.machine.core import MachineCore
from forum_runner.execute.machine.program_call import command_verdict
from forum_runner.execute.machine.reply_parser import ReplyFailure, parse, read_structured, read_text
from forum_runner.execute.machine.task_output import Output
from forum_runner.execute.machine.unit import Call, Unit
from forum_runner.execute.machine.usage_charge import usage_of
from forum_runner.ledger.body import JSON, TEXT, Body
from forum_runner.ledger.recorded_body import AnyBody, RedactedBodyError, check_not_redacted
from forum_runner.manifest.pointer import look_up
from forum_runner.wave_plan.wave_plan_reader import WavePlan

# After these errors, another tier may succeed.
_ESCALATED_ERRORS = frozenset({ErrorKind.MALFORMED, ErrorKind.SCHEMA_MISMATCH, ErrorKind.CONTEXT_LENGTH})
# How often one process repeats a call that was cancelled or whose outcome is unknown.
_MAX_LOSSES = 3
# The resources whose usage may exceed the reservation.
_EXCEEDABLE_RESOURCES = ("input_tokens", "output_tokens", "micro_usd", "output_bytes")


def take_reply(core: MachineCore, call_id: str, reply: Reply) -> None:
    """Records the end of a call, and lets its unit proceed. A second reply to the same call is ignored."""
    unit = core.state.open_calls.get(call_id)
    if unit is None or unit.call is None:
        return
    call = unit.call
    if call.check is None:
        _finish(core, unit, call, reply)
    else:
        _give_verdict(core, unit, call, reply)
    failure, shortage = reply.failure, None
    if failure is not None:
        unit.losses += failure.kind is ErrorKind.CANCELLED and not core.is_pausing
        # The budget that cut the call short, if it was not a limit of the adapter.
        shortages = {ErrorKind.TIMEOUT: call.time_shortage, ErrorKind.OUTPUT_LIMIT: call.output_shortage}
        shortage = shortages.get(failure.kind)
    _wake_units_waiting_for_budget(core)
    if shortage is not None:
        task_end.stop(core, unit, shortage)
    elif not core.is_pausing:
        proceed(core, unit)


def _wake_units_waiting_for_budget(core: MachineCore) -> None:
    """Wakes the units that wait for a budget: a call has released its share."""
    if core.waiting_for_budget:
        waiting, core.waiting_for_budget = core.waiting_for_budget, []
        for unit in waiting:
            core.enqueue(unit)


def _finish(core: MachineCore, unit: Unit, call: Call, reply: Reply) -> None:
    content, exit_status, executable, stderr = reply.content, reply.exit_status, reply.executable, reply.stderr
    usage, is_measured = usage_of(core.state, call, reply)
    data: dict[str, Any] = {
        "task": unit.name, "attempt": call.attempt, "status": "ok", "usage": usage, "measured": is_measured,
    }  # fmt: skip
    bodies: dict[str, AnyBody] = {}
    is_sensitive = unit.is_sensitive
    output: Body | Failure = reply.failure or _read(core, unit, content, is_sensitive=is_sensitive)
    if isinstance(output, Failure):
        is_cancelled = output.kind is ErrorKind.CANCELLED
        data |= {"status": "cancelled"} if is_cancelled else {"status": "error", "error": str(output.kind)}
        reply = structs.replace(reply, failure=output)
    else:
        bodies["output"] = output
    if content and (isinstance(output, Failure) or output.data != content):
        bodies["reply"] = Body(content, is_sensitive=is_sensitive)
    if stderr:
        bodies["stderr"] = Body(stderr, is_sensitive=is_sensitive)
    detail = _detail(reply)
    if detail:
        bodies["detail"] = Body(canonical(detail), JSON, is_sensitive)
    if exit_status is not None:
        data["exit_status"] = exit_status
    if executable is not None:
        data["executable"] = executable.digest
    seq = core.record("task.finished", data, bodies, [call.seq], _actor(call))
    _record_excess(core, unit, call, usage, seq)


def _detail(reply: Reply) -> dict[str, Any]:
    """Facts of the reply that have no field in the entry."""
    failure, executable, model, finish = reply.failure, reply.executable, reply.model, reply.finish
    if failure is None and executable is None and not model and not finish:
        return {}
    detail: dict[str, Any] = {"model": model, "finish": finish}
    if failure is not None:
        detail |= {"message": failure.message, "retry_after_ms": failure.retry_after_ms}
    if isinstance(failure, ReplyFailure):
        detail["code"] = failure.code
    if executable is not None:
        detail["path"] = executable.path
    # A body cannot contain lone surrogates.
    return {
        name: value.encode(errors="replace").decode() if isinstance(value, str) else value
        for name, value in detail.items()
        if value not in ("", None)
    }


def _actor(call: Call) -> str:
    return "runner" if call.agent is None else f"agent:{call.agent}"


def _record_excess(core: MachineCore, unit: Unit, call: Call, usage: Mapping[str, int], closed_seq: int) -> None:
    reserved = call.reserved
    for resource in _EXCEEDABLE_RESOURCES:
        if usage[resource] > reserved[resource]:
            data = {"task": unit.name, "attempt": call.attempt, "amount": resource}
            data |= {"reserved": reserved[resource], "used": usage[resource]}
            core.record("budget.exceeded", data, causes=[closed_seq])


def _read(core: MachineCore, unit: Unit, content: bytes, *, is_sensitive: bool) -> Body | Failure:
    """The output in the answer; a failure if the answer is invalid, or lacks a part that the plan's outputs select."""
    schema = unit.task.output
    if schema is None:
        output = read_text(content, is_sensitive=is_sensitive)
    else:
        output = read_structured(content, core.schemas, schema, is_sensitive=is_sensitive)
    if unit.task.id not in core.plan.output_pointers or isinstance(output, Failure):
        return output
    missing = missing_for_outputs(core.plan, unit.task.id, Output(output))
    if missing is not None:
        message = f"the answer has no value at '{missing}', which an output of the plan selects"
        return ReplyFailure(ErrorKind.SCHEMA_MISMATCH, message, code="missing_output")
    return output


def missing_for_outputs(plan: WavePlan, task: str, output: Output) -> str | None:
    """A pointer that the plan's outputs select and that has no value in this output; None if there is none."""
    for pointer in plan.output_pointers.get(task, ()):
        if pointer:
            try:
                look_up(output.value, pointer)
            except KeyError:
                return pointer
    return None


def _give_verdict(core: MachineCore, unit: Unit, call: Call, reply: Reply) -> None:
    usage, _ = usage_of(core.state, call, reply)
    by = "command" if call.agent is None else "agent"
    data: dict[str, Any] = {"task": unit.name, "attempt": call.attempt, "check": call.check, "by": by, "usage": usage}
    judged = command_verdict(reply) if by == "command" else _agent_verdict(reply)
    verdict, reason = ("none", judged.message) if isinstance(judged, Failure) else judged
    data["verdict"] = verdict
    if isinstance(judged, Failure):
        data["error"] = str(judged.kind)
    detail: dict[str, Any] = {"code": judged.code} if isinstance(judged, ReplyFailure) else {}
    if reply.failure is not None and reply.failure.retry_after_ms is not None:
        detail["retry_after_ms"] = reply.failure.retry_after_ms
    bodies: dict[str, AnyBody] = {}
    if reply.content:
        bodies["reply"] = Body(reply.content, is_sensitive=unit.is_sensitive)
    if detail:
        bodies["detail"] = Body(canonical(detail), JSON, unit.is_sensitive)
    if reason:
        bodies["reason"] = Body(reason.encode(errors="replace"), TEXT, unit.is_sensitive)
    seq = core.record("verdict.given", data, bodies, [call.seq], _actor(call))
    _record_excess(core, unit, call, usage, seq)
    unit.check_error = judged if isinstance(judged, Failure) else None


def _agent_verdict(reply: Reply) -> tuple[str, str] | Failure:
    if reply.failure is not None:
        return reply.failure
    parsed = parse(reply.content)
    if isinstance(parsed, Failure):
        return parsed
    answer = parsed[0]
    if isinstance(answer, dict) and answer.get("verdict") in ("pass", "fail") and isinstance(answer.get("reason"), str):
        return answer["verdict"], answer["reason"]
    message = "the answer must have `verdict` (`pass` or `fail`) and `reason` (a string)"
    return ReplyFailure(ErrorKind.SCHEMA_MISMATCH, message, code="no_verdict")


def lose_call(core: MachineCore, unit: Unit) -> None:
    """Records that the outcome of the unit's open call is unknown, and lets the unit proceed.

    A unit whose call an earlier process made proceeds later, when its task is resumed.
    """
    call = unit.call
    if call is None:
        return
    data = {"task": unit.name, "attempt": call.attempt}
    if call.check is None:
        core.record("task.lost", data, causes=[call.seq])
    else:
        core.record("verdict.lost", {**data, "check": call.check}, causes=[call.seq])
    _wake_units_waiting_for_budget(core)
    if not call.is_orphan:
        unit.losses += 1
        if not core.is_pausing:
            proceed(core, unit)


def proceed(core: MachineCore, unit: Unit) -> None:
    """Decides what the unit does after its last call.

    The decision depends only on the state, so a resumed run continues here.
    """
    last, tries = unit.ending, unit.attempts_at_step
    if unit.is_reused or (last is not None and last.status == "ok"):
        _proceed_after_answer(core, unit)
    elif last is None:
        _retry(core, unit)
    elif last.status == "cancelled":
        _retry_unless_lost_too_often(core, unit)
    elif last.status == "lost":
        # If the run is out of time, the call was cut short like a timeout, even if it may not be retried.
        if core.state.is_out_of_time or unit.task.is_idempotent or core.plan.policy.on_lost == "retry":
            _retry_unless_lost_too_often(core, unit)
        else:
            task_end.fail(core, unit, "error")
    elif last.error is not None and not _retry_after_error(core, unit, tries, last.error, last.retry_after_ms):
        escalate_or_fail(core, unit, "error", may_escalate=last.error in _ESCALATED_ERRORS)


def _retry(core: MachineCore, unit: Unit, wait_ms: int = 0) -> None:
    if core.state.is_out_of_time:
        task_end.end(core, unit, "stopped", "budget")
    elif not can_read_bodies(core, unit):
        return
    elif wait_ms:
        core.wait(unit, core.state.now_us + wait_ms * 1_000)
    else:
        core.begun_queue.append(unit)


def can_read_bodies(core: MachineCore, unit: Unit) -> bool:
    """Whether every body that the next call needs is readable. If one was redacted, ends the unit."""
    for description, body in unit.bodies_for_call():
        try:
            check_not_redacted(body)
        except RedactedBodyError as error:
            task_end.fail(core, unit, "expects", f"{description} is unavailable: {error}")
            return False
    return True


def _retry_unless_lost_too_often(core: MachineCore, unit: Unit) -> None:
    if core.state.is_out_of_time or unit.losses <= _MAX_LOSSES:
        _retry(core, unit)
    else:
        task_end.fail(core, unit, "error")


def _proceed_after_answer(core: MachineCore, unit: Unit) -> None:
    while not unit.is_reused and not unit.has_failed_check and unit.checks_passed < len(unit.task.checks):
        schema = unit.task.checks[unit.checks_passed].schema
        if schema is None:
            _repeat_or_make_check(core, unit)
            return
        if not can_read_bodies(core, unit):
            return
        _check_by_schema(core, unit, schema)
    if unit.has_failed_check:
        _proceed_after_failed_check(core, unit)
    else:
        task_end.end(core, unit, "passed", None)


def _proceed_after_failed_check(core: MachineCore, unit: Unit) -> None:
    """Escalates or, at the last tier, retries or fails: another tier is more likely to succeed."""
    is_last = unit.step + 1 >= len(unit.ladder)
    if is_last and unit.attempts_at_step < unit.task.retry.attempts:
        _retry(core, unit)
    else:
        escalate_or_fail(core, unit, "verdict")


def _repeat_or_make_check(core: MachineCore, unit: Unit) -> None:
    """Makes the next check, or repeats one that gave no verdict, as often as the retry rule allows."""
    failure, unit.check_error = unit.check_error, None
    if failure is None or failure.kind is ErrorKind.CANCELLED:
        _retry_unless_lost_too_often(core, unit)
    elif not _retry_after_error(core, unit, unit.check_tries, failure.kind, failure.retry_after_ms):
        task_end.fail(core, unit, "error")


def _check_by_schema(core: MachineCore, unit: Unit, digest: str) -> None:
    if unit.output is None:
        raise ValueError(f"'{unit.name}' has no output to check")
    mismatch = core.schemas.mismatch(digest, unit.output.value)
    data = {"task": unit.name, "attempt": unit.attempts, "check": unit.checks_passed, "by": "schema"}
    causes = unit.causes_after_attempt
    if mismatch is None:
        core.record("verdict.given", {**data, "verdict": "pass"}, causes=causes)
    else:
        reason = Body(mismatch.encode(errors="replace"), TEXT, unit.is_sensitive)
        core.record("verdict.given", {**data, "verdict": "fail"}, {"reason": reason}, causes)


def _retry_after_error(core: MachineCore, unit: Unit, tries: int, error: ErrorKind, retry_after_ms: int | None) -> bool:
    """Retries a call: at once after a bad answer, and after a wait otherwise. Returns False if no retry is allowed."""
    # A call that was cut short because the run is out of time has not failed: a resumed run repeats it.
    is_cut_short = core.state.is_out_of_time and error is ErrorKind.TIMEOUT
    if not is_cut_short and (not error.may_be_retried or tries >= unit.task.retry.attempts):
        return False
    wait_ms = 0
    if not error.is_answer:
        wait_ms = max(backoff_ms(unit.task.retry, tries, core.context.run, unit.name), retry_after_ms or 0)
    _retry(core, unit, wait_ms)
    return True


def escalate_or_fail(core: MachineCore, unit: Unit, reason: str, *, may_escalate: bool = True) -> None:
    """Lets the next tier of the ladder try; without one, the unit fails with this reason."""
    if may_escalate and unit.step + 1 < len(unit.ladder):
        tiers = {"from": unit.ladder[unit.step].tier, "to": unit.ladder[unit.step + 1].tier}
        core.record("escalation.raised", {"task": unit.name, **tiers}, causes=unit.causes_after_attempt)
        _retry(core, unit)
    else:
        task_end.fail(core, unit, reason)
