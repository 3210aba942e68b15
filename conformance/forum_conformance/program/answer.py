"""The requests and answers of the protocol."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

PROTOCOL = 1

Request: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    verdict: str
    codes: tuple[str, ...] = ()
    first_bad_seq: int | None = None
    levels: Mapping[str, str] = field(default_factory=dict)
    message: str | None = None

    def document(self, request: Request) -> dict[str, Any]:
        """The JSON object of the answer; it repeats the id of the request, if there is one."""
        document: dict[str, Any] = {
            "protocol": PROTOCOL,
            "id": request.get("id"),
            "verdict": self.verdict,
            "codes": list(self.codes),
            "first_bad_seq": self.first_bad_seq,
        }
        if self.levels:
            document["levels"] = dict(self.levels)
        if self.message is not None:
            document["message"] = self.message
        return {name: value for name, value in document.items() if name != "id" or value is not None}


Role: TypeAlias = Callable[[Request], Answer]


class BadRequest(ValueError):
    """A request that cannot be answered: its action is unknown, or a file that it needs is missing or malformed."""
