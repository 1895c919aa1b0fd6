"""DoFns whose methods are called without Beam's calls: ``process`` on a bundle at a time, with columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from inspect import isgeneratorfunction
from itertools import islice
from operator import length_hint
from types import CodeType
from typing import Any, Final, TypeAlias

import apache_beam as beam
import attrs
from apache_beam.pvalue import TaggedOutput as BeamTagged
from apache_beam.runners.common import DoFnSignature
from apache_beam.transforms.core import CallableWrapperDoFn, DoFn as BeamDoFn
from apache_beam.transforms.window import TimestampedValue as BeamTimestamped
from apache_beam.utils.windowed_value import WindowedValue as BeamWindowed

from headrace.errors import shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.beam.programs.arguments import Given, ProcessArguments, TimerMethod
from headrace.sdk.beam.programs.keys import KeyCoding
from headrace.sdk.beam.programs.rows import tag_of
from headrace.sdk.beam.programs.step import BeamStep, StepCalls
from headrace.sdk.beam.programs.window_fns import window_fn_of
from headrace.sdk.beam.programs.windows import WindowTranslation, pane_of_theirs
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.elements.windowed_value import WindowedValue
from headrace.sdk.pardo.binding import BoundCall, exploded
from headrace.sdk.pardo.state.specs import StateSpec
from headrace.sdk.pardo.state.timers import TimerSpec
from headrace.sdk.pipelines.graph import MAIN
from headrace.sdk.pipelines.outputs import Outputs, by_tag, finishing, restamped, stretched
from headrace.windowing.time.timestamps import Timestamp
from headrace.windowing.timestamped_value import TimestampedValue

_MARKED: Final = (BeamTagged, BeamTimestamped, BeamWindowed)
"""The classes of outputs that say more than their value."""


def is_direct(fn: Any, signature: Any) -> bool:
    """Return whether the methods of a DoFn are called without Beam's calls.

    Args:
        fn: the DoFn.
        signature: Beam's signature of it.
    """
    batches = fn._process_batch_defined or fn._can_yield_batches
    return not (batches or signature.is_splittable_dofn())


class DirectCalls(StepCalls):
    """Calls the methods of a DoFn.

    Args:
        step: the ParDo.
        states: our specs of its states, by name.
        timers: our specs of its timers, by name.
        coding: how keys are encoded in the shuffle; None if they are not.

    Attributes:
        signature: Beam's signature of the DoFn.
        function: its ``process``.
    """

    def __init__(
        self,
        step: BeamStep,
        states: Mapping[str, StateSpec] | None = None,
        timers: Mapping[str, TimerSpec] | None = None,
        coding: KeyCoding | None = None,
    ) -> None:
        super().__init__(step)
        self.signature = signature = signature_of(step.fn)
        self.function: Callable[..., Any] = signature.process_method.method_value
        self._given = Given(self.translation, coding, states or {}, timers or {})
        self._finalizer = BeamDoFn.BundleFinalizerParam()
        self._given.contexts[BeamDoFn.BundleFinalizerParam] = self._finalizer
        self._open: dict[Any, Any] = {}
        self._window_fn = window_fn_of(step.windowfn)
        self._called, self._gather = _called(step.fn, self.function)

    @cached_property
    def _arguments(self) -> ProcessArguments:
        wraps = isinstance(self.step.fn, CallableWrapperDoFn)
        checked = not (wraps or isgeneratorfunction(self.function))
        return ProcessArguments(self.step, self.signature.process_method, self._given, checked)

    def setup(self) -> None:
        """Set the DoFn up."""
        self._enter(self.signature.get_setup_contexts())
        self.signature.setup_lifecycle_method.method_value()

    def start(self) -> None:
        """Start a bundle.

        Raises:
            RuntimeError: its method returns something.
        """
        self._enter(self.signature.get_bundle_contexts())
        outputs = self.signature.start_bundle_method.method_value()
        if outputs is not None:
            raise RuntimeError(f"Start Bundle should not output any elements but got {outputs}")

    def finish(self) -> list[Any]:
        """Finish a bundle, call what its elements registered for that, and return its last outputs."""
        given = self.signature.finish_bundle_method.method_value()
        outputs = [self._last_output(output) for output in given or ()]
        self._exit(self.signature.get_bundle_contexts())
        self._finalizer.finalize_bundle()
        self._finalizer.reset()
        self.tracker.hand_over()
        return outputs

    def teardown(self) -> None:
        """Tear the DoFn down."""
        self.signature.teardown_lifecycle_method.method_value()
        self._exit(self.signature.get_setup_contexts())

    def _enter(self, contexts: Iterable[Any]) -> None:
        for context in contexts:
            self._open[context], self._given.contexts[context] = context.create_and_enter()

    def _exit(self, contexts: Iterable[Any]) -> None:
        for context in contexts:
            if context in self._open:
                self._open.pop(context).__exit__(None, None, None)

    def _last_output(self, output: Any) -> Any:
        value = output.value if isinstance(output, BeamTagged) else output
        if not isinstance(value, BeamWindowed):
            raise RuntimeError(
                f"Finish Bundle should only output WindowedValue type but got {type(value)}"
            )
        return own_output(output, self.translation)

    def last_outputs(self) -> Outputs:
        """Finish a bundle, and return its last outputs by tag."""
        with self.calling():
            return finishing(self.finish(), self.step.label)

    def bound(self, function: Callable[..., Any], sides: tuple[Any, ...]) -> BoundCall:
        """Return the call of ``process`` on the rows of a bundle.

        Args:
            function: the method, or a function that calls it.
            sides: the contents of side inputs.
        """
        return self._arguments.bound(function, sides)

    def timer_methods(self) -> dict[str, TimerMethod]:
        """Return the methods of timers, by the names of the timers.

        Beam has them by the object of the spec. That is another one as soon as the class is unpickled again.
        """
        methods = self.signature.timer_methods.items()
        return {spec.name: TimerMethod.of(method, self._given) for spec, method in methods}

    def outputs(self, bundle: Bundle, sides: tuple[Any, ...]) -> Outputs:
        """Return the outputs for a bundle."""
        call = self.bound(self._called, sides)
        bundle = exploded(bundle) if call.by_window else bundle
        rows = iter(bundle.values)
        with self.calling():
            try:
                made, stamps = self._gather(call.results(rows, bundle), bundle)
            except Exception as error:
                row = len(bundle) - length_hint(rows) - 1
                error.add_note(f"for the element {shorten(bundle.values[row])}")
                raise
            return self._stamped(made, stamps) if stamps else self._by_tag(made)

    def _stamped(self, made: Bundle, stamps: list[int]) -> Outputs:
        """Return outputs at times of their own; what is in several windows is one in each of them."""
        values, single = made.values, exploded(made)
        if single is not made:
            single = exploded(made.with_values(list(zip(values, stamps, strict=True))))
            values = [value for value, _ in single.values]
            stamps = [stamp for _, stamp in single.values]
        return {MAIN: restamped(single, values, stamps, self._window_fn)}

    def _by_tag(self, made: Bundle) -> Outputs:
        """Return outputs, with the columns of the elements that they come from, by tag."""
        kinds = set(map(type, made.values))
        if not _are_marked(kinds):
            return by_tag(made, self._window_fn)
        made = exploded(made)  # an element in several windows is one in each of them
        return by_tag(made.with_values(self.own_outputs(made.values)), self._window_fn)

    def own_outputs(self, values: list[Any]) -> list[Any]:
        """Return outputs of Beam's classes as ours."""
        if not _are_marked(set(map(type, values))):
            return values
        return [own_output(value, self.translation) for value in values]


