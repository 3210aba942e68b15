"""Check a file of orders against one rule and print the problems as JSON. Usage: check.py RULE FILE"""

import json
import sys
from collections.abc import Iterator
from datetime import date
from decimal import Decimal, InvalidOperation

import orders

Rows = list[tuple[int, list[str]]]
Problems = Iterator[tuple[int, str]]


def columns(header: list[str], rows: Rows) -> Problems:
    if header != orders.COLUMNS:
        yield 1, f"the columns are {', '.join(header)}, not {', '.join(orders.COLUMNS)}"
    for line, row in rows:
        if len(row) != len(orders.COLUMNS):
            yield line, f"{len(row)} fields instead of {len(orders.COLUMNS)}"


def values(_header: list[str], rows: Rows) -> Problems:
    for line, row in whole(rows):
        order = dict(zip(orders.COLUMNS, row, strict=True))
        try:
            date.fromisoformat(order["date"])
        except ValueError:
            yield line, f"'{order['date']}' is not a date"
        if not order["customer"]:
            yield line, "no customer"
        if not (order["quantity"].isdecimal() and int(order["quantity"]) > 0):
            yield line, f"'{order['quantity']}' is not a quantity"
        for column in ("unit_price", "total"):
            if amount(order[column]) is None:
                yield line, f"'{order[column]}' is not an amount of money"


def duplicates(_header: list[str], rows: Rows) -> Problems:
    first: dict[str, int] = {}
    for line, row in whole(rows):
        if row[0] in first:
            yield line, f"order {row[0]} is already in line {first[row[0]]}"
        first.setdefault(row[0], line)


def totals(_header: list[str], rows: Rows) -> Problems:
    for line, row in whole(rows):
        quantity, price, total = map(amount, row[4:7])
        # The rule `values` reports invalid numbers.
        if None not in (quantity, price, total) and quantity * price != total:
            yield line, f"{quantity} times {price} is {quantity * price}, not {total}"


def whole(rows: Rows) -> Rows:
    return [(line, row) for line, row in rows if len(row) == len(orders.COLUMNS)]


def amount(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() and number >= 0 else None


RULES = {rule.__name__: rule for rule in (columns, values, duplicates, totals)}

if __name__ == "__main__":
    rule, path = sys.argv[1:]
    header, rows = orders.read(path)
    problems = [{"line": line, "problem": problem} for line, problem in RULES[rule](header, rows)]
    json.dump({"rule": rule, "rows": len(rows), "problems": problems}, sys.stdout, indent=2)
