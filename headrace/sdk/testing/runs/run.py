"""Runs: a script and a chain of groupings that process it, as plain data.

:func:`build` creates the pipeline of a run; :func:`~headrace.sdk.testing.runs.programs.program` writes the
same as a program.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, Final

import attrs

from headrace.errors import PipelineError
from headrace.sdk.combiners.approximate.distinct import ApproximateCountDistinctCombineFn
from headrace.sdk.combiners.arithmetic import MeanCombineFn
from headrace.sdk.combiners.by_time import Earliest, Latest
from headrace.sdk.combiners.combine import CombinePerKey
from headrace.sdk.combiners.counting import CountCombineFn
from headrace.sdk.combiners.evictors import CountEvictor
from headrace.sdk.combiners.moments import VarianceCombineFn
from headrace.sdk.combiners.tuples import SingleInputTupleCombineFn
from headrace.sdk.elements.row import Row
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.groups.group_by_key import GroupByKey
from headrace.sdk.groups.window_into import WindowInto
from headrace.sdk.joins.co_group_by_key import CoGroupByKey
from headrace.sdk.pardo.changes import ApplyChanges
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.flatten import Flatten
from headrace.sdk.pardo.side_inputs import AsList
from headrace.sdk.pardo.transforms import Filter, Map, MapTuple, ParDo
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.runner_lookup import Runner
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Create
from headrace.sdk.testing.assertions.capturing import Capture, capture
from headrace.sdk.testing.runs.programs import code, program
from headrace.sdk.testing.runs.repeating import Pauses, Repeat, RepeatUnbounded
from headrace.sdk.testing.runs.stateful_sum import SEEN, StatefulSum, StatefulSumBeside
from headrace.sdk.testing.runs.steps import (
    LAST_VALUES,
    STAMPED_KINDS,
    UNSAFE,
    Kind,
    Step,
    emits_panes,
    has_stateful_side,
    holds_lists,
    in_parts,
    label,
    name,
    output_windowing,
    side_name,
    side_windowing,
    suffixes,
)
from headrace.sdk.testing.runs.weights import weight, with_side
from headrace.sdk.testing.streams.pipelines import TestPipeline
from headrace.sdk.testing.streams.script import END_OF_DATES, ONE_KEY, ScriptEvent
from headrace.windowing.timestamped_value import TimestampedValue


def is_odd(value: object) -> bool:
    """Return whether the weight of a value is odd.

    >>> is_odd([1, 2])
    True
    """
    return bool(weight(value) % 2 == 1)


def is_big(value: object) -> bool:
    """Return whether the weight of a value is at least 5.

    >>> is_big([1, 2])
    False
    """
    return bool(weight(value) >= 5)


def patience(pair: tuple[object, object]) -> int:
    """Return a session gap that depends on the element, in seconds: at most 7.

    >>> patience(("a", 9))
    3
    """
    return int(1 + weight(pair[1]) % 7)


def ordered(value: object) -> Any:
    """Return a value with all lists sorted, because their order is not defined.

    >>> ordered([3, [2, 1]])
    [3, [1, 2]]
    """
    if isinstance(value, tuple):
        return tuple(map(ordered, value))
    return sorted(map(ordered, value), key=repr) if isinstance(value, list) else value


class Largest(CombineFn):
    """The largest number, or 0 if there is none; inputs cannot be subtracted.

    >>> from headrace.testing.strategies import Largest
    >>> Largest().apply([3, 5, 4]), Largest().apply([])
    (5, 0)
    """

    def create_accumulator(self) -> int | None:
        return None

    def add_input(self, accumulator: int | None, element: int) -> int:
        return element if accumulator is None else max(accumulator, element)

    def merge_accumulators(self, accumulators: Iterable[int | None]) -> int | None:
        return max((a for a in accumulators if a is not None), default=None)

    def extract_output(self, accumulator: int | None) -> int:
        return 0 if accumulator is None else accumulator


class Spread(VarianceCombineFn):
    """The variance of N ints times N², which is an int; 0 without values.

    >>> Spread().apply([1, 3]), Spread().apply([])
    (4, 0)
    """

    def __init__(self) -> None:
        super().__init__(population=True)

    def extract_output(self, accumulator: Any) -> int:
        number, _, _, total, squares = accumulator
        return int(number * squares - total**2) if number > 0 else 0


def inherited(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return steps in which those that keep their windows have the windowing that they inherit."""
    found: list[Step] = []
    for step in steps:
        if found and not step.assigns:
            step = attrs.evolve(step, windowing=output_windowing(found[-1]))
        found.append(step)
    return tuple(found)


