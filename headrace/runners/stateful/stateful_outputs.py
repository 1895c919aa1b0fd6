"""The outputs of the calls of a stateful DoFn, as columns.

A generator can change what it has yielded before it ends. So each of its outputs is copied, if it can change,
before the generator goes on. The items of a list or tuple are outputs as they are: the call has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from typing import Any, Final, TypeAlias

import attrs

from headrace.grouping.bundle import Bundle
from headrace.runners.stateful.stateful_calls import KeyRun, StatefulCall
from headrace.sdk.coders.own_values import own_each
from headrace.sdk.pipelines.outputs import CallingStep, Outputs, by_tag, check_iterable
from headrace.triggers.pane import PaneInfo
from headrace.windowing.column import Column, concatenate, stretch, uniform
from headrace.windowing.window_fn import Windows

OutputMetadata: TypeAlias = "tuple[Column[int], Column[Windows], Column[PaneInfo]]"
"""The timestamps, windows and panes of some outputs; all outputs are insertions."""

_FINISHED: Final = frozenset({list, tuple})
"""The types of results that no call changes any more."""


@attrs.define(eq=False)
class DoFnOutputs:
    """The outputs of several calls.

    Attributes:
        step: the step.
        own: returns outputs of another SDK as ours; None if they are ours.
        values: all outputs.
        dropped: the number of late elements that were dropped.
    """

    step: CallingStep
    own: Callable[[list[Any]], list[Any]] | None = None
    values: list[Any] = attrs.field(factory=list)
    dropped: int = 0
    _rows: list[int] = attrs.field(factory=list)
    _metadata: list[OutputMetadata] = attrs.field(factory=list)

    def add_run(
        self, results: Iterator[Any], run: KeyRun, generates: bool = False, ends: bool = False
    ) -> None:
        """Add the results of the calls for each element of a run; the calls are made meanwhile.

        Args:
            results: an iterable of outputs for each element; None for no output.
            run: the elements.
            generates: whether all results are generators.
            ends: whether these do nothing after they yield.
        """
        before = len(self.values)
        metadata = run.timestamps, run.windows, run.panes
        if generates and uniform(run.timestamps) and uniform(run.panes):
            yielded = chain.from_iterable(results)
            self.values.extend(yielded if ends else own_each(yielded))
        else:
            counts = self._extend(results, ends)
            stamps, windows, panes = metadata
            metadata = stretch(stamps, counts), stretch(windows, counts), stretch(panes, counts)
        self._note(before, metadata)

    def _extend(self, results: Iterable[Iterable[object] | None], ends: bool) -> list[int]:
        """Add results, and return the number of outputs of each."""
        values, counts = self.values, []
        extend, before = values.extend, len(values)
        for result in results:
            if ends or type(result) in _FINISHED:
                extend(result)  # type: ignore[arg-type]  # not None
            elif result is not None:
                check_iterable(result, self.step)
                extend(own_each(result))
            counts.append(len(values) - before)
            before = len(values)
        return counts

    def add(self, result: Iterable[object] | None, call: StatefulCall) -> None:
        """Add the result of one call."""
        if result is None:
            return
        check_iterable(result, self.step)
        outputs = result if type(result) in _FINISHED else own_each(result)
        self.add_outputs(outputs, call.output, (call.window,), call.pane)

    def add_outputs(
        self, outputs: Iterable[object], timestamp: int, windows: Windows, pane: PaneInfo
    ) -> None:
        """Add the outputs of one call, which nothing changes any more.

        Args:
            outputs: the outputs.
            timestamp: the timestamp of those that have none, in microseconds.
            windows: the windows of those that have none.
            pane: their pane.
        """
        before = len(self.values)
        self.values.extend(outputs)
        self._note(before, (repeat(timestamp), repeat(windows), repeat(pane)))

    def _note(self, before: int, metadata: OutputMetadata) -> None:
        """Note the metadata of the latest outputs."""
        rows = len(self.values) - before
        if rows:
            self._rows.append(rows)
            self._metadata.append(metadata)

    def bundles(self) -> Outputs:
        """Return all outputs by tag."""
        if not self.values:
            return {}
        columns = [concatenate(column, self._rows) for column in zip(*self._metadata, strict=True)]
        values = self.values if self.own is None else self.own(self.values)
        return by_tag(Bundle(values, *columns), self.step.window_fn)
