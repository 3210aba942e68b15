"""What a call of a unit is given, from the plan and from what was handed over."""

from __future__ import annotations

from collections.abc import Iterator

from forum_adapters.base import Prompt
from forum_runner.execute.machine.core import MachineCore
from forum_runner.execute.machine.prompt_renderer import Renderer, Work, for_program, holds_secret, texts_of
from forum_runner.execute.machine.tuples import made
from forum_runner.execute.machine.unit import Unit
from forum_runner.ledger.recorded_body import RedactedBodyError, StoredBytes, check_not_redacted


def render(core: MachineCore, renderer: Renderer, unit: Unit) -> Prompt:
    """What the next attempt of the unit is given."""
    adapter = unit.ladder[unit.step].adapter
    work = work_of(core, unit)
    if not core.plan.terms[adapter].is_program:
        return renderer.instruct(work)
    settings = core.plan.adapters[adapter]
    stdin = settings.get("stdin", "text")
    if "run" in unit.task.form:
        return renderer.command(work, stdin)
    return renderer.instruct_program(work, settings["argv"], stdin)


def edited_for(unit: Unit) -> str | None:
    """The instruction that a person put in the place of the plan's."""
    return None if unit.gate is None or unit.gate.edited is None else unit.gate.edited.data.decode()


def missing_for_call(unit: Unit) -> str | None:
    """In words: what the next call of the unit is made of, and was redacted since it was recorded."""
    for what, body in _recorded_for_call(unit):
        try:
            check_not_redacted(body)
        except RedactedBodyError as error:
            return f"{what} cannot be made: {error}"
    return None


def _recorded_for_call(unit: Unit) -> Iterator[tuple[str, StoredBytes]]:
    """A check is made of the output and of what a command refers to, an attempt of all that was handed over."""
    given = unit.given
    if unit.output is not None and unit.ending is not None and unit.ending.status == "ok" and not unit.has_failed_check:
        yield "what is to be checked", unit.output.body
        command = unit.task.accept[unit.checks_passed].get("command", ())
        needed = {part["need"] for text in command for part in text if isinstance(part, dict) and "need" in part}
        given = {name: item for name, item in given.items() if name in needed}
    elif unit.gate is not None and unit.gate.edited is not None:
        yield "what takes the place of the instruction", unit.gate.edited
    for name, item in given.items():
        yield f"what is to come as '{name}'", item.body


def work_of(core: MachineCore, unit: Unit) -> Work:
    form, agent = unit.task.form, unit.agent
    edited = None if unit.gate is None else edited_for(unit)
    instruction = form.get("instruction", ()) if edited is None else (edited,)
    persona = "" if agent is None else core.plan.agents[agent].get("persona", "")
    schema = core.schemas.schema(form["output"]) if "output" in form else None
    argv, done_when = form.get("run", ()), form.get("done_when", ())
    return made(Work, (
        core.context.run, unit.name, unit.attempts + 1, persona, instruction, argv, done_when, unit.given, schema,
        unit.last_feedback,
    ))  # fmt: skip


def without_secrets(core: MachineCore, unit: Unit, prompt: Prompt) -> Prompt:
    """The prompt as it is recorded: where the plan puts a secret, its name stands."""
    return render(core, core.recording, unit) if holds_secret(texts_of(unit.task.form)) else prompt


def render_check(core: MachineCore, renderer: Renderer, unit: Unit) -> Prompt:
    """What the next check of the unit is given."""
    check = unit.task.accept[unit.checks_passed]
    if unit.output is None:
        raise ValueError(f"'{unit.name}' has nothing to check")
    if "command" in check:
        return renderer.check(check["command"], unit.given, unit.output.body)
    judge = check["agent"]
    prompt = renderer.judge(work_of(core, unit), core.plan.agents[judge].get("persona", ""), unit.output.body)
    settings = core.plan.adapters[core.plan.judge_step(judge).adapter]
    return for_program(prompt, settings.get("argv", ())) if settings["type"] == "command" else prompt


def check_without_secrets(core: MachineCore, unit: Unit, prompt: Prompt) -> Prompt:
    if not core.context.secrets:
        return prompt
    check, form = unit.task.accept[unit.checks_passed], unit.task.form
    texts = check.get("command") or [form.get("instruction", ()), *form.get("done_when", ())]
    return render_check(core, core.recording, unit) if holds_secret(texts) else prompt
