"""Prepares text so that a YAML 1.1 parser reads it as YAML 1.2 or JSON."""

import re

_SURROGATE_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
# YAML 1.1 treats these characters as line breaks and folds them into spaces. In YAML 1.2, they are ordinary characters.
_SEPARATORS = "\N{NEXT LINE}\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}"
_PRIVATE_USE = range(0xE000, 0xF900)


def prepare_text(text: str, *, is_json: bool) -> tuple[str, dict[int, str]]:
    """The text for the parser, and the replacements to undo in each scalar that it returns."""
    if is_json and "\\u" in text:
        text = _SURROGATE_PAIR.sub(_join_surrogates, text)
    separators = [separator for separator in _SEPARATORS if separator in text]
    if not separators:
        return text, {}
    unused = (chr(code) for code in _PRIVATE_USE if chr(code) not in text)
    placeholders = dict(zip(map(ord, separators), unused, strict=False))
    replacements = {ord(placeholder): chr(separator) for separator, placeholder in placeholders.items()}
    return text.translate(placeholders), replacements


def _join_surrogates(match: re.Match[str]) -> str:
    """Joins the two escapes of a character beyond the BMP in JSON, because the YAML parser rejects surrogates."""
    high, low = int(match[2], 16), int(match[3], 16)
    return f"{match[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"
