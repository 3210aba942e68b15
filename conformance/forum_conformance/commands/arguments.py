"""Argument types that several commands share."""

import argparse
import re


def level_list(text: str) -> frozenset[int]:
    levels: set[int] = set()
    for part in text.split(","):
        if not re.fullmatch(r"[1-5](-[1-5])?", part):
            raise argparse.ArgumentTypeError(f"'{text}' is not a list of levels from 1 to 5, such as 1,2,5 or 1-3")
        first, _, last = part.partition("-")
        levels |= set(range(int(first), int(last or first) + 1))
    if not levels:
        raise argparse.ArgumentTypeError(f"'{text}' names no level")
    return frozenset(levels)


def positive_int(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to 9999")
    return int(text)


def seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) or float(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number of seconds below 1,000,000")
    return float(text)
