"""Everything that is special about calls to programs: their prompts, their limits, and their verdicts as checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forum_adapters.base import ErrorKind, Failure, Prompt, Reply
from forum_runner.canonical import canonical
from forum_runner.execute.machine.call_limits import DEFAULT_TIMEOUT_MS, CallLimits, model_limits
from forum_runner.execute.machine.prompt_renderer import Renderer, data_block
from forum_runner.execute.machine.task_output import Output
from forum_runner.execute.machine.unit import Unit
from forum_runner.ledger.recorded_body import AnyBody
from forum_runner.wave_plan.planned_task import Argv
from forum_runner.wave_plan.wave_plan_reader import NO_PRICES, PlannedAdapter

_DEFAULT_OUTPUT_BYTES = 10_000_000
_CHECK_OUTPUT_BYTES = 1_000_000
# A check by a command has no adapter.
COMMAND_CHECK_LIMITS = CallLimits(DEFAULT_TIMEOUT_MS, _CHECK_OUTPUT_BYTES)


def limits_of(adapter: PlannedAdapter) -> CallLimits:
    """The limits of calls through this adapter."""
    timeout_ms = DEFAULT_TIMEOUT_MS if adapter.timeout_ms is None else adapter.timeout_ms
    if not adapter.is_program:
        return model_limits(adapter, timeout_ms)
    max_bytes = adapter.max_output_bytes or _DEFAULT_OUTPUT_BYTES
    if adapter.prices is NO_PRICES:
        return CallLimits(timeout_ms, max_bytes)
    # A model's own command line does not report its usage; a token has at least one byte.
    return CallLimits(timeout_ms, max_bytes, max_bytes, adapter.prices, counts_prompt=True)


def reads_json(adapters: Sequence[PlannedAdapter]) -> bool:
    """Whether every adapter reads one JSON object, which contains whole values."""
    return bool(adapters) and all(adapter.stdin == "json" for adapter in adapters)


def program_prompt(renderer: Renderer, unit: Unit, adapter: PlannedAdapter) -> Prompt:
    """The prompt of an attempt: for the task's own command or, if it has an instruction, for a model's command line."""
    command, schema = unit.task.run, renderer.output_schema(unit)
    if command is None and adapter.stdin == "text":
        return on_command_line(renderer.attempt(unit), adapter)
    argv = adapter.argv or () if command is None else _arguments(renderer, unit, command)
    return Prompt(argv=argv, stdin=_stdin(renderer, unit, adapter.stdin), output_schema=schema)


def on_command_line(prompt: Prompt, adapter: PlannedAdapter) -> Prompt:
    """The prompt of a model as the standard input of its command line."""
    stdin = f"{prompt.system}\n\n{prompt.text}".lstrip("\n").encode()
    return Prompt(argv=adapter.argv or (), stdin=stdin, output_schema=prompt.output_schema)


def check_prompt(renderer: Renderer, unit: Unit, command: Argv, output: AnyBody) -> Prompt:
    """The prompt for a program that reads the output to check from its standard input."""
    return Prompt(argv=_arguments(renderer, unit, command), stdin=output.data)


def _arguments(renderer: Renderer, unit: Unit, command: Argv) -> tuple[str, ...]:
    return tuple(renderer.text(argument, unit.delivered, inline=True) for argument in command)


def _stdin(renderer: Renderer, unit: Unit, format_: str) -> bytes:
    if format_ == "none":
        return b""
    if format_ == "json":
        return canonical(_stdin_document(renderer, unit))
    instruction, values = unit.instruction, [value for _, value in sorted(unit.delivered.items())]
    if len(values) == 1 and not instruction and values[0].kept_bytes is None:
        return values[0].prompt_bytes()
    texts = [renderer.text(instruction, unit.delivered, inline=True)] if instruction else []
    return "\n\n".join([*texts, *map(data_block, values)]).encode()


def _stdin_document(renderer: Renderer, unit: Unit) -> dict[str, Any]:
    needs = {name: Output(value.body).value for name, value in unit.delivered.items()}
    document: dict[str, Any] = {"run": renderer.run, "task": unit.name, "attempt": unit.attempts + 1, "needs": needs}
    instruction, persona, criteria = unit.instruction, renderer.persona(unit.agent), renderer.criteria(unit)
    if instruction:
        document["instruction"] = renderer.text(instruction, unit.delivered, inline=False)
    if persona:
        document["persona"] = persona
    if criteria:
        document["done_when"] = criteria
    schema, feedback = renderer.output_schema(unit), unit.last_feedback
    if schema is not None:
        document["output_schema"] = schema
    if feedback is not None:
        document["feedback"] = {"reason": feedback.reason, "answer": feedback.answer.decode(errors="replace")}
    return document


def command_verdict(reply: Reply) -> tuple[str, str] | Failure:
    """The verdict of a check by a command, and its reason: everything that the program wrote, or its exit status.

    A failure of any kind other than `exit_status` is returned: there is no verdict.
    """
    failure = reply.failure
    written = b"\n".join(part for part in (reply.content, reply.stderr) if part).decode(errors="replace")
    if failure is None:
        return "pass", written
    return ("fail", written or failure.message) if failure.kind is ErrorKind.EXIT_STATUS else failure
