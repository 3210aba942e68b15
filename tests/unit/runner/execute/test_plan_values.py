"""Plan values computed from task outputs."""

from collections.abc import Sequence
from typing import Any

import pytest

from forum_runner.execute.machine import Output
from forum_runner.execute.machine.task_output import make_body
from forum_runner.ledger.body import JSON, TEXT, Body
from forum_runner.wave_plan.plan_value import NoValueError, read_value

TEXT_BODY = Body("é\n".encode(), TEXT)
OBJECT_BODY = Body(b'{"a":{"b":[1,2]}}', JSON)


class KnownOutputs:
    """`text`, `object` and `secret` are tasks; `each` is a task with instances."""

    def output(self, unit: str) -> Output:
        instances = {"each[0]": Body(b'{"n":1}', JSON), "each[1]": Body(b'{"n":2}', JSON)}
        secret = TEXT_BODY._replace(is_sensitive=True)
        return Output({"text": TEXT_BODY, "object": OBJECT_BODY, "secret": secret, **instances}[unit])

    def value(self, unit: str) -> Any:
        return self.output(unit).value

    def passed_instances(self, task: str) -> Sequence[str]:
        assert task == "each"
        return ["each[0]", "each[1]"]


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
@pytest.mark.parametrize(
    ("value", "body"),
    [
        ({"task": "text"}, TEXT_BODY),
        ({"task": "object"}, OBJECT_BODY),
        ({"task": "text", "select": ""}, Body('"é\\n"'.encode(), JSON)),
        ({"task": "object", "select": "/a/b/1"}, Body(b"2", JSON)),
        ({"each": "each"}, Body(b'[{"n":1},{"n":2}]', JSON)),
        ({"each": "each", "item": "/n", "select": "/0"}, Body(b"1", JSON)),
        ({"list": [{"task": "text"}, {"task": "object", "select": "/a"}]}, Body('["é\\n",{"b":[1,2]}]'.encode(), JSON)),
        ({"object": {"x": {"task": "text"}}, "select": "/x"}, Body('"é\\n"'.encode(), JSON)),
        ({"list": [{"task": "secret"}]}, Body('["é\\n"]'.encode(), JSON, True)),
    ],
)
def test_a_value_is_an_unchanged_output_or_json_composed_of_outputs(value: dict[str, Any], body: Body) -> None:
    assert make_body(read_value(value), KnownOutputs()) == body


@pytest.mark.requirement("LEDGER-SEMANTICS-018")
@pytest.mark.parametrize(
    "value",
    [
        {"task": "object", "select": "/b"},
        {"task": "object", "select": "/a/b/01"},
        {"task": "object", "select": "/a/b/-"},
        {"task": "text", "select": "/0"},
        {"each": "each", "item": "/m"},
    ],
)
def test_a_pointer_to_a_missing_value_raises_an_error(value: dict[str, Any]) -> None:
    with pytest.raises(NoValueError):
        make_body(read_value(value), KnownOutputs())


@pytest.mark.requirement("RUN-WHEN-001")
def test_a_condition_sees_text_as_a_string() -> None:
    assert read_value({"task": "text"}).evaluate(KnownOutputs()) == "é\n"
