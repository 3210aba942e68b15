"""Durations, amounts of money and counts: as text for people, as integers everywhere else."""

_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_MICRO_USD_PER_USD = 1_000_000


def parse_duration(text: str) -> int:
    """Converts a duration to milliseconds: `90s` is 90,000. The schema has validated the format."""
    unit = text.lstrip("0123456789")
    return int(text[: -len(unit)]) * _MILLISECONDS[unit]


def parse_usd(text: str) -> int:
    """Converts dollars to millionths of a dollar, exactly and without floats: `0.10` is 100,000."""
    whole, _, decimals = text.partition(".")
    return int(whole) * _MICRO_USD_PER_USD + int(decimals.ljust(6, "0"))


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: `1 task`, `1,200 tasks`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def format_usd(micro_usd: int) -> str:
    whole, rest = divmod(micro_usd, _MICRO_USD_PER_USD)
    decimals = f"{rest:06}".rstrip("0").ljust(2, "0")
    return f"${whole}.{decimals}"


def format_duration(ms: int) -> str:
    for unit in ("d", "h", "m", "s"):
        if ms and ms % _MILLISECONDS[unit] == 0:
            return f"{ms // _MILLISECONDS[unit]}{unit}"
    return f"{ms}ms"
