"""Write a review to review.md. Usage: write_review.py COMMENT"""

import sys
from pathlib import Path

TARGET = Path("review.md")

if __name__ == "__main__":
    TARGET.write_text(sys.argv[1].rstrip("\n") + "\n", encoding="utf-8")
    sys.stdout.write(f"wrote {TARGET}\n")