@attrs.frozen(repr=False)
class Run:
    """A script and a chain of groupings that process it.

    Attributes:
        script: the events of the source.
        steps: the groupings.
        other: the events of a second source, if a step uses it.
        columns: whether the elements of the sources are rows that reach the first steps as columns.
    """

    script: tuple[ScriptEvent, ...]
    steps: tuple[Step, ...] = attrs.field(converter=in_parts)
    other: tuple[ScriptEvent, ...] = ()
    columns: bool = False

    @property
    def scripts(self) -> tuple[tuple[ScriptEvent, ...], ...]:
        """The scripts of all sources."""
        return (self.script, self.other) if self.has_other else (self.script,)

    @property
    def has_other(self) -> bool:
        """Whether there is a second source."""
        return any(step.beside and not step.branch for step in self.steps)

    @property
    def groupings(self) -> tuple[Step, ...]:
        """All groupings, in the order of their numbers: the chain first, then the branches."""
        return (*self.steps, *chain.from_iterable(step.branch for step in self.steps))

    def branch(self, n: int) -> list[tuple[int, Step]]:
        """Return the groupings of the branch that joins the n-th step, with their numbers."""
        first = len(self.steps) + sum(len(step.branch) for step in self.steps[:n])
        return list(enumerate(self.steps[n].branch, first))

    @property
    def starts(self) -> frozenset[int]:
        """The numbers of the groupings whose only input is the first source, at once."""
        alone = [(0, self.steps[0])] * (not self.steps[0].beside)
        branches = (self.branch(n)[:1] for n in range(len(self.steps)))
        first = chain(alone, *branches)
        return frozenset(n for n, step in first if step.pauses is None)

    def up_to(self, n: int) -> tuple[Step, ...]:
        """Return the n-th grouping and all that precede it."""
        for i in range(len(self.steps)):
            numbers = [number for number, _ in self.branch(i)]
            if n in numbers:
                return self.steps[i].branch[: numbers.index(n) + 1]
        own = self.steps[: n + 1]
        return (*own, *chain.from_iterable(step.branch for step in own))

    @property
    def plain(self) -> bool:
        """Whether the run is only a chain of groupings."""
        return not any(step.beside or step.only or step.pauses for step in self.steps)

    @property
    def has_only_panes(self) -> bool:
        """Whether the run is only a chain of groupings without a stateful DoFn."""
        return self.plain and all(map(emits_panes, self.steps))

    def __repr__(self) -> str:
        """Show the expression that creates the run."""
        return code(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the program in Hypothesis, so that it can be pasted and run."""
        printer.text(program(self))


# The pipeline of a run


def adapted(one_key: bool, lists: bool, key: object, value: object) -> tuple[Any, Any]:
    """Return the key and value that a step groups, for an input pair.

    >>> adapted(True, False, "a", [1, 2])
    ('all', 3)
    """
    return ONE_KEY if one_key else key, ordered(value) if lists else weight(value)


def stamped_later(pair: object, seconds: int, timestamp: Any = DoFn.TimestampParam) -> Any:
    """Return a pair with a later timestamp, or the same one if it is near the end of time.

    >>> stamped_later(("a", 1), 2, Timestamp(3))
    TimestampedValue(('a', 1), Timestamp(5))
    """
    later = timestamp + seconds if timestamp.micros < END_OF_DATES else timestamp
    return TimestampedValue(pair, later)


def chosen(only: Callable[[Any], bool], pair: tuple[object, object]) -> bool:
    """Return whether a step uses a pair."""
    return only(pair[1])


_COMBINERS: Final[dict[Kind, Any]] = {
    "sum": sum,
    "count": CountCombineFn(),
    "mean": MeanCombineFn(),
    "max": max,
    "several": SingleInputTupleCombineFn(sum, max),
}


_BY_TIME: Final[dict[Kind, Callable[[], PTransform[Any, Any]]]] = {
    "earliest": Earliest.PerKey,
    "latest": Latest.PerKey,
}


def grouping(step: Step) -> PTransform[Any, Any]:
    """Return the transform of a step that is not a join."""
    if step.kind == "list":
        return GroupByKey()
    if step.kind == "last":
        return GroupByKey(evictor=CountEvictor(LAST_VALUES))
    if step.kind == "state":
        return ParDo(StatefulSum())
    if step.kind in _BY_TIME:
        return _BY_TIME[step.kind]()
    if step.kind in _COMBINERS:
        return CombinePerKey(_COMBINERS[step.kind])
    if step.kind == "distinct":
        return CombinePerKey(ApproximateCountDistinctCombineFn(error=0.0006))
    return CombinePerKey(Spread() if step.kind == "spread" else Largest())


@attrs.frozen
class StepCaptures:
    """The captures of a step.

    Attributes:
        label: the label of the grouping node.
        panes: its output.
        inputs: its input, if watched.
        late: its late elements, if watched and if it assigns windows; a stateful DoFn only counts them.
        before: its input before a side input was added, if watched.
        side: its side input, if watched.
        repeats: the input and output of each splittable DoFn before it, if watched.
    """

    label: str
    panes: Capture
    inputs: Capture | None
    late: Capture | None
    before: Capture | None = None
    side: Capture | None = None
    repeats: tuple[tuple[Capture, Capture], ...] = ()


def build(source: Any, run: Run, watched: bool, other: Any = None) -> list[StepCaptures]:
    """Apply the groupings of a run to a collection, and capture their inputs and outputs.

    Args:
        source: the elements of the script.
        run: the run.
        watched: whether to capture inputs and late elements.
        other: the elements of the other script, if the run has one.
    """
    elements = source
    taps: dict[int, StepCaptures] = {}
    for n, step in enumerate(run.steps):
        side = elements if step.branch else other
        for number, aside in run.branch(n):
            side, taps[number] = _grouped(number, aside, [side], watched)
        source, taps[n] = _grouped(n, step, [source, side] if step.beside else [source], watched)
    return [taps[n] for n in sorted(taps)]


def _grouped(
    n: int, step: Step, sides: Sequence[PCollection[object]], watched: bool
) -> tuple[PCollection[Any], StepCaptures]:
    """Apply a grouping to its inputs, and capture its output."""
    first, *others = suffixes(n, step)
    if step.pauses:
        return _grouped_repeats(n, step, step.pauses, sides, watched)
    came: Any = [_prepared(sides[0], step, first, watched)]
    for side, suffix in zip(sides[1:], others, strict=True):
        prepare = _prepared_side if step.beside == "side" else _prepared
        came.append(prepare(side, step, suffix, watched))
    if step.beside == "join":
        panes = came | name(n) >> CoGroupByKey()
        return panes, StepCaptures(label(n, step), capture(panes, f"panes {n}"), None, None)
    if has_stateful_side(step):
        together, source = _stateful_beside(n, step, came)
    else:
        together = _together(n, step, came)
        source = together | name(n) >> grouping(step)
    inputs = capture(together, f"inputs {n}") if watched else None
    late = capture(source.late, f"late {n}") if inputs and has_late_output(step) else None
    taps = StepCaptures(label(n, step), capture(source, f"panes {n}"), inputs, late)
    if watched and step.beside == "side":
        before, aside = capture(came[0], f"before {n}"), capture(came[1], f"side {n}")
        taps = attrs.evolve(taps, before=before, side=aside)
    return source, taps


def _grouped_repeats(
    n: int, step: Step, pauses: Pauses, sides: Sequence[PCollection[object]], watched: bool
) -> tuple[PCollection[Any], StepCaptures]:
    """Apply a splittable DoFn to the inputs of a grouping, but not to a side input, and then the grouping."""
    came: list[Any] = [*sides]
    repeats = []
    for i, suffix in enumerate(suffixes(n, step)[: 1 if step.beside == "side" else None]):
        before, repeat = came[i], Repeat if came[i].collection.bounded else RepeatUnbounded
        came[i] = before | f"repeat {suffix}" >> ParDo(repeat(pauses))
        if watched:
            names = f"unrepeated {suffix}", f"repeated {suffix}"
            repeats.append((capture(before, names[0]), capture(came[i], names[1])))
    source, taps = _grouped(n, attrs.evolve(step, pauses=None), came, watched)
    return source, attrs.evolve(taps, repeats=tuple(repeats))


def has_late_output(step: Step) -> bool:
    """Return whether the late elements of a step can be captured."""
    return (
        step.assigns
        and step.beside != "join"
        and step.kind not in STAMPED_KINDS
        and emits_panes(step)
    )


def _stateful_beside(
    n: int, step: Step, came: Any
) -> tuple[PCollection[object], PCollection[object]]:
    """Apply a stateful DoFn with a side input; return the values that it adds, and its output."""
    main, side = came
    fn = ParDo(StatefulSumBeside(), AsList(side)).with_outputs(SEEN, main="sums")
    outputs: Any = main | name(n) >> fn
    lateness = main.collection.retraction_lateness
    applied = ApplyChanges(step.windowing, Any, main.collection.changing, lateness)
    return outputs[SEEN] | f"seen {n}" >> applied, outputs.sums


def _together(n: int, step: Step, came: Any) -> Any:
    """Bring the prepared inputs of a step together."""
    if step.beside == "side":
        return came[0] | side_name(n, step) >> Map(with_side, AsList(came[1]))
    return came | f"together {n}" >> Flatten() if step.beside else came[0]


def _prepared(side: PCollection[object], step: Step, suffix: str, watched: bool) -> Any:
    """Apply the transforms that precede the grouping of a step."""
    came = _adapted(side, step, suffix)
    if step.assigns:
        tag = "late" if watched and has_late_output(step) else None
        came = came | f"window {suffix}" >> WindowInto(step.windowing, late_output_tag=tag)
    if step.later:
        came = came | f"stamp {suffix}" >> Map(stamped_later, step.later)
    return came


def _prepared_side(side: PCollection[object], step: Step, suffix: str, watched: bool) -> Any:
    """Apply the transforms that precede a side input; it always has windows of its own."""
    return _adapted(side, step, suffix) | f"window {suffix}" >> WindowInto(side_windowing(step))


def _adapted(side: PCollection[object], step: Step, suffix: str) -> Any:
    """Apply the filter of a step, and adapt keys and values."""
    came: Any = side
    if side.element_type is Row:
        return _pairs_of_rows(came, step, suffix)
    if step.only is not None:
        came = came | f"only {suffix}" >> Filter(partial(chosen, step.only))
    return came | f"adapt {suffix}" >> MapTuple(partial(adapted, step.one_key, holds_lists(step)))


def _pairs_of_rows(came: Any, step: Step, suffix: str) -> Any:
    """Apply the filter of a step to the rows of a source, and make pairs of them; on columns, if possible."""
    if step.only is not None:
        came = came | f"only {suffix}" >> Filter(field_condition(step.only))
    key = ONE_KEY if step.one_key else "key"
    return came | f"adapt {suffix}" >> Map(attrgetter(key, "value"))


def field_condition(only: Callable[[Any], bool]) -> Any:
    """Return ``is_odd`` or ``is_big`` of the value of a row, as an expression over its fields.

    >>> import narwhals as nw
    >>> isinstance(field_condition(is_odd), nw.Expr)
    True
    """
    from narwhals import col

    conditions: dict[object, Any] = {is_odd: col("value") % 2 == 1, is_big: col("value") >= 5}
    return conditions[only]


def can_be_built(run: Run) -> bool:
    """Return whether the pipeline of a run can be built without an error."""
    try:
        with unchecked_pipeline() as p:
            sources = [p | source >> Create([]) for source in ("elements", "others")]
            build(sources[0], run, False, sources[1])
    except PipelineError:
        return False
    return True


@contextmanager
def unchecked_pipeline(
    runner: str | Runner | None = None, flags: Sequence[str] = ()
) -> Iterator[TestPipeline]:
    """Yield a pipeline in which triggers may lose data and panes may be counted twice."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*holds accumulating panes")
        yield TestPipeline(runner, argv=[UNSAFE, *flags])
