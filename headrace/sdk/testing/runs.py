"""Runs: a script, and the groupings in a row that it is played against, as plain data.

What a run does is spelt out in :func:`build`; :func:`~headrace.sdk.testing.programs.program` writes the
same as a program.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any, Final, Literal, TypeAlias

import attrs

from headrace.errors import PipelineError
from headrace.sdk.co_group_by_key import CoGroupByKey
from headrace.sdk.combine import CombinePerKey
from headrace.sdk.combine_fn import CombineFn
from headrace.sdk.flatten import Flatten
from headrace.sdk.group_by_key import GroupByKey
from headrace.sdk.pardo import Filter, MapTuple
from headrace.sdk.pvalue import PCollection
from headrace.sdk.reading import Create
from headrace.sdk.runner_lookup import Runner
from headrace.sdk.testing.capturing import Capture, capture
from headrace.sdk.testing.script import Event
from headrace.sdk.testing.test_pipeline import TestPipeline
from headrace.sdk.transform import PTransform
from headrace.sdk.window_into import WindowInto
from headrace.triggers.strategy import WindowingStrategy

Kind: TypeAlias = Literal["sum", "list", "largest"]

KINDS: Final[tuple[Kind, ...]] = ("sum", "list", "largest")
"""A sum, which can subtract; a list; a combination that has to keep what it combined."""

Beside: TypeAlias = Literal["flatten", "join"]

UNSAFE: Final = "--allow_unsafe_triggers"
"""The flag of pipelines whose triggers may lose data."""


def weight(value: Any) -> Any:
    """Return a number for any value of a run, be it a number, or a list or tuple of such values.

    >>> weight([1, [2, 3]])
    6
    """
    return sum(map(weight, value)) if isinstance(value, (list, tuple)) else value


def is_odd(value: Any) -> bool:
    """Tell whether the weight of a value is odd.

    >>> is_odd([1, 2])
    True
    """
    return bool(weight(value) % 2 == 1)


def is_big(value: Any) -> bool:
    """Tell whether the weight of a value is 5 or more.

    >>> is_big([1, 2])
    False
    """
    return bool(weight(value) >= 5)


def patience(pair: tuple[Any, Any]) -> int:
    """Return the gap of a session that depends on the element, in seconds: 7 at the most.

    >>> patience(("a", 9))
    3
    """
    return int(1 + weight(pair[1]) % 7)


def ordered(value: Any) -> Any:
    """Return a value whose lists, and lists in it, are in order, as their order means nothing.

    >>> ordered([3, [2, 1]])
    [3, [1, 2]]
    """
    if isinstance(value, tuple):
        return tuple(map(ordered, value))
    return sorted(map(ordered, value), key=repr) if isinstance(value, list) else value


class Largest(CombineFn):
    """The largest number, 0 of none; what it has taken in cannot be taken out again.

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


@attrs.frozen
class Step:
    """A grouping of a run, and what stands in front of it.

    Attributes:
        windowing: where, when and how.
        kind: what it makes of the values of a key.
        assigns: whether elements get new windows before it, or keep those of their panes.
        one_key: whether all keys become one before it.
        only: which values come to it; None for all.
        beside: whether another collection is put in with its input, or joined with it: the run's other
            script, or a branch. The values of a join are a tuple of two lists, and it has no kind.
        branch: the groupings of that branch, through which the elements of the run's first script go,
            too; none, if it is the other script that comes in.
    """

    windowing: WindowingStrategy
    kind: Kind = "sum"
    assigns: bool = True
    one_key: bool = False
    only: Callable[[Any], bool] | None = None
    beside: Beside | None = None
    branch: tuple[Step, ...] = ()


def inheriting(windowing: WindowingStrategy) -> WindowingStrategy:
    """Return how a grouping works that keeps the windows of the panes of another one."""
    return attrs.evolve(windowing, trigger=windowing.trigger.get_continuation_trigger())


