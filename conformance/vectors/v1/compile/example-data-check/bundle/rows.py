"""Print the orders in the given lines as CSV. Usage: rows.py LINES FILE, where LINES is a JSON list."""

import csv
import json
import sys

import orders

if __name__ == "__main__":
    selected_lines = set(json.loads(sys.argv[1]))
    header, rows = orders.read(sys.argv[2])
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(row for line, row in rows if line in selected_lines)
