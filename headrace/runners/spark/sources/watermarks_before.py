"""The watermarks of sources before a batch, by which the workers that read know which elements are not late.

A grouping decides about late elements by its watermark before the batch. If no grouping comes before it, that
is the least watermark of its sources: the latest that each had is in Spark's offset log, or the driver has
seen it at the end of the batch before. So a worker that reads need not send elements for a late output, and
sessions can merge before the shuffle. Any later watermark would do, too: then the worker sends elements of
which the grouping finds that they are not late. An earlier one would not. So a grouping whose sources were
changed since its state began does not count on it, nor one with sources that Spark reads itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from headrace.runners.sources.source_positions import Position
from headrace.runners.spark.shuffle.control_rows import Control


def write_observed(path: Path, control: Control, observed: Collection[str]) -> None:
    """Write the watermarks of observed sources at the end of a batch, with its round, if there are any."""
    if observed:
        found = {label: control.watermarks[label] for label in observed}
        path.write_text(json.dumps([control.round, found]))


def watermarks_before(before: Position, observed: Collection[str], path: Path) -> dict[str, int]:
    """Return the watermarks of sources before a round, by label, as far as they are known.

    Args:
        before: the end of the round before.
        observed: labels of the sources whose watermarks are not in positions.
        path: where those of a round are (:func:`write_observed`).
    """
    reached = before.reached
    known = {label: watermark for label, watermark in reached.items() if label not in observed}
    if observed and path.is_file():
        number, found = json.loads(path.read_text())
        if number == before.round:
            known.update((label, max(w, reached.get(label, w))) for label, w in found.items())
    return known
