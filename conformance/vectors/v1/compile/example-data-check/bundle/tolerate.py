"""Exit with code 1 if there are more problems than tolerated. Usage: tolerate.py PROBLEMS TOLERATED"""

import sys

if __name__ == "__main__":
    problems, tolerated = map(int, sys.argv[1:])
    sys.stdout.write(f"{problems} problems, {tolerated} tolerated\n")
    sys.exit(1 if problems > tolerated else 0)
