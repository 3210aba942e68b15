"""The vectors that are expected to fail, each with a reason: one line `id: reason`."""

from collections.abc import Container


class BadExpectation(Exception):
    """An invalid line in the list."""

    def __init__(self, name: str, line: int, problem: str) -> None:
        super().__init__(f"{name}:{line}: {problem}")


def read_expected_failures(text: str, *, name: str, known_ids: Container[str]) -> dict[str, str]:
    """The reasons by id. `name` is the name of the file, `known_ids` the existing ids.

    The list may contain vectors that are not selected, so that one file serves every `--role` and `--filter`. Such a
    line has no effect. A byte order mark, which some editors write, is not part of an id.
    """
    reasons: dict[str, str] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        id_, _, reason = (part.strip() for part in line.partition(":"))
        if id_ not in known_ids:
            raise BadExpectation(name, number, f"no such vector: '{id_}'")
        if not reason:
            raise BadExpectation(name, number, f"'{id_}' needs a reason: write '{id_}: why it fails'")
        if id_ in reasons:
            raise BadExpectation(name, number, f"'{id_}' is listed twice")
        reasons[id_] = reason
    return reasons
