"""The registry of classes as another process would have it."""

from __future__ import annotations

import pytest

from headrace.sdk.coders.stored import names, registered


def clean_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget all registrations until the end of the test."""
    for module, name in (
        (names, "_CLASSES"),
        (names, "_NAMES"),
        (registered, "_REGISTERED"),
        (registered, "_CODED"),
    ):
        found = getattr(module, name)
        for key in list(found):
            monkeypatch.delitem(found, key)
        monkeypatch.setattr(module, name, {})
    registered.reducers.clear()
