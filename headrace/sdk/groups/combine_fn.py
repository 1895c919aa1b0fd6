"""CombineFns: combine many values into one with accumulators that can be merged.

Accumulators are plain, picklable data. ``create_accumulator`` and ``merge_accumulators`` make them a
commutative monoid. A CombineFn that can also subtract an input (``subtract_input``, the paper's *uncombine*)
makes them a group, and then retractions are as cheap as values.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, runtime_checkable

from headrace.errors import PipelineError, shorten
from headrace.sdk.elements.type_variables import InputT, OutputT
from headrace.sdk.groups.combine_types import function_hints, method_hints
from headrace.sdk.typehints.argument_checks import (
    UnknownParameter,
    named_parameters,
    refuse_unknown,
)
from headrace.sdk.typehints.display_data import HasDisplayData
from headrace.sdk.typehints.io_hints import IOTypeHints, WithTypeHints, declared_hints
from headrace.sdk.typehints.labels import callable_label

if TYPE_CHECKING:
    from _typeshed import SupportsRichComparison


class CombineFn(WithTypeHints, HasDisplayData):
    """Combines many values into one; subclass it (Beam's name).

    A subclass can define ``subtract_input(accumulator, element)``, which returns the accumulator without
    an input that was added before or will be added later. Without it, combining a collection with
    retractions stores all inputs and combines them again at each firing.

    >>> class Product(CombineFn):
    ...     def create_accumulator(self):
    ...         return 1
    ...
    ...     def add_input(self, accumulator, element):
    ...         return accumulator * element
    ...
    ...     def merge_accumulators(self, accumulators):
    ...         return math.prod(accumulators)
    ...
    ...     def extract_output(self, accumulator):
    ...         return accumulator
    >>> import math
    >>> Product().apply([2, 3, 4]), Product().can_subtract
    (24, False)
    """

    def setup(self, *args: Any, **kwargs: Any) -> None:
        """Prepare a worker; called once before all other methods."""

    @abstractmethod
    def create_accumulator(self, *args: Any, **kwargs: Any) -> Any:
        """Return an empty accumulator."""
        raise NotImplementedError(f"{type(self).__name__} does not define create_accumulator")

    @abstractmethod
    def add_input(self, mutable_accumulator: Any, element: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the accumulator with an input added; may change and return the given accumulator."""
        raise NotImplementedError(f"{type(self).__name__} does not define add_input")

    def add_inputs(
        self, mutable_accumulator: Any, elements: Iterable[Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Return the accumulator with many inputs added; override it if this is faster."""
        for element in elements:
            mutable_accumulator = self.add_input(mutable_accumulator, element, *args, **kwargs)
        return mutable_accumulator

    @abstractmethod
    def merge_accumulators(self, accumulators: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        """Return the merged accumulators; may change and return the first one."""
        raise NotImplementedError(f"{type(self).__name__} does not define merge_accumulators")

    def compact(self, accumulator: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the accumulator in a smaller form, before it is sent to be merged."""
        return accumulator

    @abstractmethod
    def extract_output(self, accumulator: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the result; must not change the accumulator."""
        raise NotImplementedError(f"{type(self).__name__} does not define extract_output")

    def apply(self, elements: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        """Combine elements in memory."""
        accumulator = self.create_accumulator(*args, **kwargs)
        accumulator = self.add_inputs(accumulator, elements, *args, **kwargs)
        return self.extract_output(self.compact(accumulator, *args, **kwargs), *args, **kwargs)

    def teardown(self, *args: Any, **kwargs: Any) -> None:
        """Clean up a worker; called once after all other methods."""

    @property
    def can_subtract(self) -> bool:
        """Whether the CombineFn defines ``subtract_input``, so that retractions need no stored inputs."""
        return isinstance(self, Subtracting)

    def default_label(self) -> str:
        """Return the name of this CombineFn in labels of transforms."""
        return type(self).__name__

    def default_type_hints(self) -> IOTypeHints:
        """Return the hints if none are declared: of decorators, and in the annotations of the methods."""
        declared = declared_hints(type(self))
        if type(self).__module__.partition(".")[0] == "headrace":
            return declared
        return declared.with_defaults(method_hints(self.add_input, self.extract_output))

    @staticmethod
    def maybe_from_callable(fn: CombineFn | Callable[..., Any]) -> CombineFn:
        """Return a CombineFn unchanged, or convert a callable to one (see :meth:`from_callable`).

        Raises:
            TypeError: the argument is neither, for example the class of a CombineFn.
            PipelineError: the CombineFn does not define all required methods.
        """
        if isinstance(fn, type) and issubclass(fn, CombineFn):
            raise TypeError(f"expected a CombineFn, not its class: use {fn.__name__}()")
        if not isinstance(fn, CombineFn):
            return CombineFn.from_callable(fn)
        _check_is_complete(fn)
        return fn

    @staticmethod
    def from_callable(fn: Callable[..., Any]) -> CombineFn:
        """Return the CombineFn of a function from an iterable of values to one such value.

        The function must be commutative and associative, like ``sum`` and ``max``, because it is also
        called with its own results.

        >>> CombineFn.from_callable(max).apply([3, 5, 4])
        5
        """
        if not callable(fn):
            raise TypeError(f"expected a CombineFn or a function, not {shorten(fn)}")
        return _BUILT_IN.get(fn, CallableCombineFn)(fn)


class Combining(Protocol[InputT, OutputT]):
    """A CombineFn for type checkers: the annotations of ``add_input`` and ``extract_output``."""

    def add_input(
        self, mutable_accumulator: Any, element: InputT, /, *args: Any, **kwargs: Any
    ) -> Any:
        """Return the accumulator with an input added."""

    def extract_output(self, accumulator: Any, /, *args: Any, **kwargs: Any) -> OutputT:
        """Return the result."""


class Addable(Protocol):
    """An argument of ``sum``."""

    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...


NumberT = TypeVar("NumberT", bound=Addable)
OrderedT = TypeVar("OrderedT", bound="SupportsRichComparison")


class Summing(Protocol):
    """A function like ``sum``, distinguished by its parameter ``start``."""

    def __call__(self, values: Iterable[NumberT], /, start: NumberT) -> NumberT: ...


class Choosing(Protocol):
    """A function like ``min`` and ``max``, distinguished by its parameter ``key``."""

    def __call__(self, values: Iterable[OrderedT], /, *, key: None = None) -> OrderedT: ...


class Same:
    """A placeholder for any type of elements; the result has the type of the inputs."""


class Unknown:
    """A placeholder for the types of an untyped CombineFn, which could otherwise match :class:`Same`."""


class Untyped(Protocol):
    """A CombineFn without annotated types, whose results can have any type."""

    def extract_output(self, accumulator: Any, /, *args: Any, **kwargs: Any) -> Unknown:
        """Return the result."""


@runtime_checkable
class Subtracting(Protocol):
    """A CombineFn that can subtract inputs."""

    def subtract_input(self, mutable_accumulator: Any, element: Any) -> Any:
        """Return the accumulator without one input."""


class StampedCombineFn(CombineFn):
    """A CombineFn whose inputs are values with their timestamps; triggers see only the values."""

    @abstractmethod
    def value_of(self, element: Any) -> Any:
        """Return the value of an input."""


class CallableCombineFn(CombineFn):
    """Combines with a function on iterables; an accumulator is a list of values and results.

    Args:
        fn: takes an iterable, then the additional arguments of the transform.
    """

    _MAX_VALUES = 64

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    def create_accumulator(self, *args: Any, **kwargs: Any) -> list[Any]:
        return []

    def add_input(
        self, mutable_accumulator: list[Any], element: object, *args: Any, **kwargs: Any
    ) -> list[Any]:
        mutable_accumulator.append(element)
        return self._bounded(mutable_accumulator, *args, **kwargs)

    def add_inputs(
        self, mutable_accumulator: list[Any], elements: Iterable[object], *args: Any, **kwargs: Any
    ) -> list[Any]:
        mutable_accumulator.extend(elements)
        return self._bounded(mutable_accumulator, *args, **kwargs)

    def merge_accumulators(
        self, accumulators: Iterable[list[Any]], *args: Any, **kwargs: Any
    ) -> list[Any]:
        merged = [value for accumulator in accumulators for value in accumulator]
        return self._bounded(merged, *args, **kwargs)

    def compact(self, accumulator: list[Any], *args: Any, **kwargs: Any) -> list[Any]:
        return accumulator if len(accumulator) < 2 else [self.fn(accumulator, *args, **kwargs)]

    def extract_output(self, accumulator: list[Any], *args: Any, **kwargs: Any) -> Any:
        return self.fn(accumulator, *args, **kwargs)

    def _bounded(self, accumulator: list[Any], *args: object, **kwargs: object) -> list[object]:
        if len(accumulator) < self._MAX_VALUES:
            return accumulator
        return [self.fn(accumulator, *args, **kwargs)]

    def default_label(self) -> str:
        return callable_label(self.fn)

    def default_type_hints(self) -> IOTypeHints:
        return function_hints(self.fn)


class SumCombineFn(CombineFn):
    """The sum of numbers, or of other values that can be added to 0; can subtract.

    Sums of floats are rounded, so adding and subtracting a value can change the last digits, and
    infinities give NaN; ints, Decimals and Fractions are exact.

    >>> SumCombineFn().apply([1, 2, 3])
    6
    """

    def __init__(self, fn: Any = sum) -> None:
        """Accept ``sum``, so that it can be created like any CombineFn of a callable."""

    def create_accumulator(self) -> Any:
        return 0

    def add_input(self, mutable_accumulator: object, element: Any) -> Any:
        return mutable_accumulator + element

    def add_inputs(self, mutable_accumulator: Any, elements: Iterable[Any]) -> Any:
        return sum(elements, mutable_accumulator)

    def subtract_input(self, mutable_accumulator: object, element: Any) -> Any:
        """Return the sum without one input."""
        return mutable_accumulator - element

    def merge_accumulators(self, accumulators: Iterable[object]) -> Any:
        return sum(accumulators)

    def extract_output(self, accumulator: object) -> Any:
        return accumulator

    def default_label(self) -> str:
        return "sum"


class ExtremeCombineFn(CallableCombineFn):
    """The smallest or largest value (``min`` or ``max``); None without values.

    >>> ExtremeCombineFn(min).apply([3, 2]), ExtremeCombineFn(min).apply([])
    (2, None)
    """

    def extract_output(self, accumulator: list[Any], *args: Any, **kwargs: Any) -> Any:
        return self.fn(accumulator, *args, **kwargs) if accumulator else None


_BUILT_IN: dict[object, Callable[[Any], CombineFn]] = {
    sum: SumCombineFn,
    min: ExtremeCombineFn,
    max: ExtremeCombineFn,
}


class BoundCombineFn(CombineFn):
    """A CombineFn with the additional arguments of the transform.

    >>> BoundCombineFn(CallableCombineFn(max), (), {"key": abs}).apply([1, 2, -3])
    -3
    """

    def __init__(self, fn: CombineFn, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._fn = fn
        self._args = args
        self._kwargs = kwargs

    def __copy__(self) -> BoundCombineFn:
        """Copy the inner CombineFn too, because it is the one that is set up."""
        return BoundCombineFn(copy(self._fn), self._args, self._kwargs)

    @property
    def parts(self) -> tuple[CombineFn, tuple[Any, ...], dict[str, Any]]:
        """The CombineFn without arguments, and the arguments."""
        return self._fn, self._args, self._kwargs

    def setup(self) -> None:
        self._fn.setup(*self._args, **self._kwargs)

    def create_accumulator(self) -> Any:
        return self._fn.create_accumulator(*self._args, **self._kwargs)

    def add_input(self, mutable_accumulator: object, element: object) -> Any:
        return self._fn.add_input(mutable_accumulator, element, *self._args, **self._kwargs)

    def add_inputs(self, mutable_accumulator: object, elements: Iterable[object]) -> Any:
        return self._fn.add_inputs(mutable_accumulator, elements, *self._args, **self._kwargs)

    def subtract_input(self, mutable_accumulator: object, element: object) -> Any:
        """Return the accumulator without one input; only if the inner CombineFn can subtract."""
        inner: Any = self._fn
        return inner.subtract_input(mutable_accumulator, element, *self._args, **self._kwargs)

    @property
    def can_subtract(self) -> bool:
        return self._fn.can_subtract

    def merge_accumulators(self, accumulators: Iterable[object]) -> Any:
        return self._fn.merge_accumulators(accumulators, *self._args, **self._kwargs)

    def compact(self, accumulator: object) -> Any:
        return self._fn.compact(accumulator, *self._args, **self._kwargs)

    def extract_output(self, accumulator: object) -> Any:
        return self._fn.extract_output(accumulator, *self._args, **self._kwargs)

    def teardown(self) -> None:
        self._fn.teardown(*self._args, **self._kwargs)

    def default_label(self) -> str:
        return self._fn.default_label()

    def default_type_hints(self) -> IOTypeHints:
        return self._fn.get_type_hints()


def combine_fn_of(
    fn: CombineFn | Callable[..., object], args: tuple[object, ...], kwargs: dict[str, Any]
) -> CombineFn:
    """Return the CombineFn for the arguments of a combining transform."""
    if not (args or kwargs):
        return CombineFn.maybe_from_callable(fn)
    plain = _unbound(fn)
    _check_names(plain, kwargs)
    return BoundCombineFn(plain, args, kwargs)


def _unbound(fn: CombineFn | Callable[..., object]) -> CombineFn:
    """Return a CombineFn that takes additional arguments."""
    if isinstance(fn, CombineFn) or _is_class(fn):
        return CombineFn.maybe_from_callable(fn)
    return CallableCombineFn(fn)


def _check_names(fn: CombineFn, kwargs: dict[str, object]) -> None:
    """Refuse names of arguments that the function, or a method of the CombineFn, does not take."""
    calls = (
        {callable_label(fn.fn): fn.fn}
        if isinstance(fn, CallableCombineFn)
        else {f"{fn.default_label()}.{name}": getattr(fn, name) for name in _REQUIRED}
    )
    for called, function in calls.items():
        known = named_parameters(function)
        if known is not None:
            refuse_unknown(called, kwargs, known, UnknownParameter)


def _is_class(fn: object) -> bool:
    return isinstance(fn, type) and issubclass(fn, CombineFn)


_REQUIRED: Final = ("create_accumulator", "add_input", "merge_accumulators", "extract_output")
"""The methods that a CombineFn defines."""


def _check_is_complete(fn: CombineFn) -> None:
    missing = [
        name for name in _REQUIRED if getattr(getattr(fn, name), "__isabstractmethod__", False)
    ]
    if missing:
        raise PipelineError(
            f"the CombineFn {type(fn).__name__} does not define {', '.join(missing)}",
            remedy=f"define in the class {', '.join(_REQUIRED)}",
        )
