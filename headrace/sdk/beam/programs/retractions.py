"""Retractions in a program of Beam: panes that replace earlier ones, and changes as values."""

from __future__ import annotations

from copy import copy
from typing import Any, Final, TypeVar

import apache_beam as beam
from apache_beam.portability.api import beam_runner_api_pb2

WindowsT = TypeVar("WindowsT")

RETRACTING_IN_BEAM: Final = beam_runner_api_pb2.AccumulationMode.RETRACTING
"""Beam's number of the mode, which Beam reserves."""


def retracting(windows: WindowsT) -> WindowsT:
    """Return a ``beam.WindowInto`` whose panes retract the panes before them.

    Only Headrace runs it. Functions process a retraction as they process its value, and what they emit for it
    is retracted, so they must be deterministic. ``ToChangelog`` makes values of both.

    Args:
        windows: the ``beam.WindowInto``, with a trigger; its accumulation mode does not matter.

    Raises:
        TypeError: it is another transform.

    >>> import apache_beam as beam
    >>> from apache_beam.transforms.window import FixedWindows
    >>> retracting(beam.WindowInto(FixedWindows(60))).windowing.accumulation_mode
    3
    """
    if not isinstance(windows, beam.WindowInto):
        raise TypeError(f"retracting takes a beam.WindowInto, not {windows!r}")
    made: Any = copy(windows)
    made.windowing = copy(made.windowing)
    made.windowing.accumulation_mode = RETRACTING_IN_BEAM
    result: WindowsT = made
    return result


class BeamToChangelog(beam.PTransform[Any, Any]):
    """Turns each value into (1, value), and each retraction into (-1, value).

    On Beam's runners, which have no retractions, all pairs begin with 1.

    >>> import apache_beam as beam
    >>> from headrace.beam import ToChangelog
    >>> with beam.Pipeline(runner="headrace.beam.HeadraceRunner") as p:
    ...     _ = p | beam.Create(["rye"]) | ToChangelog() | beam.Map(print)
    (1, 'rye')
    """

    def default_label(self) -> str:
        """Return the public name."""
        return "ToChangelog"

    def expand(self, pcoll: Any) -> Any:
        """Pair each value with 1."""
        return pcoll | beam.Map(_inserted)


def _inserted(value: Any) -> tuple[int, Any]:
    return 1, value
