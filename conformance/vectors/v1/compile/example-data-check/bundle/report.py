"""Combine the results of all rules in one report. Usage: report.py RESULTS, where RESULTS is a JSON list."""

import json
import sys


def combine(results: list[dict]) -> dict:
    problems = sorted(
        (item["line"], result["rule"], item["problem"]) for result in results for item in result["problems"]
    )
    lines = [f"line {line}, {rule}: {problem}" for line, rule, problem in problems]
    rows = max(result["rows"] for result in results)
    heading = f"{rows} orders, {len(problems)} problems"
    return {
        "problems": len(problems),
        "lines": sorted({line for line, _, _ in problems}),
        "text": "\n".join([heading, *lines]),
    }


if __name__ == "__main__":
    json.dump(combine(json.loads(sys.argv[1])), sys.stdout, indent=2)
