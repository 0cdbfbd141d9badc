"""The reference package, in a process of its own, for every test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from reference.harness import REFERENCE_VERSION, Reference, install

# A busy machine is slow, not wrong; the suite's own timeout catches what hangs.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


LONGEST = 3600  # seconds of a long test; others have the suite's timeout


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("long") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(LONGEST))


@pytest.fixture(scope="session")
def reference() -> Iterator[Reference]:
    """A worker with the reference imported. Fails, and does not skip, where it cannot be installed."""
    worker = Reference(install(f"poincare-memory=={REFERENCE_VERSION}"))
    yield worker
    worker.close()
