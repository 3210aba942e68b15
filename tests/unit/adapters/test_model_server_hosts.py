"""The hosts that a call may connect to."""

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_adapters.base import ErrorKind
from forum_adapters.models.hosts import is_allowed, is_same_server
from forum_runner.compile.permissions import is_host_allowed
from servers.adapter_calls import ask_at, attempt
from servers.faulty import FaultyServer
from servers.formats import Format

HOSTS = st.sampled_from(["localhost", "LocalHost", "a.example.com", "example.com", "127.0.0.1", "[::1]"])
PORTS = st.sampled_from(["", ":80", ":443", ":8080"])
PATTERNS = st.sampled_from(["*", "*.com", "*.example.com", "*.EXAMPLE.com", "::1", "*.1"])


@pytest.mark.requirement("MANIFEST-POLICY-003")
@pytest.mark.parametrize(
    ("url", "allowed", "expected"),
    [
        ("http://example.com/v1", "example.com", True),
        ("http://EXAMPLE.com:8080/v1", "Example.Com", True),
        ("http://example.com/v1", "example.com:80", True),
        ("https://example.com/v1", "example.com:443", True),
        ("https://example.com/v1", "example.com:80", False),
        ("http://example.com:8080/v1", "example.com:8081", False),
        ("http://a.b.example.com/v1", "*.example.com", True),
        ("http://example.com/v1", "*.example.com", False),
        ("http://badexample.com/v1", "*.example.com", False),
        ("http://[::1]:8080/v1", "[::1]", True),
        ("http://[::1]:8080/v1", "[::1]:8080", True),
        ("http://127.0.0.1/v1", "*", True),
        ("http://127.0.0.1/v1", "localhost", False),
    ],
)
def test_a_host_is_allowed_by_name_port_or_parent_domain(url: str, allowed: str, expected: bool) -> None:
    assert is_allowed(httpx.URL(url), [allowed]) is expected


@given(
    st.sampled_from(["http", "https"]),
    HOSTS,
    PORTS,
    st.lists(st.one_of(PATTERNS, HOSTS, st.builds("{}{}".format, HOSTS, PORTS))),
)
def test_the_compiler_allows_the_same_hosts(scheme: str, host: str, port: str, allowed: list[str]) -> None:
    url = f"{scheme}://{host}{port}/v1"

    assert is_allowed(httpx.URL(url), allowed) == is_host_allowed(url, allowed)


def test_an_origin_is_a_scheme_a_host_and_a_port() -> None:
    origin = httpx.URL("http://example.com/a")

    urls = ["http://example.com:80/b", "https://example.com/a", "http://example.com:81/a", "http://example.org/a"]

    assert [is_same_server(origin, httpx.URL(url)) for url in urls] == [True, False, False, False]


@pytest.mark.parametrize("format_", Format)
def test_a_host_that_is_not_allowed_is_not_contacted(format_: Format) -> None:
    with FaultyServer() as server:
        reply = ask_at(format_, server.base_url, attempt(hosts=("localhost", "127.0.0.1:1")))

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.INVALID_REQUEST
    assert reply.failure.message == f"the policy does not allow the host '127.0.0.1:{server.port}'"
    assert (server.requests, server.connections) == ([], 0)


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/v1", "http://[::zz]/v1", "http://:80/v1"])
def test_an_invalid_address_is_an_invalid_request(url: str) -> None:
    reply = ask_at(Format.OPENAI, url, attempt(hosts=("*",)))

    assert reply.failure is not None
    assert (reply.failure.kind, reply.failure.message) == (
        ErrorKind.INVALID_REQUEST,
        f"'{url}' is not the address of a server",
    )
