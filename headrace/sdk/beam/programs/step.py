"""One of Beam's DoFns in one process: Beam's own runner of DoFns, its outputs, side inputs and metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import attrs
from apache_beam.runners.common import DoFnRunner

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


def own_side_input(pcoll: PCollection[Any], view: tuple[Any, Any]) -> AsSideInput:
    """Return a side input of Beam as ours, given the collection that it reads."""
    return AsSideInput(pcoll, BeamView(view))


class Worker:
    """The calls of a DoFn in one process.

    Args:
        step: the ParDo.
        user_state: gives states and timers to Beam's calls; None unless the DoFn is stateful.

    Attributes:
        emitted: the outputs since the last time that they were taken.
        runner: Beam's runner of the DoFn.
        tracker: has Beam's metrics of the step.
        translation: the windows of the main input.
    """

    def __init__(self, step: BeamStep, user_state: Any = None) -> None:
        self.step = step
        self.tracker = StepTracker(step.label)
        self.translation = WindowTranslation(step.windowfn.get_window_coder())
        self.emitted = Emitted.with_converter(getattr(step.fn, "output_batch_converter", None))
        self._sides: list[Any] = [CurrentSide() for _ in step.views]
        self.runner = DoFnRunner(
            step.fn,
            list(step.args),
            dict(step.kwargs),
            self._sides,
            _Windowing(step.windowfn),
            self.emitted.receivers,
            step_name=step.label,
            user_state_context=user_state,
        )

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Record the metrics of the functions that are called meanwhile."""
        with self.tracker.tracking():
            yield

    def take_sides(self, contents: tuple[Any, ...]) -> None:
        """Take the contents of side inputs for the elements that follow."""
        for side, content in zip(self._sides, contents, strict=True):
            side.current = content.argument

    def finish(self) -> None:
        """Finish a bundle, call what its elements registered for that, and hand metrics over."""
        with self.calling():
            self.runner.finish()
            self.runner.finalize()
        self.tracker.hand_over()


@attrs.frozen
class _Windowing:
    """What Beam's runner of a DoFn reads of a windowing."""

    windowfn: Any
