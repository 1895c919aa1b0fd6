"""Captures the elements of a collection with their metadata, for tests."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import attrs

from headrace.sdk.coders.net_elements import net
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.sources.sink import Sink, SinkBatch
from headrace.sdk.sources.writing import Write
from headrace.triggers.pane import PaneInfo
from headrace.windowing.time.timestamps import Timestamp, from_micros
from headrace.windowing.window import BoundedWindow


class Captured(NamedTuple):
    """An element of a collection.

    Attributes:
        value: the value.
        timestamp: its event time.
        windows: its windows.
        pane: the pane that it belongs to.
        diff: +1 for a value, -1 for the retraction of an earlier value.
        now: the processing time of its emission.
    """

    value: Any
    timestamp: Timestamp
    windows: tuple[BoundedWindow, ...]
    pane: PaneInfo
    diff: int
    now: Timestamp

    @property
    def window(self) -> BoundedWindow:
        """The only window of the element."""
        (window,) = self.windows
        return window


@attrs.define
class Capture(Sink):
    """The elements of a collection in order of emission, filled by the run (see :func:`capture`)."""

    accepts_retractions: ClassVar[bool] = True

    elements: list[Captured] = attrs.field(factory=list)

    def open(self) -> None:
        self.elements.clear()

    def write(self, batch: SinkBatch) -> None:
        now = Timestamp(micros=batch.now)
        for row in batch.bundle.rows():
            instant = from_micros(row.timestamp)
            self.elements.append(Captured(row.value, instant, row.windows, row.pane, row.diff, now))

    @property
    def values(self) -> list[Any]:
        """All values in order, including the values of retractions and retracted values (see :attr:`net`)."""
        return [element.value for element in self.elements]

    @property
    def net(self) -> list[Any]:
        """The values that stand: those that no retraction has removed, in order of emission."""
        return [element.value for element in net(self.elements)]

    @property
    def changes(self) -> list[tuple[int, Any]]:
        """The (diff, value) pairs."""
        return [(element.diff, element.value) for element in self.elements]


def capture(pcoll: PCollection[object], label: str = "capture") -> Capture:
    """Capture a collection; the capture contains its elements after the run.

    ``values`` are all values, with the values of retractions and retracted values; ``net`` are the values
    that stand, ``changes`` the (diff, value) pairs, and ``elements`` have all metadata.

    Args:
        pcoll: the collection.
        label: name of the step.

    >>> with TestPipeline() as p:
    ...     captured = capture(p | Create(["a", "b"]))
    >>> captured.values, captured.elements[0].diff
    (['a', 'b'], 1)
    >>> early = WindowInto(
    ...     FixedWindows(60),
    ...     trigger=Repeatedly(AfterCount(1)),
    ...     accumulation_mode=AccumulationMode.RETRACTING,
    ... )
    >>> with TestPipeline() as p:
    ...     stream = TestStream().add_elements([("a", 1)]).add_elements([("a", 2)])
    ...     sums = capture(p | stream.advance_watermark_to_infinity() | early | CombinePerKey(sum))
    >>> sums.values
    [('a', 1), ('a', 1), ('a', 3)]
    >>> sums.net
    [('a', 3)]
    """
    captured = Capture()
    _ = pcoll | label >> Write(captured)
    return captured
