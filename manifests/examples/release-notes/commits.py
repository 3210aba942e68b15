"""Print the commits since a release as JSON. Usage: commits.py [TAG]; without TAG, since the last tag."""

import json
import subprocess
import sys

LIMIT = 500


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", *arguments]
    # The plan's input allows only names of tags and commits, and `--end-of-options` precedes them.
    return subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)  # noqa: S603


def main() -> int:
    tag = sys.argv[1] if len(sys.argv) > 1 else ""
    since = tag or git("describe", "--tags", "--abbrev=0").stdout.strip() or None
    revisions = f"{since}..HEAD" if since else "HEAD"
    # A hash contains no tab, so the first tab ends it, whatever the subject contains.
    log = git("log", "--no-merges", f"--max-count={LIMIT}", "--format=%h%x09%s", "--end-of-options", revisions)
    if log.returncode != 0:
        sys.stderr.write(log.stderr)
        return 1
    rows = (line.split("\t", 1) for line in log.stdout.split("\n") if line)
    commits = [{"hash": row[0], "subject": row[1]} for row in rows]
    json.dump({"since": since, "commits": commits}, sys.stdout, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
