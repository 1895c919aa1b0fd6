"""DoFns: functions on elements with a life cycle and access to an element's metadata."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Final, Protocol

from headrace.errors import shorten
from headrace.sdk.pvalue import TaggedOutput
from headrace.sdk.transform import callable_label
from headrace.sdk.type_variables import InputT, OutputT, OutT
from headrace.sdk.windowed_value import WindowedValue
from headrace.windowing.timestamped_value import TimestampedValue


class Parameter:
    """A default value of a parameter that asks for something to be passed there (see :class:`DoFn`)."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"DoFn.{self.name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _parameter, (self.name,)


def _parameter(name: str) -> Parameter:
    return PARAMETERS[name]


PARAMETERS: Final = {
    name: Parameter(name)
    for name in ("ElementParam", "TimestampParam", "WindowParam", "PaneInfoParam", "DiffParam")
}


class UnsupportedParameter:
    """A parameter of Beam's that does not exist here; to use it is an AttributeError that says so."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(
            f"Headrace has no DoFn.{self.name} yet; a DoFn can ask for {', '.join(PARAMETERS)}"
        )


class DoFn:
    """A function on elements, for :class:`~headrace.ParDo`; subclass it and define :meth:`process`.

    The default values of :meth:`process`'s parameters ask for metadata of an element (functions of Map,
    FlatMap and Filter can do the same):

    ==================  =========================================================================
    ``ElementParam``    the element itself, which the first parameter gets in any case
    ``TimestampParam``  its event time, a Timestamp
    ``WindowParam``     its window; an element in several windows is processed once in each
    ``PaneInfoParam``   the pane that it belongs to
    ``DiffParam``       +1 for a value, -1 for the retraction of an earlier value (not in Beam)
    ==================  =========================================================================

    A DoFn of a collection with retractions processes retractions like values, and its outputs for a
    retraction are retractions; so it must be deterministic.

    It must not change its input, which other steps and retractions use; copy the value first, for example
    with ``sorted(values)`` or ``dict(value)``. Tests check this, and so does ``--check-mutation``. An element
    that can be neither pickled nor encoded like a key is not checked.

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

    StateParam = UnsupportedParameter()
    TimerParam = UnsupportedParameter()
    KeyParam = UnsupportedParameter()
    SideInputParam = UnsupportedParameter()
    WatermarkEstimatorParam = UnsupportedParameter()
    RestrictionParam = UnsupportedParameter()
    BundleFinalizerParam = UnsupportedParameter()
    BundleContextParam = UnsupportedParameter()
    SetupContextParam = UnsupportedParameter()
    DynamicTimerTagParam = UnsupportedParameter()

    def setup(self) -> None:
        """Prepare a worker; called once before all other methods."""

    def start_bundle(self) -> None:
        """Prepare for a bundle of elements."""

    @abstractmethod
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


def require_dofn(fn: Any) -> DoFn:
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
