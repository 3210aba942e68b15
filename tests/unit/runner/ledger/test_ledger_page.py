"""The table of kinds in the specification matches the schema."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[4]
SCHEMA = json.loads((ROOT / "schemas" / "v1" / "entry.schema.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "spec" / "ledger.md").read_text(encoding="utf-8")
KINDS = [branch["if"]["properties"]["kind"]["const"] for branch in SCHEMA["allOf"]]


def names(schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    return ", ".join(f"`{name}`" if name in required else f"`{name}`?" for name in schema["properties"]) or "none"


@pytest.mark.requirement("LEDGER-ENTRY-002")
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_lists_the_data_and_bodies_of_each_kind(kind: str) -> None:
    properties = SCHEMA["$defs"][kind]["properties"]

    assert f"| `{kind}` | {names(properties['data'])} | {names(properties['bodies'])} | " in PAGE


def test_the_page_lists_no_other_kinds() -> None:
    assert re.findall(r"^\| `([a-z]+\.[a-z]+)` \| ", PAGE, re.MULTILINE) == KINDS
