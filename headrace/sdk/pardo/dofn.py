"""DoFns: functions on elements with a life cycle and access to an element's metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final, Protocol, TypeVar

from headrace.errors import TypeCheckError, shorten
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.elements.type_variables import InputT, OutputT, OutT
from headrace.sdk.elements.windowed_value import WindowedValue
from headrace.sdk.pardo.splittable.restrictions import RestrictionProvider
from headrace.sdk.pardo.splittable.watermark_estimators import WatermarkEstimatorProvider
from headrace.sdk.pardo.state.specs import StateSpec
from headrace.sdk.pardo.state.timers import TimerSpec
from headrace.sdk.typehints.batch_dofn import BatchMethods, output_element_type, undefined
from headrace.sdk.typehints.display_data import HasDisplayData
from headrace.sdk.typehints.element_types import output_type
from headrace.sdk.typehints.io_hints import (
    IOTypeHints,
    WithTypeHints,
    declared_hints,
    hints_of,
)
from headrace.sdk.typehints.labels import callable_label
from headrace.windowing.timestamped_value import TimestampedValue

ProcessT = TypeVar("ProcessT", bound=Callable[..., Any])


class Parameter:
    """A default value of a parameter that asks for something to be passed there (see :class:`DoFn`)."""

    __slots__ = ("name",)

    asks_for_metadata: ClassVar[bool] = True
    """Distinguishes these default values from others."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"DoFn.{self.name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _parameter, (self.name,)


def _parameter(name: str) -> Parameter:
    return PARAMETERS[name]


class StateParam(Parameter):
    """Asks for a state of the current key and window.

    >>> from headrace.transforms.userstate import BagStateSpec
    >>> StateParam(BagStateSpec("seen"))
    DoFn.StateParam(seen)
    """

    __slots__ = ("spec",)

    def __init__(self, state_spec: Any) -> None:
        if not isinstance(state_spec, StateSpec):
            raise ValueError(f"DoFn.StateParam needs a StateSpec, not {shorten(state_spec)}")
        super().__init__("StateParam")
        self.spec = state_spec

    def __repr__(self) -> str:
        return f"DoFn.StateParam({self.spec.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return StateParam, (self.spec,)


class TimerParam(Parameter):
    """Asks for a timer of the current key and window.

    >>> from headrace.sdk.pardo.state.timers import TimeDomain, TimerSpec
    >>> TimerParam(TimerSpec("flush", TimeDomain.WATERMARK))
    DoFn.TimerParam(flush)
    """

    __slots__ = ("spec",)

    def __init__(self, timer_spec: Any) -> None:
        if not isinstance(timer_spec, TimerSpec):
            raise ValueError(f"DoFn.TimerParam needs a TimerSpec, not {shorten(timer_spec)}")
        super().__init__("TimerParam")
        self.spec = timer_spec

    def __repr__(self) -> str:
        return f"DoFn.TimerParam({self.spec.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TimerParam, (self.spec,)


class RestrictionParam(Parameter):
    """Asks for the tracker of a restriction, which makes a DoFn splittable.

    Args:
        restriction_provider: makes restrictions and trackers; by default the DoFn, which must then be a
            RestrictionProvider too.

    >>> from headrace.transforms.core import RestrictionProvider
    >>> RestrictionParam(RestrictionProvider())
    DoFn.RestrictionParam(RestrictionProvider)
    """

    __slots__ = ("restriction_provider",)

    def __init__(self, restriction_provider: RestrictionProvider | None = None) -> None:
        _check_provider("RestrictionParam", restriction_provider, RestrictionProvider)
        super().__init__("RestrictionParam")
        self.restriction_provider = restriction_provider

    def __repr__(self) -> str:
        given = self.restriction_provider
        return f"DoFn.RestrictionParam({'' if given is None else type(given).__name__})"

    def __reduce__(self) -> tuple[Any, ...]:
        return RestrictionParam, (self.restriction_provider,)


class WatermarkEstimatorParam(Parameter):
    """Asks for the watermark estimator of a restriction, in ``process`` of a splittable DoFn.

    Args:
        watermark_estimator_provider: makes estimators; by default the DoFn, which must then be a
            WatermarkEstimatorProvider too.

    >>> from headrace.io.watermark_estimators import ManualWatermarkEstimator
    >>> WatermarkEstimatorParam(ManualWatermarkEstimator.default_provider())
    DoFn.WatermarkEstimatorParam(ManualWatermarkEstimator.default_provider())
    """

    __slots__ = ("watermark_estimator_provider",)

    def __init__(
        self, watermark_estimator_provider: WatermarkEstimatorProvider | None = None
    ) -> None:
        given = watermark_estimator_provider
        _check_provider("WatermarkEstimatorParam", given, WatermarkEstimatorProvider)
        super().__init__("WatermarkEstimatorParam")
        self.watermark_estimator_provider = given

    def __repr__(self) -> str:
        given = self.watermark_estimator_provider
        return f"DoFn.WatermarkEstimatorParam({'' if given is None else given!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return WatermarkEstimatorParam, (self.watermark_estimator_provider,)


def _check_provider(parameter: str, given: object, kind: type) -> None:
    if given is not None and not isinstance(given, kind):
        raise ValueError(f"DoFn.{parameter} needs a {kind.__name__}, not {shorten(given)}")


class SideInputMarker:
    """Marks a parameter that takes an argument of the transform, as in Beam; parameters need no mark."""

    def __repr__(self) -> str:
        return "DoFn.SideInputParam"

    def __reduce__(self) -> str:
        return "SIDE_INPUT"


SIDE_INPUT: Final = SideInputMarker()


class ContextParam(Parameter):
    """Asks for the value of a context manager; see the subclasses.

    Args:
        context_manager_constructor: returns a new context manager: a class, or a function with
            ``contextlib.contextmanager``.
        args: its arguments.
        kwargs: its arguments by name.
        name: ignored; accepted for compatibility with Beam.

    Raises:
        TypeError: the first argument is a context manager itself, which could be used only once.
    """

    __slots__ = ("args", "constructor", "kwargs")

    def __init__(
        self,
        context_manager_constructor: Callable[..., AbstractContextManager[Any]],
        args: Iterable[Any] = (),
        kwargs: dict[str, Any] | None = None,
        *,
        name: str | None = None,
    ) -> None:
        made = context_manager_constructor
        if not callable(made) or (not isinstance(made, type) and hasattr(made, "__enter__")):
            raise TypeError(
                f"DoFn.{type(self).__name__} needs a function that returns a context manager, not "
                f"{shorten(made)}: write {type(self).__name__}(tempfile.TemporaryDirectory), without a call"
            )
        super().__init__(type(self).__name__)
        self.constructor = made
        self.args = tuple(args)
        self.kwargs = dict(kwargs or {})

    def create(self) -> AbstractContextManager[Any]:
        """Return a new context manager."""
        return self.constructor(*self.args, **self.kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.constructor, self.args, self.kwargs)


class SetupContextParam(ContextParam):
    """Asks for the value of a context manager that is entered when a worker sets up the step.

    It is exited when the worker tears down the step.

    >>> import os, tempfile
    >>> def lengths(word, folder=DoFn.SetupContextParam(tempfile.TemporaryDirectory)):
    ...     return len(word), os.path.isdir(folder)
    >>> with Pipeline() as p:
    ...     _ = p | Create(["to", "be"]) | Map(lengths) | "Show" >> Map(print)
    (2, True)
    (2, True)
    """

    __slots__ = ()


class BundleContextParam(ContextParam):
    """Asks for the value of a context manager that is entered at the start of each bundle.

    It is exited at the end of the bundle, after ``finish_bundle``.

    >>> from contextlib import contextmanager
    >>> @contextmanager
    ... def transaction(name):
    ...     yield name
    ...     print("commit")
    >>> with Pipeline() as p:
    ...     words = p | Create(["a"])
    ...     _ = words | Map(lambda x, t=DoFn.BundleContextParam(transaction, ["t"]): print(x, t))
    a t
    commit
    """

    __slots__ = ()


PARAMETERS: Final = {
    name: Parameter(name)
    for name in (
        "ElementParam",
        "TimestampParam",
        "WindowParam",
        "PaneInfoParam",
        "DiffParam",
        "KeyParam",
        "WindowedValueParam",
        "DynamicTimerTagParam",
        "BundleFinalizerParam",
        "CallParam",
    )
}

CALL: Final = PARAMETERS["CallParam"]
"""Asks for the call itself, with the states and timers of its key; for programs of another SDK."""

PUBLIC: Final = tuple(name for name in PARAMETERS if name != CALL.name)
"""The names of the parameters that are attributes of DoFn."""


class DoFn(BatchMethods, WithTypeHints, HasDisplayData):
    """A function on elements, for :class:`~headrace.ParDo`; subclass it and define :meth:`process`.

    The default values of :meth:`process`'s parameters ask for metadata of an element (functions of Map,
    FlatMap and Filter can do the same):

    ==================  =========================================================================
    ``ElementParam``    the element itself, which the first parameter gets in any case
    ``TimestampParam``  its event time, a Timestamp
    ``WindowParam``     its window; an element in several windows is processed once in each
    ``PaneInfoParam``   the pane that it belongs to
    ``DiffParam``       +1 for a value, -1 for the retraction of an earlier value (not in Beam)
    ``KeyParam``        the key, of an element that is a (key, value) pair
    ==================  =========================================================================

    ``WindowedValueParam`` asks for the element with its timestamp, all its windows and its pane, as a
    :class:`~headrace.WindowedValue`.

    ``SetupContextParam(open_it)`` and ``BundleContextParam(open_it)`` ask for the value of a context manager.
    ``BundleFinalizerParam`` asks for an object with a method ``register``, which takes a function that is
    called after the outputs of the bundle have been written. ``RestrictionParam(provider)`` asks for a
    tracker, which makes a DoFn splittable, and ``WatermarkEstimatorParam(provider)`` for its watermark
    estimator.

    A DoFn of a collection with retractions processes retractions like values, and its outputs for a
    retraction are retractions; so it must be deterministic.

    A DoFn can define ``process_batch`` to process a list or a numpy array of elements at once:

    >>> class Halves(DoFn):
    ...     def process_batch(self, batch: list[int]) -> list[list[float]]:
    ...         return [[number / 2 for number in batch]]
    >>> [1, 2, 3] | ParDo(Halves())
    [0.5, 1.0, 1.5]

    It must not change its input or any emitted value, which other steps and retractions use; copy the
    value first, for example with ``sorted(values)`` or ``dict(value)``. Tests check this, and so does
    ``--check-mutation``. An element that can be neither pickled nor encoded like a key is not checked.

    >>> class Late(DoFn):
    ...     def process(self, element, timestamp=DoFn.TimestampParam):
    ...         yield element, float(timestamp)
    >>> list(Late().process("a", 3))
    [('a', 3.0)]
    """

    ElementParam: ClassVar[Any] = PARAMETERS["ElementParam"]
    TimestampParam: ClassVar[Any] = PARAMETERS["TimestampParam"]
    WindowParam: ClassVar[Any] = PARAMETERS["WindowParam"]
    PaneInfoParam: ClassVar[Any] = PARAMETERS["PaneInfoParam"]
    DiffParam: ClassVar[Any] = PARAMETERS["DiffParam"]
    KeyParam: ClassVar[Any] = PARAMETERS["KeyParam"]
    WindowedValueParam: ClassVar[Any] = PARAMETERS["WindowedValueParam"]
    DynamicTimerTagParam: ClassVar[Any] = PARAMETERS["DynamicTimerTagParam"]
    StateParam: ClassVar[type[StateParam]] = StateParam
    TimerParam: ClassVar[type[TimerParam]] = TimerParam
    SideInputParam: ClassVar[Any] = SIDE_INPUT
    SetupContextParam: ClassVar[type[SetupContextParam]] = SetupContextParam
    BundleContextParam: ClassVar[type[BundleContextParam]] = BundleContextParam

    RestrictionParam: ClassVar[type[RestrictionParam]] = RestrictionParam
    WatermarkEstimatorParam: ClassVar[type[WatermarkEstimatorParam]] = WatermarkEstimatorParam
    BundleFinalizerParam: ClassVar[Any] = PARAMETERS["BundleFinalizerParam"]

    @staticmethod
    def unbounded_per_element() -> Callable[[ProcessT], ProcessT]:
        """Return a decorator for ``process`` of a splittable DoFn whose work for an element may have no end.

        Its outputs are an unbounded collection, so the pipeline runs in streaming mode.
        """
        return _with_mark(True)

    @staticmethod
    def bounded_per_element() -> Callable[[ProcessT], ProcessT]:
        """Return a decorator for ``process`` of a splittable DoFn whose work ends, which is the default."""
        return _with_mark(False)

    def setup(self) -> None:
        """Prepare a worker; called once before all other methods."""

    def start_bundle(self) -> None:
        """Prepare for a bundle of elements."""

    @undefined
    def process(self, element: Any, *args: Any, **kwargs: Any) -> Any:
        """Process an element.

        Returns:
            An iterable of outputs, or None for no output. An output is a value, or a
            TimestampedValue, WindowedValue or TaggedOutput.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define process")

    def finish_bundle(self) -> Any:
        """Finish a bundle of elements.

        Returns:
            An iterable of outputs, which must be WindowedValues (or TaggedOutputs of them), or None.
        """

    def teardown(self) -> None:
        """Clean up a worker; called once after all other methods, unless the worker is killed."""

    def default_label(self) -> str:
        """Return the name of a ParDo of this DoFn."""
        return type(self).__name__

    def default_type_hints(self) -> IOTypeHints:
        """Return the hints if none are declared: of decorators, and in the annotations of ``process``."""
        found = hints_of(self.process)
        try:
            outputs = found.strip_iterable()
        except TypeCheckError as error:
            raise TypeCheckError(
                f"the result of {self.default_label()}: {error.problem}", remedy=error.remedy
            ) from None
        return declared_hints(type(self)).with_defaults(outputs.extract_tagged_outputs())

    def infer_output_type(self, input_type: Any) -> Any:
        """Return the type of the outputs, given the type of the elements; Any if unknown.

        Subclasses can override it, as in Beam.
        """
        if self._process_batch_defined or self._process_yields_batches:
            return output_element_type(self, input_type)
        return output_type(self.get_type_hints(), input_type)


def _with_mark(unbounded: bool) -> Callable[[ProcessT], ProcessT]:
    def mark(process: ProcessT) -> ProcessT:
        marked: Any = process
        marked.unbounded_per_element = unbounded
        return process

    return mark


class Processing(Protocol[InputT, OutputT]):
    """A DoFn for type checkers: the annotations of ``process``."""

    def process(
        self, element: InputT, /, *args: Any, **kwargs: Any
    ) -> Iterable[OutputT | TaggedOutput | WindowedValue] | None:
        """Process an element."""


class Timing(Protocol[InputT, OutT]):
    """A DoFn for type checkers that sets the timestamps of its outputs."""

    def process(
        self, element: InputT, /, *args: Any, **kwargs: Any
    ) -> Iterable[TimestampedValue[OutT] | TaggedOutput] | None:
        """Process an element."""


def require_dofn(fn: object) -> DoFn:
    """Return a DoFn, or the DoFn that calls a function.

    Raises:
        TypeError: the argument is neither, for example the class of a DoFn.
    """
    if isinstance(fn, DoFn):
        return fn
    if isinstance(fn, type) and issubclass(fn, DoFn):
        raise TypeError(f"ParDo needs a DoFn, not its class: use ParDo({fn.__name__}())")
    if callable(fn):
        return CallableDoFn(fn)
    raise TypeError(f"ParDo needs a DoFn, not {shorten(fn)}")


class CallableDoFn(DoFn):
    """The DoFn whose ``process`` is a function."""

    process: Any = None

    def __init__(self, fn: Any) -> None:
        self.process = fn
        self._label = callable_label(fn)

    def default_label(self) -> str:
        return self._label
