"""`PYTHONPATH=conformance python -m wrong`: record which vectors detect which wrong implementation."""

import json

from wrong.detection import CAUGHT_FILE, detecting_vectors, wrong_implementations

record = {wrong.name: detecting_vectors(wrong) for wrong in wrong_implementations()}
CAUGHT_FILE.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
