"""Read an orders file."""

import csv
from pathlib import Path

COLUMNS = ["order_id", "date", "customer", "item", "quantity", "unit_price", "total"]


def read(path: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the header and each row with the number of its last line. Skip empty lines."""
    with Path(path).open(encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream)
        rows = [(reader.line_num, row) for row in reader if row]
    return (rows[0][1], rows[1:]) if rows else ([], [])
