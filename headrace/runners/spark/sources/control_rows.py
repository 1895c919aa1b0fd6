"""Control rows: watermarks and the clock, travelling in the data.

Every place of a level hears in every batch from every place of the level before it, after the data. So
it knows the watermark of all that it reads from without any memory, in the same batch, over any number of
levels; and since the first of these rows come from the offset log, a replayed batch says the same again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Final

import attrs

CONTROL: Final = -2
"""The step of control rows."""


@attrs.frozen
class Control:
    """What time it is.

    Attributes:
        round: number of the round.
        now: processing time in microseconds.
        watermarks: the output watermark of each source and each grouping so far, by label.
        done: whether all sources have come to their end.
    """

    round: int
    now: int
    watermarks: Mapping[str, int]
    done: bool

    def behind(self, outputs: Mapping[str, int]) -> Control:
        """Return the control for the next level, with the output watermarks of more nodes."""
        return attrs.evolve(self, watermarks={**self.watermarks, **outputs})


def together(controls: Iterable[Control]) -> Control:
    """Return what several places say together: of each watermark the minimum."""
    return reduce(_both, controls)


def _both(one: Control, other: Control) -> Control:
    common = {label: min(mark, other.watermarks[label]) for label, mark in one.watermarks.items()}
    return attrs.evolve(one, watermarks=common)
