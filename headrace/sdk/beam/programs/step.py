"""One of Beam's DoFns in one process: its metrics, errors and side inputs, and Beam's own runner of DoFns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from traceback import format_exception_only
from typing import Any, NoReturn

import attrs
from apache_beam.runners.common import DoFnRunner
from apache_beam.transforms.sideinputs import _global_window_mapping_fn

from headrace.errors import HeadraceError
from headrace.sdk.beam.programs.metrics import StepTracker
from headrace.sdk.beam.programs.options import RuntimeOptions
from headrace.sdk.beam.programs.rows import Emitted
from headrace.sdk.beam.programs.windows import WindowTranslation
from headrace.sdk.pardo.side_inputs import AsSideInput
from headrace.sdk.pipelines.pvalue import PCollection


@attrs.frozen(eq=False)
class BeamStep:
    """A ParDo of Beam, as it is sent to workers.

    Attributes:
        label: its full label.
        fn: the DoFn.
        args: additional arguments, with Beam's placeholders for side inputs.
        kwargs: additional arguments by name.
        windowfn: Beam's window function of the main input.
        views: the kind of each side input, and its options.
        runtime: the options of the run.
    """

    label: str
    fn: Any
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = attrs.field(factory=dict)
    windowfn: Any = None
    views: tuple[tuple[Any, Any], ...] = ()
    runtime: RuntimeOptions = attrs.field(factory=RuntimeOptions.current)


@attrs.define(eq=False)
class CurrentSide:
    """The content of a side input, as Beam's calls ask for it: by window, which is always the current one.

    Attributes:
        current: the argument that functions get.
    """

    current: Any = None

    def is_globally_windowed(self) -> bool:
        """Return False, so that Beam asks again for each element."""
        return False

    def __getitem__(self, window: object) -> Any:
        return self.current


class BeamContent:
    """The values of a side input in a window, and the argument that Beam makes of them, once.

    Args:
        values: the values.
        view: the kind of the side input, and its options.
    """

    def __init__(self, values: list[Any], view: tuple[Any, Any]) -> None:
        self._values = values
        self._view = view

    @cached_property
    def argument(self) -> Any:
        """The argument that functions get."""
        kind, options = self._view
        return kind._from_runtime_iterable(self._values, options)


@attrs.frozen
class BeamView:
    """Makes the argument of the values of a side input, as Beam does.

    Attributes:
        view: the kind of the side input, and its options.
    """

    view: tuple[Any, Any]

    def __call__(self, values: list[Any], name: str) -> BeamContent:
        """Return the content of a window."""
        return BeamContent(values, self.view)


def view_of(side: Any) -> tuple[Any, Any]:
    """Return what workers need of a side input of Beam: its kind and options."""
    return type(side), side._view_options()


def has_windows(view: tuple[Any, Any]) -> bool:
    """Return whether a side input has other windows than the global one."""
    _, options = view
    return bool(options["window_mapping_fn"] != _global_window_mapping_fn)


def own_side_input(pcoll: PCollection[Any], view: tuple[Any, Any]) -> AsSideInput:
    """Return a side input of Beam as ours, given the collection that it reads."""
    return AsSideInput(pcoll, BeamView(view))


class StepCalls:
    """The calls of a DoFn in one process.

    Args:
        step: the ParDo.

    Attributes:
        step: the ParDo.
        tracker: has Beam's metrics of the step.
        translation: the windows of the main input.
    """

    def __init__(self, step: BeamStep) -> None:
        self.step = step
        self.tracker = StepTracker(step.label)
        self.translation = WindowTranslation(step.windowfn.get_window_coder())

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Record the metrics of functions that are called meanwhile, and name the step in their errors."""
        with self.tracker.tracking():
            try:
                yield
            except Exception as error:
                _annotate(error, self.step.label)


def _annotate(error: Exception, label: str) -> NoReturn:
    """Raise an error again, as Beam does: of the same class, with the step in its text."""
    if getattr(error, "_tagged_with_step", False) or isinstance(error, HeadraceError):
        raise error
    told = f" [while running '{label}']"
    try:
        new = type(error)(error.args[0] + told, *error.args[1:])
        new._tagged_with_step = True  # type: ignore[attr-defined]  # Beam's mark
    except Exception:
        new = RuntimeError("".join(format_exception_only(error)).strip() + told)
        new._tagged_with_step = True  # type: ignore[attr-defined]  # Beam's mark
    for note in getattr(error, "__notes__", ()):
        new.add_note(note)
    raise new.with_traceback(error.__traceback__)


def runner_of(step: BeamStep, sides: list[Any], emitted: Emitted) -> Any:
    """Return Beam's runner of a DoFn.

    Args:
        step: the ParDo.
        sides: a :class:`CurrentSide` for each of its side inputs.
        emitted: takes what it emits.
    """
    return DoFnRunner(
        step.fn,
        list(step.args),
        dict(step.kwargs),
        sides,
        _Windowing(step.windowfn),
        emitted.receivers,
        step_name=step.label,
    )


@attrs.frozen
class _Windowing:
    """What Beam's runner of a DoFn reads of a windowing."""

    windowfn: Any
