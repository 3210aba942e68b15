"""JSON texts that have no canonical form, each one edit of a text that has one."""

from typing import NamedTuple


class Refusal(NamedTuple):
    name: str
    title: str
    base: str
    """The name of the text that was edited."""
    old: bytes
    """The text whose first occurrence is replaced; empty to append."""
    new: bytes


KEYS = (
    Refusal("key-repeated", "A repeated key", "two-members", b'"b"', b'"a"'),
    Refusal("key-repeated-in-a-nested-object", "A repeated key in a nested object", "nested-members", b'"b"', b'"a"'),
    Refusal("key-repeated-by-an-escape", "A repeated key, once with an escape", "two-members", b'"b"', rb'"\u0061"'),
    Refusal(
        "key-repeated-with-the-same-value", "A repeated key with the same value", "two-members", b'"b": 2', b'"a": 1'
    ),
    Refusal("key-repeated-empty", "A repeated empty key", "key-order-prefix", b'"a"', b'""'),
    Refusal("key-without-quotes", "A key without quotes", "two-members", b'"a"', b"a"),
    Refusal("key-that-is-a-number", "A key that is a number", "two-members", b'"a"', b"1"),
    Refusal("key-that-is-null", "A key that is null", "two-members", b'"a"', b"null"),
    Refusal("key-lone-surrogate", "A key with a lone surrogate", "two-members", b'"b"', rb'"\udc00"'),
)

STRINGS = (
    Refusal("surrogate-high-alone", "A high surrogate without a low one", "string-surrogate-pair", rb"\ude02", b""),
    Refusal("surrogate-low-alone", "A low surrogate without a high one", "string-surrogate-pair", rb"\ud83d", b""),
    Refusal(
        "surrogates-swapped",
        "A low surrogate before a high one",
        "string-surrogate-pair",
        rb"\ud83d\ude02",
        rb"\ude02\ud83d",
    ),
    Refusal(
        "surrogate-before-a-letter", "A high surrogate before a letter", "string-surrogate-pair", rb"\ude02", rb"\u0041"
    ),
    Refusal(
        "surrogate-at-the-end", "A high surrogate at the end of a string", "string-surrogate-pair", rb"\udfff", b""
    ),
    Refusal("surrogate-in-a-list", "A lone surrogate in a nested list", "nested-members", b"1", rb'["\uDABC"]'),
    Refusal("control-character", "An unescaped control character", "top-level-string", b"c", b"\x01"),
    Refusal("tab-in-a-string", "An unescaped tab", "top-level-string", b"c", b"\t"),
    Refusal("line-feed-in-a-string", "An unescaped line feed", "top-level-string", b"c", b"\n"),
    Refusal("nul-in-a-string", "An unescaped NUL", "top-level-string", b"c", b"\x00"),
    Refusal("control-character-in-a-key", "A control character in a key", "two-members", b'"a"', b'"\x1f"'),
    Refusal("unknown-escape", "An escape that JSON does not have", "string-short-escapes", rb"\b", rb"\a"),
    Refusal("escape-with-x", "An escape of two hexadecimal digits", "top-level-string", rb"\u00e9", rb"\xe9"),
    Refusal("escape-too-short", "An escape of three hexadecimal digits", "top-level-string", rb"\u00e9", rb"\u0e9"),
    Refusal("escape-in-upper-case", "An escape with an upper-case U", "top-level-string", rb"\u00e9", rb"\U00e9"),
    Refusal("string-not-closed", "A string that does not end", "top-level-string", b'9"', b"9"),
    Refusal("single-quotes", "A string in single quotes", "two-members", b'"a"', b"'a'"),
)

BYTES = (
    Refusal("byte-order-mark", "A byte order mark before the text", "two-members", b"{", b"\xef\xbb\xbf{"),
    Refusal("utf-8-overlong", "A slash in two bytes", "string-empty", b'""', b'"\xc0\xaf"'),
    Refusal("utf-8-overlong-null", "U+0000 in two bytes", "string-empty", b'""', b'"\xc0\x80"'),
    Refusal("utf-8-truncated", "A truncated character of three bytes", "string-empty", b'""', b'"\xe2\x82"'),
    Refusal("utf-8-continuation-alone", "A continuation byte alone", "string-empty", b'""', b'"\x80"'),
    Refusal("utf-8-surrogate", "A surrogate encoded in three bytes", "string-empty", b'""', b'"\xed\xa0\x80"'),
    Refusal(
        "utf-8-surrogate-pair", "A surrogate pair in six bytes", "string-empty", b'""', b'"\xed\xa0\xbd\xed\xb8\x82"'
    ),
    Refusal("utf-8-beyond-unicode", "A character beyond U+10FFFF", "string-empty", b'""', b'"\xf4\x90\x80\x80"'),
    Refusal("latin-1", "A letter in Latin-1", "top-level-string", rb"\u00e9", b"\xe9"),
    Refusal("utf-16", "A text in UTF-16", "top-level-number", b" 1e0 ", b"1\x00e\x000\x00"),
)