def inherited(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return steps of which those that keep their windows work as those before them say."""
    found: list[Step] = []
    for step in steps:
        if found and not step.assigns:
            step = attrs.evolve(step, windowing=inheriting(found[-1].windowing))
        found.append(step)
    return tuple(found)


@attrs.frozen(repr=False)
class Run:
    """A script, and the groupings in a row that it is played against.

    Attributes:
        script: what arrives when.
        steps: the groupings.
        other: what arrives from a second source, if a step takes it in.
    """

    script: tuple[Event, ...]
    steps: tuple[Step, ...]
    other: tuple[Event, ...] = ()

    @property
    def scripts(self) -> tuple[tuple[Event, ...], ...]:
        """The scripts that are played."""
        return (self.script, self.other) if self.has_other else (self.script,)

    @property
    def has_other(self) -> bool:
        """Whether a second source is read."""
        return any(step.beside and not step.branch for step in self.steps)

    @property
    def groupings(self) -> tuple[Step, ...]:
        """All groupings, in the order of their numbers: those in a row, then those of branches."""
        return (*self.steps, *chain.from_iterable(step.branch for step in self.steps))

    def branch(self, n: int) -> list[tuple[int, Step]]:
        """The groupings of the branch that comes into the n-th step, with their numbers."""
        first = len(self.steps) + sum(len(step.branch) for step in self.steps[:n])
        return list(enumerate(self.steps[n].branch, first))

    @property
    def starts(self) -> frozenset[int]:
        """The numbers of the groupings that stand right behind the first source, and nothing else."""
        alone = [0] * (not self.steps[0].beside)
        branches = (self.branch(n)[:1] for n in range(len(self.steps)))
        return frozenset([*alone, *(n for n, _ in chain.from_iterable(branches))])

    def up_to(self, n: int) -> tuple[Step, ...]:
        """The n-th grouping and all that stand in front of it."""
        for i in range(len(self.steps)):
            numbers = [number for number, _ in self.branch(i)]
            if n in numbers:
                return self.steps[i].branch[: numbers.index(n) + 1]
        own = self.steps[: n + 1]
        return (*own, *chain.from_iterable(step.branch for step in own))

    @property
    def plain(self) -> bool:
        """Whether it is nothing but groupings in a row."""
        return not any(step.beside or step.only for step in self.steps)

    def __repr__(self) -> str:
        """Show the expression that makes it."""
        from headrace.sdk.testing.programs import code

        return code(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show Hypothesis the program, which can be pasted and run."""
        from headrace.sdk.testing.programs import program

        printer.text(program(self))


# The pipeline of a run


def adapted(one_key: bool, lists: bool, key: Any, value: Any) -> tuple[Any, Any]:
    """Return what a step groups in place of what comes to it.

    >>> adapted(True, False, "a", [1, 2])
    ('all', 3)
    """
    return "all" if one_key else key, ordered(value) if lists else weight(value)


def holds_lists(step: Step) -> bool:
    """Tell whether the values of a step stay lists if they are some."""
    return step.kind == "list" or step.beside == "join"


def chosen(only: Callable[[Any], bool], pair: tuple[Any, Any]) -> bool:
    """Tell whether the value of a pair is one of those that a step takes."""
    return only(pair[1])


def name(n: int) -> str:
    """Return the name of the n-th grouping."""
    return f"grouping {n}"


def label(n: int, step: Step) -> str:
    """Return the label of the node that groups."""
    return f"{name(n)}/GroupByKey" if step.beside == "join" else name(n)


def suffixes(n: int, step: Step) -> list[str]:
    """Return what tells the labels in front of the n-th grouping apart, one for each of its sides."""
    return [f"{n} left", f"{n} right"] if step.beside else [f"{n}"]


def grouping(step: Step) -> PTransform[Any, Any]:
    """Return the grouping of a step that joins nothing."""
    if step.kind == "list":
        return GroupByKey()
    return CombinePerKey(sum if step.kind == "sum" else Largest())


@attrs.frozen
class Taps:
    """Where a step of a pipeline is listened to.

    Attributes:
        panes: what comes out of it.
        inputs: what goes in, if watched.
        late: what it drops, if watched and asked of new windows.
    """

    panes: Capture
    inputs: Capture | None
    late: Capture | None


def build(source: Any, run: Run, watched: bool, other: Any = None) -> list[Taps]:
    """Put the groupings of a run in a row behind a collection, and listen.

    Args:
        source: the collection of what the script says.
        run: the run.
        watched: whether inputs and late elements are listened to as well.
        other: the collection of what the other script says, if the run has one.
    """
    elements = source
    taps: dict[int, Taps] = {}
    for n, step in enumerate(run.steps):
        side = elements if step.branch else other
        for number, aside in run.branch(n):
            side, taps[number] = _grouped(number, aside, [side], watched)
        source, taps[n] = _grouped(n, step, [source, side] if step.beside else [source], watched)
    return [taps[n] for n in sorted(taps)]


def _grouped(
    n: int, step: Step, sides: Sequence[PCollection[Any]], watched: bool
) -> tuple[PCollection[Any], Taps]:
    """Put a grouping behind what comes to it, and listen."""
    named = zip(sides, suffixes(n, step), strict=True)
    came: Any = [_prepared(side, step, suffix, watched) for side, suffix in named]
    if step.beside == "join":
        source, inputs = came | name(n) >> CoGroupByKey(), None
    else:
        together = came | f"together {n}" >> Flatten() if step.beside else came[0]
        inputs = capture(together, f"inputs {n}") if watched else None
        source = together | name(n) >> grouping(step)
    late = capture(source.late, f"late {n}") if inputs and step.assigns else None
    return source, Taps(capture(source, f"panes {n}"), inputs, late)


def _prepared(side: PCollection[Any], step: Step, suffix: str, watched: bool) -> Any:
    """Take a collection as far as the grouping of a step."""
    came: Any = side
    if step.only is not None:
        came = came | f"only {suffix}" >> Filter(partial(chosen, step.only))
    came = came | f"adapt {suffix}" >> MapTuple(partial(adapted, step.one_key, holds_lists(step)))
    if step.assigns:
        tag = "late" if watched and step.beside != "join" else None
        came = came | f"window {suffix}" >> WindowInto(step.windowing, late_output_tag=tag)
    return came


def can_be_built(run: Run) -> bool:
    """Tell whether the pipeline of a run is not refused while it is built."""
    try:
        with anything_goes() as p:
            sources = [p | source >> Create([]) for source in ("elements", "others")]
            build(sources[0], run, False, sources[1])
    except PipelineError:
        return False
    return True


@contextmanager
def anything_goes(runner: str | Runner | None = None) -> Iterator[TestPipeline]:
    """Give a pipeline in which triggers may lose data and panes may count double."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*holds accumulating panes")
        yield TestPipeline(runner, argv=[UNSAFE])
