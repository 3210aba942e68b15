"""Values of the plan, made from outputs."""

from collections.abc import Sequence
from typing import Any

import pytest

from forum_runner.execute.machine import Output
from forum_runner.execute.machine.plan_values import Unmakeable, look_at, make_value
from forum_runner.ledger.body import JSON, TEXT, Body

TEXT_BODY = Body("é\n".encode(), TEXT)
OBJECT_BODY = Body(b'{"a":{"b":[1,2]}}', JSON)


class Known:
    """`text` and `object` are tasks, `each` is one with instances."""

    def output(self, task: str) -> Output:
        return Output({"text": TEXT_BODY, "object": OBJECT_BODY, "secret": TEXT_BODY._replace(is_sensitive=True)}[task])

    def instances(self, task: str) -> Sequence[Output]:
        assert task == "each"
        return [Output(Body(b'{"n":1}', JSON)), Output(Body(b'{"n":2}', JSON))]


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
def test_a_value_is_an_output_as_it_is_or_json_made_of_outputs(value: dict[str, Any], body: Body) -> None:
    assert make_value(value, Known()) == body


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
def test_a_pointer_that_leads_nowhere_gives_no_value(value: dict[str, Any]) -> None:
    with pytest.raises(Unmakeable):
        make_value(value, Known())


@pytest.mark.requirement("RUN-WHEN-001")
def test_a_condition_looks_at_text_as_a_string() -> None:
    assert look_at({"task": "text"}, Known()) == "é\n"
