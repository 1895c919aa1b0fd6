"""The value of an empty collection: a marker for no value is combined with the elements, and adds nothing."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any, Final

from headrace.errors import PipelineError
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.pardo.flatten import flatten_node
from headrace.sdk.pipelines.pvalue import PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import ValuesSource, read_node
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.watermark_triggers import DefaultTrigger
from headrace.windowing.windows import GlobalWindows


class Nothing:
    """A marker for no value, so that there is an accumulator without elements."""

    def __reduce__(self) -> str:
        return "NOTHING"


NOTHING: Final = Nothing()


class AddNothing(PTransform[Any, Any]):
    """Adds the marker for no value to a keyed collection in the global window."""

    def expand(self, pcoll: Any) -> PCollection[Any]:
        keyed, pipeline = pcoll
        nothing = PBegin(pipeline) | "Nothing" >> _ReadNothing(keyed.windowing)
        return flatten_node([keyed, nothing])


class _ReadNothing(PTransform[Any, Any]):
    """Reads the marker for no value."""

    def __init__(self, windowing: WindowingStrategy) -> None:
        super().__init__()
        self._windowing = windowing

    def expand(self, pcoll: object) -> PCollection[Any]:
        values = ValuesSource(((None, NOTHING),))
        return read_node(pcoll, values, bounded=True, windowing=self._windowing)


def ignoring_nothing(fn: CombineFn) -> CombineFn:
    """Return a CombineFn that ignores the marker for no value."""
    return _IgnoringNothing(fn)


class _IgnoringNothing(CombineFn):
    """A CombineFn that ignores the marker for no value."""

    def __init__(self, fn: CombineFn) -> None:
        self._fn = fn

    def __copy__(self) -> _IgnoringNothing:
        """Copy the inner CombineFn too, because it is the one that is set up."""
        return _IgnoringNothing(copy(self._fn))

    def setup(self) -> None:
        self._fn.setup()

    def create_accumulator(self) -> Any:
        return self._fn.create_accumulator()

    def merge_accumulators(self, accumulators: Iterable[object]) -> Any:
        return self._fn.merge_accumulators(accumulators)

    def compact(self, accumulator: object) -> object:
        return self._fn.compact(accumulator)

    def extract_output(self, accumulator: object) -> Any:
        return self._fn.extract_output(accumulator)

    def teardown(self) -> None:
        self._fn.teardown()

    def add_input(self, mutable_accumulator: object, element: object) -> Any:
        if element is NOTHING:
            return mutable_accumulator
        return self._fn.add_input(mutable_accumulator, element)

    def add_inputs(self, mutable_accumulator: object, elements: Iterable[object]) -> Any:
        return self._fn.add_inputs(mutable_accumulator, [e for e in elements if e is not NOTHING])

    def subtract_input(self, mutable_accumulator: object, element: object) -> object:
        """Return the accumulator without one input; only if the inner CombineFn can subtract."""
        inner: Any = self._fn
        return inner.subtract_input(mutable_accumulator, element)

    @property
    def can_subtract(self) -> bool:
        return self._fn.can_subtract

    def default_label(self) -> str:
        return self._fn.default_label()


def check_defaults(strategy: WindowingStrategy) -> None:
    """Check that an empty collection has one pane, whose value is then that without inputs.

    Raises:
        PipelineError: it can have none, or several.
    """
    if strategy.window_fn != GlobalWindows() or strategy.trigger != DefaultTrigger():
        raise PipelineError(
            "CombineGlobally supports default values only in the global window with the default trigger",
            remedy="use CombineGlobally(…).without_defaults()",
        )