def _are_marked(kinds: set[type]) -> bool:
    return any(issubclass(kind, _MARKED) for kind in kinds)


RESULTS: Final = 100
"""Number of results that are looked at together."""


@attrs.define(eq=False)
class _Found:
    """Outputs as they come; of Beam's timestamped values only what they hold, so that few are alive at once.

    Attributes:
        values: the outputs.
        stamps: their timestamps in microseconds; None if an output was something else.
    """

    values: list[Any] = attrs.field(factory=list)
    stamps: list[int] | None = attrs.field(factory=list)

    def add(self, block: list[Any]) -> None:
        """Add some outputs; all before them were timestamped values."""
        assert self.stamps is not None
        if set(map(type, block)) <= {BeamTimestamped}:
            self.stamps += [each.timestamp.micros for each in block]
            self.values += [each.value for each in block]
            return
        pairs = zip(self.values, self.stamps, strict=True)
        before = [TimestampedValue(value, Timestamp(micros=micros)) for value, micros in pairs]
        self.values, self.stamps = before + block, None


Gather: TypeAlias = Callable[[Iterator[Any], Bundle], tuple[Bundle, list[int] | None]]
"""Returns outputs, and their timestamps if all have one, given the results of calls on rows of a bundle."""


def _one_each(results: Iterator[Any], bundle: Bundle) -> tuple[Bundle, list[int] | None]:
    found = _Found()
    while found.stamps is not None and (block := list(islice(results, RESULTS))):
        found.add(block)
    found.values.extend(results)
    return bundle.with_values(found.values), found.stamps


