"""The state of each vector after all vectors of its role were tried."""

from forum_conformance.results.summary import objections
from forum_conformance.suite.difference import Difference
from forum_conformance.suite.result import State, Tried, abandoned_difference, settle
from unit.conformance.suite.cases import DIFFERENCE, reply, tried

REFUSED = reply(None, status=33, problem=DIFFERENCE)
SERVED_UNSUPPORTED = reply("unsupported", status=None)


def states(*attempts: Tried, **reasons: str) -> dict[str, str]:
    settled = settle(attempts, {name.replace("_", "/"): reason for name, reason in reasons.items()})
    return {result.case.id: result.state.value for result in settled}


def test_results_are_ordered_by_id() -> None:
    assert list(states(tried("b/b", "prove", reply()), tried("a/z", "run", reply()))) == ["a/z", "b/b"]


def test_a_vector_with_a_difference_failed_and_one_without_passed() -> None:
    assert states(tried("a/a", "verify", reply()), tried("a/b", "verify", reply(), DIFFERENCE)) == {
        "a/a": "passed",
        "a/b": "failed",
    }


def test_an_expected_failure_that_passes_is_reported() -> None:
    assert states(
        tried("a/a", "verify", reply()), tried("a/b", "verify", reply(), DIFFERENCE), a_a="why", a_b="why"
    ) == {"a/a": "unexpected pass", "a/b": "expected failure"}


def test_a_refused_role_is_not_offered() -> None:
    assert states(tried("a/a", "verify", REFUSED, DIFFERENCE), tried("a/b", "verify", None), a_a="why") == {
        "a/a": "not offered",
        "a/b": "not offered",
    }


def test_a_role_with_one_answered_request_is_offered() -> None:
    assert states(tried("a/a", "verify", reply()), tried("a/b", "verify", REFUSED, DIFFERENCE)) == {
        "a/a": "passed",
        "a/b": "unsupported",
    }


def test_a_crash_is_not_a_refusal() -> None:
    crash = reply(None, status=-11, problem=DIFFERENCE)

    assert states(tried("a/a", "verify", crash, DIFFERENCE)) == {"a/a": "failed"}


def test_a_role_with_only_unsupported_answers_is_not_offered() -> None:
    nothing = (tried(f"a/{name}", "verify", SERVED_UNSUPPORTED, DIFFERENCE) for name in "ab")
    assert set(states(*nothing).values()) == {"not offered"}

    some = (tried("a/a", "verify", SERVED_UNSUPPORTED, DIFFERENCE), tried("a/b", "verify", reply(status=None)))
    assert states(*some) == {"a/a": "unsupported", "a/b": "passed"}


def test_an_unsupported_answer_to_part_of_a_role_does_not_refuse_the_role() -> None:
    alone = [tried("a/a", "verify", SERVED_UNSUPPORTED, DIFFERENCE)]

    assert [result.state for result in settle(alone, {}, {"verify": 1})] == [State.NOT_OFFERED]
    assert [result.state for result in settle(alone, {}, {"verify": 2})] == [State.UNSUPPORTED]


def test_exit_status_33_for_any_vector_refuses_the_role() -> None:
    alone = [tried("a/a", "verify", REFUSED, DIFFERENCE)]

    assert [result.state for result in settle(alone, {}, {"verify": 2})] == [State.NOT_OFFERED]


def test_a_skipped_vector_failed_and_is_reported_as_not_tried() -> None:
    problem = Difference("exit status", "0", "exit status 2")
    crash = reply(None, status=2, problem=problem)
    attempts = [tried("a/a", "verify", crash, problem), tried("a/b", "verify", None, abandoned_difference(problem, 1))]

    results = settle(attempts, {})

    assert [result.state for result in results] == [State.FAILED, State.FAILED]
    why = "the first 1 vectors of the role all failed in the same way: exit status: exit status 2"
    assert objections(results, ()) == ["1 vector failed", f"not asked are 1 of verify: {why}"]


def test_an_unsupported_answer_of_a_single_process_does_not_refuse_the_role() -> None:
    assert states(tried("a/a", "verify", reply("unsupported"), DIFFERENCE)) == {"a/a": "unsupported"}


def test_there_is_no_objection_if_all_offered_roles_passed() -> None:
    results = settle([tried("a/a", "verify", reply()), tried("a/b", "prove", REFUSED, DIFFERENCE)], {})

    assert objections(results, ()) == []
    assert objections(results, ("prove",)) == ["the role prove is not offered"]


def test_a_program_that_offers_nothing_does_not_pass() -> None:
    results = settle([tried("a/a", "verify", REFUSED, DIFFERENCE), tried("a/b", "prove", REFUSED, DIFFERENCE)], {})

    assert objections(results, ()) == ["the program offers none of the requested roles: verify, prove"]


def test_every_kind_of_failure_is_an_objection() -> None:
    attempts = [
        tried("a/a", "verify", reply(), DIFFERENCE),
        tried("a/b", "verify", reply("unsupported"), DIFFERENCE),
        tried("a/c", "verify", reply()),
        tried("a/d", "verify", reply(), DIFFERENCE),
    ]
    results = settle(attempts, {"a/c": "why", "a/d": "why"})

    assert [result.state for result in results] == [
        State.FAILED,
        State.UNSUPPORTED,
        State.UNEXPECTED_PASS,
        State.EXPECTED_FAILURE,
    ]
    assert objections(results, ()) == [
        "1 vector failed",
        "1 vector unsupported",
        "1 vector passed unexpectedly: remove them from the list",
    ]
