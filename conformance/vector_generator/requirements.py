"""The requirements of `docs/spec`, read from its pages."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPECIFICATION = ROOT / "docs" / "spec"
_REQUIREMENT = re.compile(r"^\*\*([A-Z]+-[A-Z]+-[0-9]{3})\*\* ", re.MULTILINE)


def requirements() -> dict[str, list[str]]:
    """The requirement ids of each page, in the order of the page. Pages without requirements are omitted."""
    pages = sorted(SPECIFICATION.glob("*.md"))
    ids_by_page = {page.name: _REQUIREMENT.findall(page.read_text(encoding="utf-8")) for page in pages}
    return {page: ids for page, ids in ids_by_page.items() if ids}
