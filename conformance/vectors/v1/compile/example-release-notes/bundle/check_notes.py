"""Check release notes in JSON for problems that a schema cannot find. Exit with status 1 if there are any."""

import json
import sys

ORDER = ["Added", "Changed", "Fixed"]


def problems(notes: dict) -> list[str]:
    found = []
    headings = [section["heading"] for section in notes["sections"]]
    if headings != sorted(set(headings), key=ORDER.index):
        found.append(f"the sections are {', '.join(headings)}, not in the order {', '.join(ORDER)}, each once")
    items = [item for section in notes["sections"] for item in section["items"]]
    seen: dict[str, str] = {}
    for item in items:
        for commit in item["commits"]:
            if commit in seen:
                found.append(f"commit {commit} is in two items: {seen[commit]!r} and {item['text']!r}")
            seen[commit] = item["text"]
        if "\n" in item["text"]:
            found.append(f"more than one line: {item['text']!r}")
    return found


if __name__ == "__main__":
    found = problems(json.load(sys.stdin))
    sys.stdout.writelines(f"{problem}\n" for problem in found)
    sys.exit(1 if found else 0)
