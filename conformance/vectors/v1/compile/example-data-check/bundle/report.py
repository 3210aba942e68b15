"""Combine the results of all rules in one report. Usage: report.py RESULTS, where RESULTS is a JSON list."""

import json
import sys


def report(results: list[dict]) -> dict:
    found = sorted((item["line"], result["rule"], item["problem"]) for result in results for item in result["problems"])
    lines = [f"line {line}, {rule}: {problem}" for line, rule, problem in found]
    rows = max(result["rows"] for result in results)
    heading = f"{rows} orders, {len(found)} problems"
    return {
        "problems": len(found),
        "lines": sorted({line for line, _, _ in found}),
        "text": "\n".join([heading, *lines]),
    }


if __name__ == "__main__":
    json.dump(report(json.loads(sys.argv[1])), sys.stdout, indent=2)
