"""Assertions about the elements of collections, checked at the end of the run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from headrace.errors import PipelineError
from headrace.grouping.bundle import Element
from headrace.sdk.coders.net_elements import net
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.sink import Sink, SinkBatch
from headrace.sdk.sources.writing import Write
from headrace.sdk.testing.assertions.matchers import EqualToPerWindow, Matcher
from headrace.triggers.pane import NO_FIRING, PaneInfo
from headrace.windowing.time.timestamps import Timestamp
from headrace.windowing.window import BoundedWindow


class TestWindowedValue(NamedTuple):
    """An element in the form that a matcher gets with ``reify_windows`` (Beam's name)."""

    value: Any
    timestamp: Timestamp
    windows: list[BoundedWindow]
    pane_info: PaneInfo = NO_FIRING


TestWindowedValue.__test__ = False  # type: ignore[attr-defined]  # pytest must not collect it as a test


class AssertingSink(Sink):
    """Collects elements, and checks them with a matcher at the end of the run."""

    accepts_retractions: ClassVar[bool] = True

    def __init__(self, matcher: Matcher, label: str, reify: bool, by_window: bool) -> None:
        self._matcher = matcher
        self._label = label
        self._reify = reify
        self._by_window = by_window
        self._rows: list[Element] = []

    def open(self) -> None:
        self._rows.clear()

    def write(self, batch: SinkBatch) -> None:
        self._rows.extend(batch.bundle.rows())

    def close(self) -> None:
        """Check the elements.

        Raises:
            BeamAssertException: the elements do not match.
        """
        try:
            for group in self._groups():
                self._matcher(group)
        except AssertionError as error:
            error.add_note(f"in {self._label}")
            raise

    def _groups(self) -> Iterator[Any]:
        """Yield the arguments of the matcher's calls: one call, or one for each window."""
        rows = net(self._rows)
        if not self._by_window:
            yield [self._value_of(row) for row in rows]
            return
        found = defaultdict(list)
        for row in rows:
            for window in row.windows:
                found[window].append(self._value_of(row._replace(windows=(window,))))
        for window in sorted(found):
            yield found[window], window

    def _value_of(self, row: Element) -> object:
        if not self._reify:
            return row.value
        instant = Timestamp(micros=row.timestamp)
        return TestWindowedValue(row.value, instant, list(row.windows), row.pane)


class AssertThat(PTransform[Any, Any]):
    """Asserts that a collection matches; :func:`assert_that` as a transform.

    Args:
        matcher: called with the list of elements at the end of the run.
        reify_windows: whether the matcher gets TestWindowedValues instead of values.
        use_global_window: if false, the matcher is called for each window, with elements and window.

    >>> from headrace.sdk.testing.assertions.matchers import equal_to
    >>> with TestPipeline() as p:
    ...     _ = p | Create([1, 2]) | AssertThat(equal_to([2, 1]))
    """

    def __init__(
        self, matcher: Matcher, reify_windows: bool = False, use_global_window: bool = True
    ) -> None:
        super().__init__()
        self._matcher = matcher
        per_window = isinstance(matcher, EqualToPerWindow)
        self._reify = reify_windows or per_window
        self._by_window = not (use_global_window or per_window)

    def expand(self, pcoll: Any) -> Any:
        scope = pcoll.pipeline.scope
        return pcoll | Write(AssertingSink(self._matcher, scope, self._reify, self._by_window))


def assert_that(
    actual: PCollection[object],
    matcher: Matcher,
    label: str = "assert_that",
    reify_windows: bool = False,
    use_global_window: bool = True,
) -> None:
    """Assert that a collection, without retracted elements, matches (Beam's name).

    The assertion is part of the pipeline and is checked at the end of the run.

    Args:
        actual: the collection.
        matcher: called with the list of elements, such as :func:`equal_to`.
        label: name of the step; a number is added if the name is in use.
        reify_windows: whether the matcher gets TestWindowedValues instead of values.
        use_global_window: if false, the matcher is called for each window, with elements and window.

    Raises:
        BeamAssertException: raised by the run if the elements do not match.

    >>> from headrace.sdk.testing.assertions.matchers import equal_to
    >>> with TestPipeline() as p:
    ...     assert_that(p | Create([1, 2]), equal_to([2, 1]))
    """
    if not isinstance(actual, PCollection):
        raise PipelineError(
            f"assert_that got {actual!r}, which is not a collection",
            remedy="pass the result of a transform",
        )
    name = actual.pipeline.free_label(label)
    _ = actual | name >> AssertThat(matcher, reify_windows, use_global_window)
