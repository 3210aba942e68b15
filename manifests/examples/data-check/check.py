"""Check an orders file against one rule and print the problems as JSON. Usage: check.py RULE FILE"""

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
        yield 1, f"expected the columns {', '.join(orders.COLUMNS)}, found {', '.join(header)}"
    for line, row in rows:
        if len(row) != len(orders.COLUMNS):
            yield line, f"expected {len(orders.COLUMNS)} fields, found {len(row)}"


def values(_header: list[str], rows: Rows) -> Problems:
    for line, row in complete_rows(rows):
        order = dict(zip(orders.COLUMNS, row, strict=True))
        try:
            date.fromisoformat(order["date"])
        except ValueError:
            yield line, f"date '{order['date']}' is not valid"
        if not order["customer"]:
            yield line, "customer is empty"
        if not (order["quantity"].isdecimal() and int(order["quantity"]) > 0):
            yield line, f"quantity '{order['quantity']}' is not a positive integer"
        for column in ("unit_price", "total"):
            if parse_amount(order[column]) is None:
                yield line, f"{column} '{order[column]}' is not a valid amount"


def duplicates(_header: list[str], rows: Rows) -> Problems:
    first_line: dict[str, int] = {}
    for line, row in complete_rows(rows):
        if row[0] in first_line:
            yield line, f"order {row[0]} is already on line {first_line[row[0]]}"
        first_line.setdefault(row[0], line)


def totals(_header: list[str], rows: Rows) -> Problems:
    for line, row in complete_rows(rows):
        quantity, price, total = map(parse_amount, row[4:7])
        # Skip invalid numbers: the rule `values` reports them.
        if None not in (quantity, price, total) and quantity * price != total:
            yield line, f"{quantity} times {price} is {quantity * price}, not {total}"


def complete_rows(rows: Rows) -> Rows:
    return [(line, row) for line, row in rows if len(row) == len(orders.COLUMNS)]


def parse_amount(text: str) -> Decimal | None:
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
