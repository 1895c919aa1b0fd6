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

from headrace.triggers.trigger import NEVER

CONTROL: Final = -2
"""The step of control rows."""

BEFORE: Final = -7
"""The step of rows with the watermarks of sources before the batch, of which each task of level 0 has one."""


@attrs.frozen
class Control:
    """The watermarks and the processing time of a batch.

    Attributes:
        round: number of the round.
        now: processing time in microseconds.
        watermarks: output watermarks of the sources and of the groupings up to this level, by label.
        done: whether all sources are finished.
        draining: whether the run is drained.
        resumes_at: the processing time at which a restriction up to this level goes on; NEVER if all have
            ended.
    """

    round: int
    now: int
    watermarks: Mapping[str, int]
    done: bool
    draining: bool = False
    resumes_at: int = NEVER

    def with_outputs(self, outputs: Mapping[str, int], resumes_at: int = NEVER) -> Control:
        """Return the control for the next level, which adds what this one tells.

        Args:
            outputs: the output watermarks of the steps of this level, by label.
            resumes_at: the processing time at which a restriction of this level goes on.
        """
        return attrs.evolve(
            self,
            watermarks={**self.watermarks, **outputs},
            resumes_at=min(self.resumes_at, resumes_at),
        )


def merged(controls: Iterable[Control]) -> Control:
    """Return the control of several tasks together: the minimum of each watermark and time."""
    return reduce(_merged, controls)


def _merged(one: Control, other: Control) -> Control:
    minimum = {label: min(w, other.watermarks[label]) for label, w in one.watermarks.items()}
    return attrs.evolve(one, watermarks=minimum, resumes_at=min(one.resumes_at, other.resumes_at))
