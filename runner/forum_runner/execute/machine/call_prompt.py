"""The prompt of a unit's next call, from the plan and the delivered data."""

from __future__ import annotations

from collections.abc import Iterator

from forum_adapters.base import Prompt
from forum_runner.execute.machine.core import MachineCore
from forum_runner.execute.machine.prompt_renderer import Renderer, Work, for_program
from forum_runner.execute.machine.unit import Unit
from forum_runner.ledger.recorded_body import AnyBody, RedactedBodyError, check_not_redacted
from forum_runner.wave_plan.planned_task import Placeholder


def render(core: MachineCore, renderer: Renderer, unit: Unit) -> Prompt:
    """The prompt of the next attempt."""
    own = core.plan.adapters[unit.ladder[unit.step].adapter]
    work = work_of(core, unit)
    if not own.is_program:
        return renderer.instruct(work)
    if unit.task.run is not None:
        return renderer.command(work, own.stdin)
    return renderer.instruct_program(work, own.argv or (), own.stdin)


def edited_for(unit: Unit) -> str | None:
    """The instruction with which a person replaced the plan's."""
    return None if unit.gate is None or unit.gate.edited is None else unit.gate.edited.data.decode()


def missing_for_call(unit: Unit) -> str | None:
    """A message about a redacted body that the next call needs; None if there is none."""
    for what, body in _recorded_for_call(unit):
        try:
            check_not_redacted(body)
        except RedactedBodyError as error:
            return f"{what} is unavailable: {error}"
    return None


def _recorded_for_call(unit: Unit) -> Iterator[tuple[str, AnyBody]]:
    """A check needs the output and the data that its command refers to; an attempt needs all delivered data."""
    given = unit.given
    if unit.output is not None and unit.ending is not None and unit.ending.status == "ok" and not unit.has_failed_check:
        yield "the output to check", unit.output.body
        command = unit.task.checks[unit.checks_passed].command or ()
        needed = {part.need for text in command for part in text if isinstance(part, Placeholder)}
        given = {name: item for name, item in given.items() if name in needed}
    elif unit.gate is not None and unit.gate.edited is not None:
        yield "the edited instruction", unit.gate.edited
    for name, item in given.items():
        yield f"the value for '{name}'", item.body


def work_of(core: MachineCore, unit: Unit) -> Work:
    task, agent = unit.task, unit.agent
    edited = None if unit.gate is None else edited_for(unit)
    instruction = task.instruction or () if edited is None else (edited,)
    persona = "" if agent is None else core.plan.agents[agent].persona
    schema = None if task.output is None else core.schemas.schema(task.output)
    argv, done_when = task.run or (), task.done_when or ()
    return Work(
        core.context.run, unit.name, unit.attempts + 1, persona, instruction, argv, done_when, unit.given, schema,
        unit.last_feedback,
    )  # fmt: skip


def render_check(core: MachineCore, renderer: Renderer, unit: Unit) -> Prompt:
    """The prompt of the next check."""
    check = unit.task.checks[unit.checks_passed]
    if unit.output is None:
        raise ValueError(f"'{unit.name}' has nothing to check")
    if check.command is not None:
        return renderer.check(check.command, unit.given, unit.output.body)
    judge = core.plan.agents[check.agent or ""]
    prompt = renderer.judge(work_of(core, unit), judge.persona, unit.output.body)
    adapter = core.plan.adapters[judge.own_rung.adapter]
    return for_program(prompt, adapter.argv or ()) if adapter.is_program else prompt
