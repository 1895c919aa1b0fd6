"""DoFns: functions on elements that have a life of their own and may see what travels with a value."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Final

from headrace.errors import shorten
from headrace.sdk.transform import callable_label


class Parameter:
    """A wish, said by a parameter's default value: what is to be passed there (see :class:`DoFn`)."""

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


class DoFn:
    """A function on elements, for :class:`~headrace.ParDo`; subclass it and define :meth:`process`.

    The default values of :meth:`process`'s parameters say what else it wants to see of an element
    (the functions of Map, FlatMap and Filter may say the same):

    ==================  =========================================================================
    ``ElementParam``    the element itself, as the first parameter gets it anyway
    ``TimestampParam``  its event time, a Timestamp
    ``WindowParam``     its window; an element in several windows is processed once in each
    ``PaneInfoParam``   the firing that it came from
    ``DiffParam``       +1 for a value, -1 for the retraction of an earlier one (not in Beam)
    ==================  =========================================================================

    A DoFn of a changing collection sees retractions as it sees values, and what it gives out for a
    retraction is retracted; so it must give out the same for the same element.

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

    def setup(self) -> None:
        """Prepare a worker; called once before anything else."""

    def start_bundle(self) -> None:
        """Prepare for elements that arrive together."""

    @abstractmethod
    def process(self, element: Any, *args: Any, **kwargs: Any) -> Any:
        """Process an element.

        Returns:
            An iterable of outputs, or None for no output. An output is a value, or a
            TimestampedValue, WindowedValue or TaggedOutput.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define process")

    def finish_bundle(self) -> Any:
        """Finish what :meth:`start_bundle` began.

        Returns:
            An iterable of outputs, which must be WindowedValues (or TaggedOutputs of them), or None.
        """

    def teardown(self) -> None:
        """Clean up a worker; called once after everything else, if the worker lives that long."""

    def default_label(self) -> str:
        """Return the name of a ParDo of this DoFn."""
        return type(self).__name__


def require_dofn(fn: Any) -> DoFn:
    """Return a DoFn, or the DoFn that calls a function.

    Raises:
        TypeError: it is neither; in particular it is a DoFn's class.
    """
    if isinstance(fn, DoFn):
        return fn
    if isinstance(fn, type) and issubclass(fn, DoFn):
        raise TypeError(f"ParDo needs a DoFn, not its class: write ParDo({fn.__name__}())")
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
