"""The picture of the Dataflow paper: event time across, processing time up, drawn by Vega-Altair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from headrace.errors import PipelineError
from headrace.sdk.metrics.run_records import ElementRecord, PaneRecord
from headrace.sdk.observing.drawing.layers import chart_of
from headrace.sdk.observing.drawing.marks import Marks, marks_of
from headrace.sdk.observing.drawing.stretches import stretches
from headrace.sdk.observing.drawing.theme import config
from headrace.sdk.observing.history import GroupingHistory, History, SeenElement, SeenPane
from headrace.windowing.time.timestamps import MIN_MICROS

if TYPE_CHECKING:
    from altair import LayerChart


class CapturedOutput(Protocol):
    """The object that :func:`headrace.testing.capture` returns."""

    @property
    def elements(self) -> Sequence[Any]:
        """The captured elements."""


def picture(
    source: CapturedOutput | History,
    *,
    key: object = None,
    label: str | None = None,
    elements: CapturedOutput | None = None,
) -> LayerChart:
    """Draw the panes of one key as the Dataflow paper does; a notebook shows the result.

    Args:
        source: the panes: a capture of the output of a grouping, or the history of a run.
        key: the key; by default the first one of a capture, and one of a history that lives and has many
            elements or panes.
        label: the label of a grouping of the history; by default the first one with panes.
        elements: a capture of the input of the grouping. A history has the elements, and the watermark.

    Raises:
        PipelineError: Altair is not installed, or there is no such grouping or key.

    >>> import headrace as hr
    >>> from headrace.testing import TestPipeline, capture
    >>> with TestPipeline() as p:
    ...     numbers = p | hr.Create([hr.TimestampedValue(("ann", n), n) for n in (5, 70)])
    ...     panes = capture(
    ...         numbers | hr.WindowInto(hr.window.FixedWindows(60)) | hr.CombinePerKey(sum)
    ...     )
    >>> chart = hr.picture(panes)
    >>> chart.to_dict()["title"]
    'ann'
    """
    if isinstance(source, History):
        label, samples = _grouping(source, label)
        name = _chosen(key, samples.ranked())
        _, marks = marks_of_key(source, label, name)[-1]
        return _styled(chart_of(marks, title=f"{label}: {name}"))
    records = _from_capture(source, elements)
    name = _chosen(key, records.keys)
    marks = marks_of(
        [e for e in records.elements if e.element.key == name],
        [p for p in records.panes if p.pane.key == name],
    )
    return _styled(chart_of(marks, title=name))


def _styled(chart: LayerChart) -> LayerChart:
    styles = config()
    del styles["legend"]["layout"]  # Vega-Lite has it, but not the schema by which Altair validates
    styled: LayerChart = chart.configure(**styles)
    return styled


def marks_of_key(
    history: History, label: str, key: str, since: int | None = None
) -> list[tuple[str, Marks]]:
    """Return the marks of one key of a grouping, with the names of its stretches if it has many windows.

    Args:
        history: the run.
        label: label of the grouping.
        key: the key.
        since: the processing time of the first records in microseconds; None for all.
    """
    first = MIN_MICROS if since is None else since
    samples = history.groupings[label]
    elements = [e for e in samples.elements if e.element.key == key and e.now >= first]
    panes = [p for p in samples.panes if p.pane.key == key and p.now >= first]
    watermarks = history.watermarks(label)
    return [
        (stretch.name, marks_of(stretch.elements, stretch.panes, watermarks))
        for stretch in stretches(elements, panes)
    ]


def _grouping(history: History, label: str | None) -> tuple[str, GroupingHistory]:
    found = {name: some for name, some in history.groupings.items() if label in (None, name)}
    if not found:
        known = ", ".join(history.groupings) or "none"
        raise PipelineError(f"the run has no grouping {label!r}; its groupings are: {known}")
    return next(((n, some) for n, some in found.items() if some.panes), next(iter(found.items())))


def _chosen(key: object, keys: Sequence[str]) -> str:
    if key is None and keys:
        return keys[0]
    if str(key) not in keys:
        known = ", ".join(keys[:10]) or "none"
        raise PipelineError(f"there are no panes of the key {key!r}; some keys are: {known}")
    return str(key)


def _from_capture(panes: CapturedOutput, elements: CapturedOutput | None) -> GroupingHistory:
    """Return the records of captures; their elements should be (key, value) pairs."""
    records = GroupingHistory()
    records.add(
        [
            SeenElement(
                one.now.micros, ElementRecord(key, value, one.timestamp.micros, one.diff), False
            )
            for one, key, value in (_pairs(elements) if elements else ())
        ],
        [
            SeenPane(
                one.now.micros,
                PaneRecord(
                    key,
                    value,
                    one.timestamp.micros,
                    window[0],
                    window[1],
                    one.pane.timing.name,
                    one.pane.index,
                    one.diff,
                ),
            )
            for one, key, value in _pairs(panes)
            for window in one.windows
        ],
    )
    return records


def _pairs(captured: CapturedOutput) -> Iterator[tuple[Any, str, Any]]:
    paired = all(isinstance(one.value, tuple) and len(one.value) == 2 for one in captured.elements)
    for one in captured.elements:
        key, value = one.value if paired else ("", one.value)
        yield one, str(key), value if isinstance(value, int | float) else str(value)