def _filtered(results: Iterator[Any], bundle: Bundle) -> tuple[Bundle, None]:
    return bundle.where(list(results)), None


def _any_number(results: Iterator[Any], bundle: Bundle) -> tuple[Bundle, list[int] | None]:
    found, ends = _Found(), [0]
    while found.stamps is not None and (block := _flat(islice(results, RESULTS), ends)) is not None:
        found.add(block)
    values = found.values
    extend = values.extend
    ends += [extend(() if result is None else result) or len(values) for result in results]
    return stretched(values, ends[1:], bundle), found.stamps


def _flat(results: Iterator[Any], ends: list[int]) -> list[Any] | None:
    """Return the outputs of some results, and add where each result ends; None if there are no results."""
    values: list[Any] = []
    extend, before = values.extend, ends[-1]
    some = [extend(() if each is None else each) or before + len(values) for each in results]
    ends += some
    return values if some else None


def _code_of(transform: Any) -> CodeType:
    """Return the code that Beam puts around the function of a Map or Filter."""
    code: CodeType = transform.fn.process.__code__
    return code


_GATHER: Final[dict[CodeType, Gather]] = {
    _code_of(beam.Map(lambda element: element)): _one_each,
    _code_of(beam.Map(lambda element, side: element)): _one_each,
    _code_of(beam.Filter(lambda element: element)): _filtered,
}
"""How to collect what the functions of Map and Filter return, without the lists that Beam puts it into."""


def _called(fn: Any, process: Callable[..., Any]) -> tuple[Callable[..., Any], Gather]:
    """Return what is called on each element: the function of a Map or Filter, else ``process``.

    Args:
        fn: the DoFn.
        process: its method.
    """
    code: Any = getattr(process, "__code__", None)
    if type(fn) is not CallableWrapperDoFn or code not in _GATHER:
        return process, _any_number
    return fn._process_argspec_fn(), _GATHER[code]


def own_output(value: Any, translation: WindowTranslation) -> Any:
    """Return an output of Beam's classes as one of ours.

    Args:
        value: what a method returned or yielded.
        translation: the windows of the main input.
    """
    if isinstance(value, BeamTagged):
        return TaggedOutput(_string(value.tag), own_output(value.value, translation))
    if isinstance(value, BeamTimestamped):
        return TimestampedValue(value.value, Timestamp(micros=value.timestamp.micros))
    if isinstance(value, BeamWindowed):
        return WindowedValue(
            value.value,
            Timestamp(micros=value.timestamp_micros),
            translation.ours(value.windows),
            pane_of_theirs(value.pane_info),
        )
    return value


def _string(tag: Any) -> str:
    if not isinstance(tag, str):
        raise TypeError(f"the tag {tag!r} of an output is not a string")
    return tag_of(tag)


def signature_of(fn: Any) -> Any:
    """Return Beam's signature of a DoFn."""
    return DoFnSignature(fn)
