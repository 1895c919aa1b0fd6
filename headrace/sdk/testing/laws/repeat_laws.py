"""The law of splittable DoFns: what they emit, in any number of parts and rounds."""

from __future__ import annotations

from collections import Counter
from typing import Final

from headrace.sdk.testing.laws.pane_law import Broken, PaneLaw
from headrace.sdk.testing.runs.batch_oracle import Part
from headrace.sdk.testing.runs.repeating import number_of_outputs, repeated
from headrace.sdk.testing.runs.run_on_runner import GroupingInput
from headrace.windowing.time.timestamps import Timestamp


def _lost_or_repeated(part: Part) -> Broken:
    for before, after in part.observed.repeats:
        expected = Counter(row for e in before for row in _outputs(e))
        found = Counter((e.key, repr(e.value), e.timestamp) for e in after)
        if found != expected:
            yield {"missing": expected - found, "too many": found - expected}


def _outputs(e: GroupingInput) -> list[tuple[object, str, int]]:
    """Return the key, value and timestamp of each output of a :class:`Repeat` for an element."""
    pair, time = (e.key, e.value), Timestamp(micros=e.timestamp)
    outputs = [repeated(pair, number, time) for number in range(number_of_outputs(pair))]
    return [(e.key, repr(o.value[1]), o.timestamp.micros) for o in outputs]


REPEATED_ONCE: Final = PaneLaw(
    "a splittable DoFn emits each of its outputs once, wherever its work is divided and deferred",
    lambda part: bool(part.observed.repeats),
    _lost_or_repeated,
)
