"""Fixtures for the acceptance tests."""

from collections.abc import Iterator

import pytest

from servers.faulty import FaultyServer


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer() as server:
        yield server
