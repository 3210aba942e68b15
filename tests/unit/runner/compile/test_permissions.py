"""Permissions in a policy: agents, adapters, commands, hosts and environment variables."""

from typing import Any

import pytest

from bundles import ROSTER, compile_plan, plan_finding_codes
from forum_runner.compile.permissions import is_host_allowed

RUN = {"agent": "operator", "run": ["true"]}
MODEL = {"type": "openai", "base_url": "https://Models.example.com/v1", "model": "m", "api_key_env": "KEY"}


def finding_codes(allow: dict[str, Any], **adapter: Any) -> list[str]:
    """Return the codes for a plan that uses a command, a model and a command check."""
    roster = {
        "adapters": ROSTER["adapters"] | {"model": MODEL | adapter, "unused": MODEL},
        "agents": ROSTER["agents"] | {"asker": {"adapter": "model"}, "idle": {"adapter": "unused"}},
    }
    tasks = {"run": RUN, "ask": {"agent": "asker", "instruction": "x", "accept": [{"command": ["test", "x"]}]}}
    return plan_finding_codes({"tasks": tasks}, roster=roster, policy={"allow": allow})


SUFFICIENT = {"commands": ["true", "test"], "hosts": ["models.example.com"], "env": ["KEY"]}


@pytest.mark.requirement("MANIFEST-POLICY-002", "MANIFEST-POLICY-004")
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"agents": ["operator"]}, ["F501"]),
        ({"agents": ["*"]}, []),
        ({"adapters": ["shell"]}, ["F502"]),
        ({"commands": ["true"]}, ["F503"]),
        ({"commands": ["*"]}, []),
        ({"commands": ["/bin/true", "test"]}, ["F503"]),
        ({"hosts": []}, ["F504"]),
        ({"hosts": ["*"]}, []),
        ({"env": []}, ["F505"]),
        ({"agents": ["operator", "asker", "writter"]}, ["F506"]),
        ({"commands": [], "hosts": [], "env": []}, ["F503", "F503", "F504", "F505"]),
    ],
)
def test_anything_the_policy_does_not_allow_is_a_finding(change: dict[str, Any], expected: list[str]) -> None:
    assert sorted(finding_codes(SUFFICIENT | change)) == expected


@pytest.mark.requirement("MANIFEST-POLICY-004")
def test_environment_variables_of_programs_and_proxies_need_permission() -> None:
    roster = {
        "adapters": {"shell": {"type": "command", "env": ["SECRET"]}},
        "agents": {"operator": {"adapter": "shell"}},
    }

    assert plan_finding_codes({"tasks": {"run": RUN}}, roster=roster, policy={"allow": {"commands": ["true"]}}) == [
        "F505"
    ]
    assert finding_codes(SUFFICIENT, proxy_env="PROXY") == ["F505"]


@pytest.mark.requirement("MANIFEST-POLICY-003")
@pytest.mark.parametrize(
    ("url", "allowed", "is_allowed"),
    [
        ("https://a.example.com/v1", ["a.example.com"], True),
        ("https://A.Example.com/v1", ["a.EXAMPLE.com"], True),
        ("https://a.example.com:8443/v1", ["a.example.com"], True),
        ("https://a.example.com:8443/v1", ["a.example.com:443"], False),
        ("https://a.example.com/v1", ["a.example.com:443"], True),
        ("http://a.example.com/v1", ["a.example.com:80"], True),
        ("https://a.example.com", ["*.example.com"], True),
        ("https://example.com", ["*.example.com"], False),
        ("https://evilexample.com", ["*.example.com"], False),
        ("https://a.example.com.evil.org", ["a.example.com", "*.example.com"], False),
        ("https://user@evil.org", ["user"], False),
        ("http://[::1]:8080", ["[::1]"], True),
        ("http://[::1]:8080", ["[::1]:8080"], True),
        ("http://127.0.0.1:99999", ["127.0.0.1"], False),
        ("https://anything.org", ["*"], True),
    ],
)
def test_hosts_are_matched_by_name_port_and_suffix(url: str, allowed: list[str], is_allowed: bool) -> None:
    assert is_host_allowed(url, allowed) is is_allowed


@pytest.mark.requirement("MANIFEST-POLICY-001")
def test_an_empty_policy_gets_the_documented_defaults() -> None:
    tasks = {"ask": {"agent": "critic", "instruction": "x"}}

    policy = compile_plan({"tasks": tasks}, policy={"retry": {}})["policy"]

    assert policy == {
        "max_parallel": 4,
        "dispatch": "waves",
        "budget": {},
        "allow": {
            "agents": ["*"],
            "adapters": ["*"],
            "commands": [],
            "hosts": ["127.0.0.1", "[::1]", "localhost"],
            "env": ["HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ"],
        },
        "retry": {"attempts": 1, "backoff_ms": 1000, "max_backoff_ms": 60000},
        "rates": {},
        "on_failure": "stop",
        "privacy": {"sensitive": False, "scrub_env": []},
        "durability": "batch",
    }
    assert compile_plan({"tasks": tasks}, policy={})["policy"] == policy
