"""Text in the form in which YAML's parser reads it as YAML 1.2 and JSON mean it."""

import re

_SURROGATE_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
# Line breaks to YAML 1.1, which would fold them into spaces; characters like any other to YAML 1.2.
_SEPARATORS = "\N{NEXT LINE}\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}"
_PRIVATE_USE = range(0xE000, 0xF900)


def prepared(text: str, *, is_json: bool) -> tuple[str, dict[int, str]]:
    """The text for the parser, and what has to be put back into every scalar that it gives."""
    if is_json and "\\u" in text:
        text = _SURROGATE_PAIR.sub(_joined, text)
    found = [separator for separator in _SEPARATORS if separator in text]
    if not found:
        return text, {}
    unused = (chr(code) for code in _PRIVATE_USE if chr(code) not in text)
    stand_ins = dict(zip(found, unused, strict=False))
    restored = {ord(stand_in): separator for separator, stand_in in stand_ins.items()}
    return text.translate({ord(separator): stand_in for separator, stand_in in stand_ins.items()}), restored


def _joined(match: re.Match[str]) -> str:
    """JSON writes a character beyond the BMP as two escapes, which YAML's parser refuses one by one."""
    high, low = int(match[2], 16), int(match[3], 16)
    return f"{match[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"
