"""One server for all tests of this folder that do not harm it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backends.servers import postgresql


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Of a PostgreSQL with pgvector."""
    with postgresql() as server:
        yield server.get_uri()
