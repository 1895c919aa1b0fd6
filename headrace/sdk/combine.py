"""Combining transforms: per key, over a whole collection, and over lists of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any, Final, TypeVar

from headrace.errors import PipelineError
from headrace.sdk.combine_fn import CombineFn, combine_fn_of
from headrace.sdk.dofn import DoFn
from headrace.sdk.element_types import pair_type, pair_types
from headrace.sdk.flatten import flatten_node
from headrace.sdk.graph import Collection
from headrace.sdk.graph import CombinePerKey as CombinePerKeyNode
from headrace.sdk.group_by_key import check_grouping, grouped
from headrace.sdk.pardo import Map, ParDo, require_collection
from headrace.sdk.pvalue import PBegin, PCollection
from headrace.sdk.reading import Values, read_node
from headrace.sdk.transform import PTransform
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.watermark_triggers import DefaultTrigger
from headrace.windowing.windows import GlobalWindows

Combiner = CombineFn | Callable[..., Any]
Self = TypeVar("Self", bound="CombineGlobally")


class CombinePerKey(PTransform[Any, Any]):
    """Turns (key, value) pairs into (key, combined value), for each key, window and pane.

    Args:
        fn: a :class:`CombineFn`, or a function on iterables of values such as ``sum``.
        args: further arguments of its methods.
        kwargs: further arguments of its methods, by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 1), ("b", 2), ("a", 3)]) | CombinePerKey(sum) | Map(print)
    ('a', 4)
    ('b', 2)
    """

    def __init__(self, fn: Combiner, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._combine_fn = combine_fn_of(fn, args, kwargs)

    def default_label(self) -> str:
        return f"CombinePerKey({self._combine_fn.default_label()})"

    def with_hot_key_fanout(self, fanout: Any) -> CombinePerKey:
        """Return the transform itself: combining always starts in front of the shuffle."""
        return self

    def expand(self, pcoll: Any) -> PCollection[Any]:
        check_grouping(pcoll)
        _check_subtraction(pcoll.collection, self._combine_fn)
        key, _ = pair_types(pcoll.element_type)
        outputs = grouped(pcoll, pair_type(key), combining=True)
        pipeline = pcoll.pipeline
        pipeline.add(
            CombinePerKeyNode(pipeline.scope, (pcoll.collection,), outputs, self._combine_fn)
        )
        return PCollection(pipeline, outputs[0])


class CombineGlobally(PTransform[Any, Any]):
    """Combines a whole collection into one value, for each window and pane.

    An empty collection gives what the CombineFn makes of nothing, in the global window; elsewhere say
    :meth:`without_defaults`.

    Args:
        fn: a :class:`CombineFn`, or a function on iterables of values such as ``sum``.
        args: further arguments of its methods.
        kwargs: further arguments of its methods, by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2, 3]) | CombineGlobally(sum) | Map(print)
    6
    """

    has_defaults = True

    def __init__(self, fn: Combiner, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._combine_fn = combine_fn_of(fn, args, kwargs)

    def default_label(self) -> str:
        return f"CombineGlobally({self._combine_fn.default_label()})"

    def with_fanout(self: Self, fanout: int) -> Self:
        """Return the transform itself: combining always starts in front of the shuffle."""
        return self

    def with_defaults(self: Self, has_defaults: bool = True) -> Self:
        """Say whether an empty collection gives a value."""
        clone = copy(self)
        clone.has_defaults = has_defaults
        return clone

    def without_defaults(self: Self) -> Self:
        """Let an empty collection give no value; necessary but in the global window."""
        return self.with_defaults(False)

    def expand(self, pcoll: Any) -> PCollection[Any]:
        require_collection(pcoll)
        fn = self._combine_fn
        keyed = pcoll | "KeyWithVoid" >> Map(_with_void)
        if self.has_defaults:
            _check_defaults(pcoll.windowing)
            keyed = (keyed, pcoll.pipeline) | "Default" >> _AddNothing()
            fn = _IgnoringNothing(fn)
        combined = keyed | "CombinePerKey" >> CombinePerKey(fn)
        unkeyed: PCollection[Any] = combined | "UnKey" >> Map(_value)
        return unkeyed


class CombineValues(PTransform[Any, Any]):
    """Turns (key, iterable of values) pairs into (key, combined value).

    Args:
        fn: a :class:`CombineFn`, or a function on iterables of values such as ``sum``.
        args: further arguments of its methods.
        kwargs: further arguments of its methods, by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", [1, 3])]) | CombineValues(sum) | Map(print)
    ('a', 4)
    """

    def __init__(self, fn: Combiner, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._combine_fn = combine_fn_of(fn, args, kwargs)

    def default_label(self) -> str:
        return f"CombineValues({self._combine_fn.default_label()})"

    def expand(self, pcoll: Any) -> Any:
        return pcoll | "Combine" >> ParDo(_CombineDoFn(self._combine_fn))


class _CombineDoFn(DoFn):
    """Combines the values of each pair."""

    def __init__(self, combine_fn: CombineFn) -> None:
        self._combine_fn = combine_fn

    def setup(self) -> None:
        self._combine_fn.setup()

    def process(self, element: Any) -> Any:
        key, values = element
        return ((key, self._combine_fn.apply(values)),)

    def teardown(self) -> None:
        self._combine_fn.teardown()


class Nothing:
    """Stands for no value, so that there is an accumulator even where there is no element."""

    def __reduce__(self) -> str:
        return "NOTHING"


NOTHING: Final = Nothing()


class _AddNothing(PTransform[Any, Any]):
    """Adds the element that stands for no value to a collection in the global window."""

    def expand(self, pcoll: Any) -> PCollection[Any]:
        keyed, pipeline = pcoll
        nothing = PBegin(pipeline) | "Nothing" >> _ReadNothing(keyed.windowing)
        return flatten_node([keyed, nothing])


class _ReadNothing(PTransform[Any, Any]):
    """The element that stands for no value."""

    def __init__(self, windowing: WindowingStrategy) -> None:
        super().__init__()
        self._windowing = windowing

    def expand(self, pcoll: Any) -> PCollection[Any]:
        values = Values(((None, NOTHING),))
        return read_node(pcoll, values, bounded=True, windowing=self._windowing)


class _IgnoringNothing(CombineFn):
    """A CombineFn that takes no notice of the element that stands for no value."""

    def __init__(self, fn: CombineFn) -> None:
        self._fn = fn

    def setup(self) -> None:
        self._fn.setup()

    def create_accumulator(self) -> Any:
        return self._fn.create_accumulator()

    def merge_accumulators(self, accumulators: Iterable[Any]) -> Any:
        return self._fn.merge_accumulators(accumulators)

    def compact(self, accumulator: Any) -> Any:
        return self._fn.compact(accumulator)

    def extract_output(self, accumulator: Any) -> Any:
        return self._fn.extract_output(accumulator)

    def teardown(self) -> None:
        self._fn.teardown()

    def add_input(self, mutable_accumulator: Any, element: Any) -> Any:
        if element is NOTHING:
            return mutable_accumulator
        return self._fn.add_input(mutable_accumulator, element)

    def add_inputs(self, mutable_accumulator: Any, elements: Iterable[Any]) -> Any:
        return self._fn.add_inputs(mutable_accumulator, [e for e in elements if e is not NOTHING])

    def subtract_input(self, mutable_accumulator: Any, element: Any) -> Any:
        """Return the accumulator without one input; only where the inner CombineFn can."""
        inner: Any = self._fn
        return inner.subtract_input(mutable_accumulator, element)

    @property
    def can_subtract(self) -> bool:
        return self._fn.can_subtract

    def default_label(self) -> str:
        return self._fn.default_label()


def _with_void(value: Any) -> tuple[None, Any]:
    return None, value


def _value(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def _check_defaults(strategy: WindowingStrategy) -> None:
    if strategy.window_fn != GlobalWindows() or strategy.trigger != DefaultTrigger():
        raise PipelineError(
            "CombineGlobally cannot know what windows and panes to give a default value to, but in "
            "the global window with the default trigger",
            remedy="say CombineGlobally(…).without_defaults()",
        )


def _check_subtraction(source: Collection, fn: CombineFn) -> None:
    discarding = source.windowing.accumulation_mode is AccumulationMode.DISCARDING
    if source.changing and discarding and not fn.can_subtract:
        raise PipelineError(
            f"discarding panes of a collection with retractions need a CombineFn that can subtract, "
            f"and {fn.default_label()} cannot",
            remedy="define subtract_input, or window the input with AccumulationMode.RETRACTING",
        )