NUMBERS = (
    Refusal(
        "integer-too-large", "The integer 2^53", "number-largest-integers", b"[9007199254740991", b"[9007199254740992"
    ),
    Refusal(
        "integer-too-small", "The integer -2^53", "number-largest-integers", b"-9007199254740991", b"-9007199254740992"
    ),
    Refusal(
        "integer-of-thirty-digits",
        "An integer of thirty digits",
        "top-level-number",
        b"1e0",
        b"100000000000000000000000000000",
    ),
    Refusal("number-overflow", "A number that is too large for a double", "top-level-number", b"1e0", b"1e400"),
    Refusal(
        "number-overflow-negative",
        "A negative number that is too large for a double",
        "top-level-number",
        b"1e0",
        b"-1E400",
    ),
    Refusal(
        "number-just-too-large",
        "The first decimal that rounds beyond the largest double",
        "number-largest",
        b"1.7976931348623158e308",
        b"1.7976931348623159e308",
    ),
    Refusal("number-leading-zero", "A leading zero", "two-members", b"1", b"01"),
    Refusal("number-leading-zero-negative", "A leading zero after the sign", "two-members", b"1", b"-01"),
    Refusal("number-plus", "A plus sign", "two-members", b"1", b"+1"),
    Refusal("number-without-fraction-digits", "A point without digits after it", "two-members", b"1", b"1."),
    Refusal("number-without-integer-digits", "A point without digits before it", "two-members", b"1", b".1"),
    Refusal("number-without-exponent-digits", "An exponent without digits", "two-members", b"1", b"1e"),
    Refusal("number-minus-alone", "A minus sign alone", "two-members", b"1", b"-"),
    Refusal("number-hexadecimal", "A hexadecimal number", "two-members", b"1", b"0x1"),
    Refusal("number-underscore", "An underscore between digits", "two-members", b"1", b"1_000"),
    Refusal("number-with-a-non-ascii-digit", "A non-ASCII digit", "two-members", b"1", "\u0661".encode()),
    Refusal("number-nan", "NaN", "two-members", b"1", b"NaN"),
    Refusal("number-infinity", "Infinity", "two-members", b"1", b"Infinity"),
    Refusal("number-infinity-negative", "-Infinity", "two-members", b"1", b"-Infinity"),
)

TEXTS = (
    Refusal("empty-text", "An empty text", "top-level-null", b"null\n", b""),
    Refusal("only-white-space", "White space alone", "top-level-null", b"null", b" "),
    Refusal("two-values", "Two values", "two-members", b"", b"{}"),
    Refusal("text-truncated", "A truncated text", "two-members", b"2}", b"2"),
    Refusal("extra-bracket", "An extra bracket", "two-members", b"", b"}"),
    Refusal("mismatched-brackets", "A bracket that a brace closes", "array-order", b'"a"]', b'"a"}'),
    Refusal("trailing-comma-in-an-array", "A comma after the last item", "array-order", b'"a"]', b'"a",]'),
    Refusal("trailing-comma-in-an-object", "A comma after the last member", "two-members", b"2}", b"2,}"),
    Refusal("comma-missing", "No comma between two members", "two-members", b", ", b" "),
    Refusal("double-comma", "Two commas between two items", "array-order", b"3,1", b"3,,1"),
    Refusal("colon-missing", "No colon after a key", "two-members", b'"a":', b'"a"'),
    Refusal("value-missing", "No value after a colon", "two-members", b": 1", b":"),
    Refusal("comment", "A comment", "two-members", b'{"a"', b'/* two */{"a"'),
    Refusal("line-comment", "A line comment", "two-members", b"", b" // two"),
    Refusal("literal-in-upper-case", "A literal with an upper-case letter", "literals", b"true", b"True"),
    Refusal("literal-truncated", "A truncated literal", "literals", b"null", b"nul"),
    Refusal("literal-undefined", "A literal that JSON does not have", "literals", b"null", b"undefined"),
    Refusal("other-white-space", "A no-break space between tokens", "two-members", b", ", b",\xc2\xa0"),
    Refusal("form-feed", "A form feed between tokens", "two-members", b", ", b",\x0c"),
)

REFUSALS = {
    "LEDGER-LINE-003": (*STRINGS, *BYTES, *TEXTS),
    "LEDGER-LINE-004": NUMBERS,
    "LEDGER-LINE-005": KEYS,
}
"""The refusals, by requirement."""
