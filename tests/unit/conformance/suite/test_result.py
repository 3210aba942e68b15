"""The state of each vector after all vectors of its role were run."""

from forum_conformance.results.summary import find_objections
from forum_conformance.suite.difference import Difference
from forum_conformance.suite.result import State, VectorOutcome, abandoned_difference, assign_states
from unit.conformance.suite.cases import DIFFERENCE, outcome_of, reply

REFUSED = reply(None, status=33, problem=DIFFERENCE)
SERVED_UNSUPPORTED = reply("unsupported", status=None)


def states(*outcomes: VectorOutcome, **reasons: str) -> dict[str, str]:
    results = assign_states(outcomes, {name.replace("_", "/"): reason for name, reason in reasons.items()})
    return {result.case.id: result.state.value for result in results}


def test_results_are_ordered_by_id() -> None:
    assert list(states(outcome_of("b/b", "prove", reply()), outcome_of("a/z", "run", reply()))) == ["a/z", "b/b"]


def test_a_vector_with_a_difference_failed_and_one_without_passed() -> None:
    assert states(outcome_of("a/a", "verify", reply()), outcome_of("a/b", "verify", reply(), DIFFERENCE)) == {
        "a/a": "passed",
        "a/b": "failed",
    }


def test_an_expected_failure_that_passes_is_reported() -> None:
    assert states(
        outcome_of("a/a", "verify", reply()),
        outcome_of("a/b", "verify", reply(), DIFFERENCE),
        a_a="reason",
        a_b="reason",
    ) == {"a/a": "unexpected pass", "a/b": "expected failure"}


def test_a_refused_role_is_not_offered() -> None:
    assert states(
        outcome_of("a/a", "verify", REFUSED, DIFFERENCE), outcome_of("a/b", "verify", None), a_a="reason"
    ) == {
        "a/a": "not offered",
        "a/b": "not offered",
    }


def test_a_role_with_one_answered_request_is_offered() -> None:
    assert states(outcome_of("a/a", "verify", reply()), outcome_of("a/b", "verify", REFUSED, DIFFERENCE)) == {
        "a/a": "passed",
        "a/b": "unsupported",
    }


def test_a_crash_is_not_a_refusal() -> None:
    crash = reply(None, status=-11, problem=DIFFERENCE)

    assert states(outcome_of("a/a", "verify", crash, DIFFERENCE)) == {"a/a": "failed"}


def test_a_role_with_only_unsupported_answers_is_not_offered() -> None:
    all_unsupported = (outcome_of(f"a/{name}", "verify", SERVED_UNSUPPORTED, DIFFERENCE) for name in "ab")
    assert set(states(*all_unsupported).values()) == {"not offered"}

    one_answered = (
        outcome_of("a/a", "verify", SERVED_UNSUPPORTED, DIFFERENCE),
        outcome_of("a/b", "verify", reply(status=None)),
    )
    assert states(*one_answered) == {"a/a": "unsupported", "a/b": "passed"}


def test_an_unsupported_answer_to_part_of_a_role_does_not_refuse_the_role() -> None:
    outcomes = [outcome_of("a/a", "verify", SERVED_UNSUPPORTED, DIFFERENCE)]

    assert [result.state for result in assign_states(outcomes, {}, {"verify": 1})] == [State.NOT_OFFERED]
    assert [result.state for result in assign_states(outcomes, {}, {"verify": 2})] == [State.UNSUPPORTED]


def test_exit_status_33_for_any_vector_refuses_the_role() -> None:
    outcomes = [outcome_of("a/a", "verify", REFUSED, DIFFERENCE)]

    assert [result.state for result in assign_states(outcomes, {}, {"verify": 2})] == [State.NOT_OFFERED]


def test_a_skipped_vector_failed_and_is_reported_as_not_run() -> None:
    problem = Difference("exit status", "0", "exit status 2")
    crash = reply(None, status=2, problem=problem)
    outcomes = [
        outcome_of("a/a", "verify", crash, problem),
        outcome_of("a/b", "verify", None, abandoned_difference(problem, 1)),
    ]

    results = assign_states(outcomes, {})

    assert [result.state for result in results] == [State.FAILED, State.FAILED]
    reason = "the first 1 vectors of the role all failed in the same way: exit status: exit status 2"
    assert find_objections(results, ()) == ["1 vector failed", f"1 vector of verify not run: {reason}"]


def test_an_unsupported_answer_of_a_single_process_does_not_refuse_the_role() -> None:
    assert states(outcome_of("a/a", "verify", reply("unsupported"), DIFFERENCE)) == {"a/a": "unsupported"}


def test_no_objection_is_found_if_all_offered_roles_passed() -> None:
    results = assign_states([outcome_of("a/a", "verify", reply()), outcome_of("a/b", "prove", REFUSED, DIFFERENCE)], {})

    assert find_objections(results, ()) == []
    assert find_objections(results, ("prove",)) == ["the role prove is not offered"]


def test_a_program_that_offers_nothing_does_not_pass() -> None:
    results = assign_states(
        [outcome_of("a/a", "verify", REFUSED, DIFFERENCE), outcome_of("a/b", "prove", REFUSED, DIFFERENCE)], {}
    )

    assert find_objections(results, ()) == ["the program offers none of the requested roles: verify, prove"]


def test_every_kind_of_failure_is_an_objection() -> None:
    outcomes = [
        outcome_of("a/a", "verify", reply(), DIFFERENCE),
        outcome_of("a/b", "verify", reply("unsupported"), DIFFERENCE),
        outcome_of("a/c", "verify", reply()),
        outcome_of("a/d", "verify", reply(), DIFFERENCE),
    ]
    results = assign_states(outcomes, {"a/c": "reason", "a/d": "reason"})

    assert [result.state for result in results] == [
        State.FAILED,
        State.UNSUPPORTED,
        State.UNEXPECTED_PASS,
        State.EXPECTED_FAILURE,
    ]
    assert find_objections(results, ()) == [
        "1 vector failed",
        "1 vector unsupported",
        "1 vector passed unexpectedly: remove it from the expected failures",
    ]
