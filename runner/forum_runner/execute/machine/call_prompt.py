"""The prompt of a unit's next call: for a model or for a program."""

from __future__ import annotations

from forum_adapters.base import Prompt
from forum_runner.execute.machine.core import MachineCore
from forum_runner.execute.machine.program_call import check_prompt, on_command_line, program_prompt
from forum_runner.execute.machine.prompt_renderer import Renderer
from forum_runner.execute.machine.unit import Unit


def render_attempt(core: MachineCore, renderer: Renderer, unit: Unit) -> Prompt:
    adapter = core.plan.adapters[unit.ladder[unit.step].adapter]
    return program_prompt(renderer, unit, adapter) if adapter.is_program else renderer.attempt(unit)


def render_check(core: MachineCore, renderer: Renderer, unit: Unit) -> Prompt:
    check = unit.task.checks[unit.checks_passed]
    if unit.output is None:
        raise ValueError(f"'{unit.name}' has no output to check")
    if check.command is not None:
        return check_prompt(renderer, unit, check.command, unit.output.body)
    judge = check.agent or ""
    prompt = renderer.verdict(unit, judge, unit.output.body)
    adapter = core.plan.adapters[core.plan.agents[judge].own_rung.adapter]
    return on_command_line(prompt, adapter) if adapter.is_program else prompt
