"""A registry without what the tests register."""

from __future__ import annotations

import pytest

from tests.unit.sdk.serialization.registry import clean_registry


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the registrations of a test."""
    clean_registry(monkeypatch)
