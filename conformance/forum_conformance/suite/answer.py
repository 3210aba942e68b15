"""Parse a program's standard output."""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

from forum_conformance.schemas import schema
from forum_conformance.suite.difference import Difference
from forum_conformance.suite.display import json_preview, preview, to_json, why_not_json
from forum_conformance.suite.strict_json import read_json

_REQUIRED = ("protocol", "verdict")
_TYPES = {"string": "a string", "integer": "an integer", "null": "null", "object": "an object", "array": "a list"}


class BadAnswer(Exception):
    """The program gave no valid answer: `difference` has the requirement and the actual behavior."""

    def __init__(self, place: str, expected: str, actual: str) -> None:
        self.difference = Difference(place, expected, actual)
        super().__init__(f"{place}: {actual}")


def read_answer(data: bytes, *, id_: str, requires_id: bool) -> dict[str, Any]:
    """The answer as an object. Raises BadAnswer if it does not match its schema, or has the wrong id.

    With `requires_id`, an answer without an id is wrong, too.
    """
    answer = _read(data)
    if error := next(_validator().iter_errors(answer), None):
        raise BadAnswer("answer", *_required_and_actual(error))
    answer_id = answer.get("id")
    if answer_id != id_ and (answer_id is not None or requires_id):
        raise BadAnswer("id", to_json(id_), json_preview(answer_id))
    return answer


def _read(data: bytes) -> dict[str, Any]:
    expected = "one JSON object in UTF-8"
    if not data.strip():
        raise BadAnswer("standard output", expected, "nothing")
    try:
        answer = read_json(data)
    except ValueError as error:
        raise BadAnswer("standard output", expected, f"{preview(data)} ({why_not_json(error)})") from error
    if not isinstance(answer, dict):
        raise BadAnswer("standard output", expected, preview(data))
    return answer


def _required_and_actual(error: ValidationError) -> tuple[str, str]:
    """The requirement of the schema, and the actual value."""
    if error.validator == "required":
        answer: Any = error.instance
        missing = next(name for name in _REQUIRED if name not in answer)
        return f"a member '{missing}'", f"no such member: {json_preview(answer)}"
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    if "propertyNames" in error.absolute_schema_path:
        name = f"a key of {name}"
    return f"{name}: {_requirement_text(error)}", f"{name}: {json_preview(error.instance)}"


def _requirement_text(error: ValidationError) -> str:
    required: Any = error.validator_value
    match error.validator:
        case "const":
            return to_json(required)
        case "enum":
            return "one of " + ", ".join(map(to_json, required))
        case "type":
            names = [required] if isinstance(required, str) else required
            return " or ".join(_TYPES.get(name, name) for name in names)
        case "pattern":
            return f"a string that matches {required}"
        case "uniqueItems":
            return "unique items"
        case "minimum" | "maximum":
            return f"a number of at {'least' if error.validator == 'minimum' else 'most'} {required}"
        case "maxLength":
            return f"at most {required} characters"

    return f"as conformance-answer.schema.json requires ({error.validator})"


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(schema("conformance-answer.schema.json"))
