"""Reads a roster: adapters and agents."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from forum_runner.document import Origin
from forum_runner.manifest.shared_fields import read_budget, to_model_units
from forum_runner.manifest.units import parse_usd
from forum_runner.model import Agent, Prices, Roster, RosterAdapter, Tier

_MODEL_DEFAULTS = {
    "max_tokens": 4096,
    "timeout_ms": 120_000,
    "connect_timeout_ms": 10_000,
    "stream": True,
    "structured_output": "json_schema",
}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "command": {"cwd": ".", "env": [], "stdin": "text", "timeout_ms": 600_000, "max_output_bytes": 10_000_000},
    "openai": _MODEL_DEFAULTS,
    "anthropic": _MODEL_DEFAULTS,
}
_ENV_FIELDS = ("api_key_env", "proxy_env")


def read_roster(value: Mapping[str, Any], origin: Origin) -> Roster | None:
    """The roster, or None if its adapters or its agents are missing: references to them could not be checked."""
    if "adapters" not in value or "agents" not in value:
        return None
    return Roster(
        adapters={n: _adapter(n, v, origin.at("adapters", n)) for n, v in value["adapters"].items()},
        agents={n: _agent(n, v, origin.at("agents", n)) for n, v in value["agents"].items()},
    )


def is_url(text: str) -> bool:
    """Whether a URL that matches the schema has a host and a valid port."""
    try:
        parts = urlsplit(text)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _adapter(name: str, value: Mapping[str, Any], origin: Origin) -> RosterAdapter:
    if "type" not in value:
        # Without a type, no schema applies to the adapter's other fields.
        return RosterAdapter(origin, name, type="", settings={})
    prices = _prices(value.get("prices"))
    argv = value.get("argv")
    return RosterAdapter(
        origin=origin,
        name=name,
        type=value["type"],
        settings=_settings(value, prices),
        argv=tuple(argv) if argv else None,
        base_url=value.get("base_url"),
        env=tuple(item for item in value.get("env", ()) if item is not None),
        env_fields={field: value[field] for field in _ENV_FIELDS if field in value},
        prices=prices,
    )


def _settings(value: Mapping[str, Any], prices: Prices | None) -> dict[str, Any]:
    """The adapter's fields in the wave plan, with the defaults of its type and without `x-` fields."""
    settings = {**_DEFAULTS.get(value["type"], {}), **to_model_units(value)}
    settings.pop("prices", None)
    if "env" in value:
        settings["env"] = sorted(item for item in value["env"] if item is not None)
    if prices is not None:
        settings["prices"] = asdict(prices)
    return settings


def _prices(value: Mapping[str, Any] | None) -> Prices | None:
    if value is None or "input" not in value or "output" not in value:
        return None
    return Prices(
        input=parse_usd(value["input"]),
        cached_input=parse_usd(value.get("cached_input", value["input"])),
        output=parse_usd(value["output"]),
    )


def _agent(name: str, value: Mapping[str, Any], origin: Origin) -> Agent:
    """Reads an agent. `tier` defaults to `capable` if the agent has a single adapter, or else to its lowest tier."""
    by_tier = {Tier(tier): adapter for tier, adapter in value.get("adapters", {}).items() if not tier.startswith("x-")}
    lowest = min(by_tier, key=lambda tier: tier.rank) if by_tier else Tier.CAPABLE
    tier = Tier(value["tier"]) if "tier" in value else lowest
    if "adapter" in value:
        by_tier = {tier: value["adapter"]}
    return Agent(
        origin=origin,
        name=name,
        tier=tier,
        adapters=by_tier,
        is_tiered="adapter" not in value,
        domain=value.get("domain"),
        keywords=tuple(sorted(word for word in value.get("keywords", ()) if word is not None)),
        persona=value.get("persona"),
        limits=read_budget(value["limits"], origin.at("limits")) if "limits" in value else None,
    )
