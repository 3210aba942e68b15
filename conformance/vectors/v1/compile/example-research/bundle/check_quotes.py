"""Check that every quotation of an answer is in its source. Usage: check_quotes.py SOURCES < ANSWER, both JSON."""

import json
import sys


def normalize(text: str) -> str:
    """Replace each run of whitespace with one space, so that line breaks do not matter."""
    return " ".join(text.split())


def find_problems(answer: dict, sources: list[dict]) -> list[str]:
    texts = {source["id"]: normalize(source["text"]) for source in sources}
    problems = []
    for item in answer["claims"]:
        if item["source"] not in texts:
            problems.append(f"unknown source '{item['source']}'")
        elif normalize(item["quote"]) not in texts[item["source"]]:
            problems.append(f"source '{item['source']}' does not contain the quotation: {item['quote']}")
    return problems


if __name__ == "__main__":
    problems = find_problems(json.load(sys.stdin), json.loads(sys.argv[1]))
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    sys.exit(1 if problems else 0)
