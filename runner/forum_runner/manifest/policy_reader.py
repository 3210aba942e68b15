"""Reads a policy. Missing fields have the defaults of the model."""

from collections.abc import Mapping
from typing import Any

from forum_runner.document import Origin
from forum_runner.manifest.raw_value import has_wrong_type
from forum_runner.manifest.shared_fields import read_budget, read_retry
from forum_runner.model import Allow, Budget, Policy, Rate, Retry

ANY = "*"


def read_policy(value: Mapping[str, Any], origin: Origin) -> Policy:
    privacy = value.get("privacy", {})
    default = Policy(origin)
    return Policy(
        origin=origin,
        max_parallel=value.get("max_parallel", default.max_parallel),
        dispatch=value.get("dispatch", default.dispatch),
        budget=read_budget(value.get("budget"), origin.at("budget")) or Budget(),
        allow=_allow(value.get("allow", {}), origin.at("allow")),
        retry=read_retry(value.get("retry")) or Retry(),
        rates={name: _rate(rate) for name, rate in value.get("rates", {}).items()},
        on_failure=value.get("on_failure", default.on_failure),
        on_lost=value.get("on_lost", default.on_lost),
        sensitive=privacy.get("sensitive", default.sensitive),
        scrub_env=_sorted(privacy.get("scrub_env", ())),
        durability=value.get("durability", default.durability),
        engine=value.get("engine", default.engine),
    )


def _allow(value: Mapping[str, Any], origin: Origin) -> Allow:
    """An invalid list allows everything: it has its own finding, and others would only follow from it."""
    default = Allow()
    lists: dict[str, tuple[str, ...]] = {}
    for name in ("agents", "adapters", "commands", "hosts", "env"):
        if has_wrong_type(origin, dict) or has_wrong_type(origin.at(name), list) or None in value.get(name, ()):
            lists[name] = (ANY,)
        else:
            lists[name] = _sorted(value.get(name, getattr(default, name)))
    return Allow(**lists)


def _rate(value: Mapping[str, Any]) -> Rate:
    return Rate(value.get("requests_per_minute"), value.get("tokens_per_minute"))


def _sorted(items: Any) -> tuple[str, ...]:
    return tuple(sorted(item for item in items if item is not None))
