"""Check that every quotation of an answer is in its source. Usage: check_quotes.py SOURCES < ANSWER, both JSON."""

import json
import sys


def words(text: str) -> str:
    """Replace each run of whitespace with one space, so that line breaks do not matter."""
    return " ".join(text.split())


def problems(answer: dict, sources: list[dict]) -> list[str]:
    texts = {source["id"]: words(source["text"]) for source in sources}
    found = []
    for item in answer["claims"]:
        if item["source"] not in texts:
            found.append(f"unknown source '{item['source']}'")
        elif words(item["quote"]) not in texts[item["source"]]:
            found.append(f"not in source '{item['source']}': {item['quote']}")
    return found


if __name__ == "__main__":
    found = problems(json.load(sys.stdin), json.loads(sys.argv[1]))
    sys.stdout.writelines(f"{problem}\n" for problem in found)
    sys.exit(1 if found else 0)
