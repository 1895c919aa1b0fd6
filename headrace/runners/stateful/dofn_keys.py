"""The base of keyed operators that call a DoFn: its bundles, contexts and checks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from headrace.grouping.bundle import Bundle
from headrace.grouping.keyed_operator import Moments
from headrace.runners.calls.context_managers import ContextManagers
from headrace.runners.checks.emitted_check import EmittedCheck
from headrace.runners.checks.mutation import unchanged
from headrace.runners.error_context import note_method
from headrace.runners.stateful.stateful_outputs import DoFnOutputs
from headrace.sdk.pardo.dofn import BundleContextParam, DoFn
from headrace.triggers.trigger import Clock
from headrace.windowing.window import BoundedWindow


class DoFnKeys:
    """Base of the keyed operators of stateful and splittable DoFns.

    Args:
        dofn: the DoFn.
        checked: label of the step, to check that ``process`` does not change its elements, and methods do not
            change what they emit; empty for no check.

    Attributes:
        dofn: the DoFn.
        emitted: the check of what it emits; None for no check.
        past_timer: by how much a timer of processing time was set to the past, since it was last reset.
        contexts: the context managers that its methods ask for.
        windows: the windows of the call of the DoFn, if there is one.
        checked: label of the step for these checks.
        check_state: checks the state of a key as it is stored, after each call; None for no check.
    """

    def __init__(self, dofn: DoFn, checked: str = "") -> None:
        self.dofn = dofn
        self.checked = checked
        self.check_state: Callable[[Any], None] | None = None
        self.emitted = EmittedCheck("the DoFn", checked) if checked else None
        self.past_timer = 0
        self.contexts = contexts = ContextManagers()
        self.windows: Iterable[BoundedWindow] = ()
        self._in_bundle = False
        self._start = contexts.bound(dofn.start_bundle)
        self._finish = self.emitting(dofn.finish_bundle)

    @abstractmethod
    def new_state(self) -> Any:
        """Return the state of a new key."""

    @abstractmethod
    def process(self, state: Any, elements: Bundle, clock: Clock, out: DoFnOutputs) -> None:
        """Process elements that arrived together."""

    @abstractmethod
    def run_to_completion(
        self, elements: Bundle, start: Clock, end: Clock, out: DoFnOutputs
    ) -> None:
        """Process all elements of a key, then what is due until the end of time."""

    @abstractmethod
    def wake(self, state: Any, clock: Clock, out: DoFnOutputs) -> None:
        """Do what is due."""

    @abstractmethod
    def moments(self, state: Any) -> Moments | None:
        """Return the next timers and the hold of a key; None if its state is empty."""

    @abstractmethod
    def freeze(self, state: Any) -> Any:
        """Return the state of a key as plain data."""

    @abstractmethod
    def thaw(self, frozen: Any) -> Any:
        """Return the state that :meth:`freeze` stored."""

    def emitting(self, method: Callable[..., object]) -> Callable[..., Any]:
        """Return a method that gets its contexts, and whose outputs are checked if that is asked for."""
        bound = self.contexts.bound(method)
        return bound if self.emitted is None else self.emitted.method(bound)

    def current_windows(self) -> Iterable[BoundedWindow]:
        """Return the windows of the call of the DoFn, if there is one; log records have them."""
        return self.windows

    def unchanged(self, values: list[object]) -> AbstractContextManager[None]:
        """Check that values do not change, if that is asked for."""
        return unchanged(values, "process", self.checked) if self.checked else nullcontext()

    def start_bundle(self) -> None:
        """Start a bundle, unless one was started."""
        if not self._in_bundle:
            self._in_bundle = True
            self.contexts.enter(BundleContextParam)
            with note_method("start_bundle"):
                self._start()

    def end_bundle(self) -> Iterable[Any] | None:
        """Finish the bundle, if one was started, and return the outputs of ``finish_bundle``."""
        if not self._in_bundle:
            return None
        self._in_bundle, self.windows = False, ()
        if self.emitted is None:
            outputs: Iterable[object] | None = self._finish()
            return outputs
        return self.emitted.compared(self._finish)
