"""The schemas and manifests that ship with forum, in an installation or a checkout."""

import json
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

_CHECKOUT = Path(__file__).resolve().parents[2]


@cache
def _data(package: str, folder: str) -> Traversable:
    """The data of a package. An editable install has no such package, so the folder of the checkout is used."""
    try:
        return files(package)
    except ModuleNotFoundError:
        return _CHECKOUT / folder


def schema_folder() -> Traversable:
    return _data("forum_schemas", "schemas") / "v1"


def schema_names() -> list[str]:
    suffix = ".schema.json"
    return sorted(item.name.removesuffix(suffix) for item in schema_folder().iterdir() if item.name.endswith(suffix))


def schema_text(name: str) -> str:
    return (schema_folder() / f"{name}.schema.json").read_text(encoding="utf-8")


@cache
def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(schema_text(name))
    return loaded


def manifest(path: str) -> Traversable:
    """A manifest that ships with forum, such as `default/policy.yaml`, or a folder of manifests."""
    resource = _data("forum_manifests", "manifests")
    # In Python 3.11, `joinpath` of a namespace package takes one name.
    for name in path.split("/"):
        resource = resource / name
    return resource
