"""Decides which hosts a call may reach (MANIFEST-POLICY-003)."""

from __future__ import annotations

from collections.abc import Iterable

import httpx

_ANY = "*"
_PORTS = {"http": 80, "https": 443}


def is_allowed(url: httpx.URL, allowed: Iterable[str]) -> bool:
    """`name` allows every port, `name:port` one port, `*.name` all subdomains, `*` everything."""
    host = url.host.lower()
    bare = _in_brackets(host)
    names = (_ANY, host, bare, f"{bare}:{_port(url)}")
    patterns = [pattern.lower() for pattern in allowed]
    return any(
        pattern in names or (pattern.startswith("*.") and host.endswith(pattern.removeprefix("*")))
        for pattern in patterns
    )


def is_same_place(one: httpx.URL, other: httpx.URL) -> bool:
    return (one.scheme, one.host, _port(one)) == (other.scheme, other.host, _port(other))


def shown(url: httpx.URL) -> str:
    host = _in_brackets(url.host)
    return host if url.port is None else f"{host}:{url.port}"


def _port(url: httpx.URL) -> int | None:
    return url.port or _PORTS.get(url.scheme)


def _in_brackets(host: str) -> str:
    return f"[{host}]" if ":" in host else host
