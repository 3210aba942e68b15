"""Print an orders file with a hash instead of each customer name. Usage: pseudonyms.py FILE < SALT"""

import csv
import hashlib
import hmac
import sys

import orders

CUSTOMER = orders.COLUMNS.index("customer")


def pseudonym(name: str, salt: str) -> str:
    """Return the same pseudonym for the same name and salt. The salt prevents guessing names from their hashes."""
    return hmac.new(salt.encode(), name.encode(), hashlib.sha256).hexdigest()[:16]


if __name__ == "__main__":
    header, rows = orders.read(sys.argv[1])
    salt = sys.stdin.read().strip()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    for _, row in rows:
        writer.writerow([pseudonym(field, salt) if i == CUSTOMER and field else field for i, field in enumerate(row)])
