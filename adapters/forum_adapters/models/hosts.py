"""Decides which hosts a call may reach (MANIFEST-POLICY-003)."""

from __future__ import annotations

from collections.abc import Iterable

import httpx

_ANY_HOST = "*"
_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_allowed(url: httpx.URL, allowed: Iterable[str]) -> bool:
    """Whether a pattern allows the host: `name` with any port, `name:port`, `*.name` for subdomains, or `*`."""
    host = url.host.lower()
    bracketed = _bracket_ipv6(host)
    names = (_ANY_HOST, host, bracketed, f"{bracketed}:{_port(url)}")
    patterns = [pattern.lower() for pattern in allowed]
    return any(
        pattern in names or (pattern.startswith("*.") and host.endswith(pattern.removeprefix("*")))
        for pattern in patterns
    )


def is_same_server(first: httpx.URL, second: httpx.URL) -> bool:
    return (first.scheme, first.host, _port(first)) == (second.scheme, second.host, _port(second))


def host_and_port(url: httpx.URL) -> str:
    host = _bracket_ipv6(url.host)
    return host if url.port is None else f"{host}:{url.port}"


def _port(url: httpx.URL) -> int | None:
    return url.port or _DEFAULT_PORTS.get(url.scheme)


def _bracket_ipv6(host: str) -> str:
    return f"[{host}]" if ":" in host else host
