"""Side inputs of splittable DoFns: a restriction keeps the values that its element has seen.

The step that divides elements into restrictions has the side inputs. There an element waits for them as
anywhere; then each of its restrictions takes the values along, however often it is deferred. So all parts of
an element see the same values, on each runner.
"""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen(eq=False)
class SideValues:
    """The values of a side input in a window, which no function gets.

    Attributes:
        values: the values, in no defined order.
    """

    values: list[Any]


@attrs.frozen
class KeptView:
    """The values as they are, for the restrictions of an element."""

    def __call__(self, values: list[Any], name: str) -> SideValues:
        """Return the values."""
        return SideValues(values)
