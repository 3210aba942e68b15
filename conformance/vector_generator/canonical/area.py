"""The area `canonical`: texts with their RFC 8785 form, and texts that have none."""

import hashlib
import json
import struct
from collections.abc import Iterator
from math import isinf
from typing import Any

import rfc8785

from forum_conformance.canonical import MAX_INTEGER, NotCanonical, read_form, refuse_constant, reject_repeated_keys
from vector_generator.canonical.forms import FORMS, Form
from vector_generator.canonical.refusals import REFUSALS, Refusal
from vector_generator.forum_program import ForumProgram
from vector_generator.vector import Vector
from vector_generator.vector_files import VECTORS, BadVector

AREA = "canonical"
FORM = "LEDGER-LINE-005"
INPUT, OUTPUT = "input.json", "output.json"
PUBLISHED = {
    "arrays": "An object in an array",
    "french": "Keys are not sorted by language rules",
    "structures": "Nested objects and arrays, and keys of many forms",
    "unicode": "Characters are not normalized",
    "values": "Numbers, strings and literals",
    "weird": "Keys that are sorted by UTF-16 code units",
}
"""Published cases, copied unchanged; ATTRIBUTION.md names their source."""
NUMBER_COUNT = 1_000
"""How many numbers of the published sequence the vector contains: the first published digest covers this many."""

_OTHER_REQUIREMENTS = {
    "number-largest-integers": ("LEDGER-LINE-004",),
    "money-and-time": ("LEDGER-LINE-004",),
    "string-surrogate-pair": ("LEDGER-LINE-003",),
    "white-space": ("LEDGER-LINE-003",),
    "nested-64-deep": ("LEDGER-LINE-003",),
}
"""The requirements of a vector in addition to FORM, by its name."""
# The bits of the smallest normal double, from which the published sequence continues.
_FIRST_NORMAL = 0x0010000000000000
_FORMS_WITH_LARGE_INTEGERS = (
    "number-floats-beyond-integers",
    "number-large-notation",
    "number-round-to-even",
    "published-numbers",
)
_AND_THE_JUDGE = ", and the judge's reader finds it in RFC 8785 form"
_BY_HAND = f"written by hand; rfc8785 writes the same{_AND_THE_JUDGE}"
_AS_PUBLISHED = f"published with the reference implementation of RFC 8785; rfc8785 writes the same{_AND_THE_JUDGE}"
_SEQUENCE = "rfc8785, and the SHA-256 of the published table of numbers"
_REFUSED = "written by hand; a strict parser built from Python's json and rfc8785 rejects it"


def vectors(_forum: ForumProgram) -> Iterator[Vector]:
    texts: dict[str, bytes] = {}
    for form, verified_by in [*_published(), (_numbers(), _SEQUENCE), *((_encoded(form), _BY_HAND) for form in FORMS)]:
        name, title, text, output = form
        texts[name] = text
        yield _valid_vector(name, title, text, output, verified_by)
    for requirement, refusals in REFUSALS.items():
        yield from (_refused_vector(refusal, requirement, texts[refusal.base]) for refusal in refusals)


Encoded = tuple[str, str, bytes, bytes]
"""The name, the title, the text and its canonical form."""


def _encoded(form: Form) -> Encoded:
    return form.name, form.title, form.text.encode(), form.form.encode()


def _published() -> Iterator[tuple[Encoded, str]]:
    for name, title in PUBLISHED.items():
        folder = VECTORS / AREA / name
        yield (name, title, (folder / INPUT).read_bytes(), (folder / OUTPUT).read_bytes()), _AS_PUBLISHED


def _numbers() -> Encoded:
    """The beginning of the published sequence of doubles, each written with seventeen digits."""
    folder = VECTORS / AREA / "numbers"
    bits = [int(line, 16) for line in (folder / "static.txt").read_text(encoding="ascii").split()]
    bits = [*bits, *range(_FIRST_NORMAL, _FIRST_NORMAL + NUMBER_COUNT)][:NUMBER_COUNT]
    values = [struct.unpack(">d", number.to_bytes(8, "big"))[0] for number in bits]
    forms = [rfc8785.dumps(value) for value in values]
    table = b"".join(b"%x,%s\n" % pair for pair in zip(bits, forms, strict=True))
    digests = json.loads((folder / "digests.json").read_text(encoding="utf-8"))
    if hashlib.sha256(table).hexdigest() != digests[str(NUMBER_COUNT)]:
        raise BadVector(f"{AREA}/published-numbers", "the numbers differ from the published table")
    text = "[" + ",\n".join(f"{value:.16e}" for value in values) + "]\n"
    title = "The first thousand numbers of the published sequence"
    return "published-numbers", title, text.encode(), b"[" + b",".join(forms) + b"]"


def _valid_vector(name: str, title: str, text: bytes, output: bytes, verified_by: str) -> Vector:
    vector = f"{AREA}/{name}"
    if rfc8785.dumps(read_strictly(text)) != output:
        raise BadVector(vector, "rfc8785 writes a different form")
    try:
        read_form(output)
    except NotCanonical as error:
        # A large double is written with all its digits, so a reader takes it for an integer out of range.
        if name not in _FORMS_WITH_LARGE_INTEGERS:
            raise BadVector(vector, f"the judge rejects the form: {error}") from error
        verified_by = verified_by.removesuffix(_AND_THE_JUDGE)
    return Vector(
        id=vector,
        title=title,
        role="canonicalize",
        requirements=(FORM, *_OTHER_REQUIREMENTS.get(name, ())),
        request={"input": INPUT},
        expected={"verdict": "valid", "output": OUTPUT},
        verified_by=verified_by,
        files={INPUT: text, OUTPUT: output},
    )


def _refused_vector(refusal: Refusal, requirement: str, base: bytes) -> Vector:
    vector = f"{AREA}/{refusal.name}"
    if refusal.old not in base:
        raise BadVector(vector, f"'{refusal.base}' does not contain {refusal.old!r}")
    text = base.replace(refusal.old, refusal.new, 1) if refusal.old else base + refusal.new
    try:
        rfc8785.dumps(read_strictly(text))
    except ValueError:
        pass
    else:
        raise BadVector(vector, "the text has a canonical form")
    return Vector(
        id=vector,
        title=refusal.title,
        role="canonicalize",
        requirements=(requirement,),
        request={"input": INPUT},
        expected={"verdict": "invalid"},
        verified_by=_REFUSED,
        derived_from=f"{AREA}/{refusal.base}",
        mutation=_describe(refusal),
        files={INPUT: text},
    )


def _describe(refusal: Refusal) -> str:
    new = _printable(refusal.new) or "nothing"
    return f"{_printable(refusal.old)} is replaced by {new}" if refusal.old else f"{new} is appended"


def _printable(data: bytes) -> str:
    """The bytes as ASCII text, with all other bytes in hexadecimal."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else f"<{byte:02x}>" for byte in data)


def read_strictly(text: bytes) -> Any:
    """The value of a JSON text. Raises ValueError if PROTOCOL.md requires that the text is rejected."""
    value = json.loads(
        text.decode("utf-8"),
        parse_int=_integer,
        parse_float=_finite,
        parse_constant=refuse_constant,
        object_pairs_hook=reject_repeated_keys,
    )
    # An escaped lone surrogate passes all the checks above, but it cannot be encoded in UTF-8.
    json.dumps(value, ensure_ascii=False).encode()
    return value


def _integer(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > MAX_INTEGER:
        raise ValueError("an integer is out of range")
    return int(digits)


def _finite(digits: str) -> float:
    if isinf(value := float(digits)):
        raise ValueError("a number is not finite")
    return value
