"""Reads a policy. Missing fields have the defaults of the model."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from forum_runner.document import Origin
from forum_runner.manifest.raw_value import has_wrong_type
from forum_runner.manifest.shared_fields import read_budget, read_retry, to_model_units
from forum_runner.model import Allow, Policy, Rate

ANY = "*"

_COPIED_FIELDS = ("max_parallel", "dispatch", "on_failure", "on_lost", "durability", "engine")


def read_policy(value: Mapping[str, Any], origin: Origin) -> Policy:
    given_fields: dict[str, Any] = {name: value[name] for name in _COPIED_FIELDS if name in value}
    if "budget" in value:
        given_fields["budget"] = read_budget(value["budget"], origin.at("budget"))
    if "retry" in value:
        given_fields["retry"] = read_retry(value["retry"])
    privacy = value.get("privacy", {})
    return Policy(
        origin=origin,
        allow=_allow(value.get("allow", {}), origin.at("allow")),
        rates={name: Rate(**to_model_units(rate)) for name, rate in value.get("rates", {}).items()},
        sensitive=privacy.get("sensitive", False),
        scrub_env=_sorted_names(privacy.get("scrub_env", ())),
        **given_fields,
    )


def _allow(value: Mapping[str, Any], origin: Origin) -> Allow:
    """The allow-lists. An invalid list allows everything: it has a finding, and refusals would only be consequences."""
    lists: dict[str, tuple[str, ...]] = {}
    for name in (field.name for field in fields(Allow)):
        if has_wrong_type(origin, dict) or has_wrong_type(origin.at(name), list) or None in value.get(name, ()):
            lists[name] = (ANY,)
        elif name in value:
            lists[name] = _sorted_names(value[name])
    return Allow(**lists)


def _sorted_names(items: Any) -> tuple[str, ...]:
    return tuple(sorted(item for item in items if item is not None))
