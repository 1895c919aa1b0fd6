"""Control rows: watermarks and processing time as part of the data.

In every batch, every task of a level sends a control row to every key group of the next level, after the
data. So each key group knows the watermarks of its inputs in the same batch, without state, for any number
of levels. The first control rows come from the offset log, so a replayed batch has the same watermarks.
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
    """The watermarks and the processing time of a batch.

    Attributes:
        round: number of the round.
        now: processing time in microseconds.
        watermarks: output watermarks of the sources and of the groupings up to this level, by label.
        done: whether all sources are finished.
    """

    round: int
    now: int
    watermarks: Mapping[str, int]
    done: bool

    def with_outputs(self, outputs: Mapping[str, int]) -> Control:
        """Return the control for the next level, which adds the output watermarks of this one."""
        return attrs.evolve(self, watermarks={**self.watermarks, **outputs})


def merged(controls: Iterable[Control]) -> Control:
    """Return the control of several tasks together: the minimum of each watermark."""
    return reduce(_merged, controls)


def _merged(one: Control, other: Control) -> Control:
    minimum = {label: min(w, other.watermarks[label]) for label, w in one.watermarks.items()}
    return attrs.evolve(one, watermarks=minimum)
