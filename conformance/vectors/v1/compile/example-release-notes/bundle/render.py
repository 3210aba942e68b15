"""Print release notes as Markdown. Usage: render.py NOTES, where NOTES is JSON."""

import json
import sys


def markdown(notes: dict) -> str:
    lines = [f"# {notes['title']}"]
    for section in notes["sections"]:
        lines += ["", f"## {section['heading']}", ""]
        lines += [f"- {item['text']} ({', '.join(item['commits'])})" for item in section["items"]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(markdown(json.loads(sys.argv[1])))
