"""Adapter types by name: the built-in types and the entry points of other packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forum_adapters.base import Adapter
from forum_adapters.plugins import PluginGroup

ADAPTER_TYPES = PluginGroup(
    group="forum.adapters",
    noun="adapter type",
    methods=("answer", "probe", "close"),
    own={
        "anthropic": "forum_adapters.anthropic:AnthropicAdapter",
        "command": "forum_adapters.command:CommandAdapter",
        "openai": "forum_adapters.openai:OpenAIAdapter",
        "scripted": "forum_adapters.scripted:ScriptedAdapter",
    },
    internal={"replay": "forum_adapters.replay:ReplayAdapter"},
)


def make_adapter(name: str, settings: Mapping[str, Any]) -> Adapter:
    """Creates the adapter `name` of a roster. `settings["type"]` is its type."""
    adapter: Adapter = ADAPTER_TYPES.factory(settings["type"], f"'{name}'")(name, settings)
    return adapter
