"""A seeded bug of keyed operators: one that does not hold the output watermark."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.triggers.trigger import NEVER


def forget_hold(patch: pytest.MonkeyPatch, operator: Any) -> None:
    """Let a class of keyed operators hold nothing.

    Args:
        patch: undoes it after the test.
        operator: the class, with the method ``moments``.
    """
    moments = operator.moments

    def without_hold(self: Any, state: Any) -> Any:
        found = moments(self, state)
        return found and found._replace(hold=NEVER)

    patch.setattr(operator, "moments", without_hold)
