"""`forum explain`"""

from __future__ import annotations

import click

from forum_runner.commands.output import say


@click.command("explain", short_help="Tell more about the code of a finding.")
@click.argument("code", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(code: str | None, as_json: bool) -> int:
    """Tell more about the code of a finding, such as F012. Without CODE, list all codes."""
    import json
    from dataclasses import asdict

    from forum_runner.errors import UsageError
    from forum_runner.explanations import explanations
    from forum_runner.manifest.suggest import hint_for

    known = explanations()
    if code is None:
        if as_json:
            say(json.dumps([asdict(item) for item in known.values()], indent=2))
        else:
            say("\n".join(f"{item.code}  {item.title}" for item in known.values()))
        return 0
    item = known.get(code.upper())
    if item is None:
        raise UsageError(f"there is no code '{code}'; {hint_for(code.upper(), known, 'codes')}")
    say(json.dumps(asdict(item), indent=2) if as_json else f"{item.code}  {item.title}\n\n{item.text}")
    return 0
