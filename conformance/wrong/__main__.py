"""`PYTHONPATH=conformance python -m wrong`: record which vectors detect which wrong implementation."""

import json

from wrong.detection import RECORD, caught_by, wrong_implementations

record = {wrong.name: caught_by(wrong) for wrong in wrong_implementations()}
RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
