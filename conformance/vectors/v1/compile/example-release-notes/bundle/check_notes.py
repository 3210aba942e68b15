"""Check release notes in JSON for problems that a schema cannot find. Exit with code 1 if there are any."""

import json
import sys

ORDER = ["Added", "Changed", "Fixed"]


def find_problems(notes: dict) -> list[str]:
    problems = []
    headings = [section["heading"] for section in notes["sections"]]
    if headings != sorted(set(headings), key=ORDER.index):
        problems.append(f"expected sections from {', '.join(ORDER)} in this order, found {', '.join(headings)}")
    items = [item for section in notes["sections"] for item in section["items"]]
    item_by_commit: dict[str, str] = {}
    for item in items:
        for commit in item["commits"]:
            if commit in item_by_commit:
                problems.append(f"commit {commit} is in two items: {item_by_commit[commit]!r} and {item['text']!r}")
            item_by_commit[commit] = item["text"]
        if "\n" in item["text"]:
            problems.append(f"item has more than one line: {item['text']!r}")
    return problems


if __name__ == "__main__":
    problems = find_problems(json.load(sys.stdin))
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    sys.exit(1 if problems else 0)
