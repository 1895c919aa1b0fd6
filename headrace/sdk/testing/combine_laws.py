"""The law of a CombineFn: its accumulators are a commutative monoid, and a group if it can subtract.

Engines add inputs in any order and in any number of places, merge what they get, send it on and store it,
and take inputs out again. A CombineFn for which it makes a difference gives other results on other days.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import attrs

from headrace.sdk.combine_fn import CombineFn
from headrace.sdk.testing.law import LawBroken
from headrace.sdk.testing.law_runner import Drawn, drawn_from, try_each
from headrace.sdk.testing.property_testing import st

Equal: TypeAlias = Callable[[Any, Any], bool]

Sides: TypeAlias = tuple[str, str, Any, Any, str]
"""A law, what was done, what came out, what should have, and what to do if these differ."""


ORDER: Final = (
    "inputs are not changed",
    "inputs may be added in any order",
    "add_inputs adds what add_input adds one by one",
    "merging is adding: parts that are merged are the whole",
    "merging is commutative",
    "the accumulator of nothing is the identity of merging",
    "merging is associative",
)
"""The simplest laws; who breaks one of these breaks others as well."""


def check_combine_fn(
    fn: CombineFn | Callable[..., Any],
    inputs: Drawn,
    equal: Equal | None = None,
    cases: int = 100,
) -> None:
    """Check that it does not matter how a CombineFn comes to combine its inputs.

    Merging is associative and commutative, with the accumulator of nothing as identity; adding is like
    merging; ``subtract_input`` undoes ``add_input``; ``compact`` and a journey through pickle change
    nothing; and neither inputs nor results change what is kept.

    Args:
        fn: the CombineFn, or a function such as ``max``.
        inputs: some inputs, or a Hypothesis strategy that draws one.
        equal: tells whether two results are the same; ``==`` by default. Floats want
            ``math.isclose``, and results whose order means nothing want to be sorted.
        cases: how many cases are tried.

    Raises:
        LawBroken: a law does not hold; with the smallest inputs that were found.

    >>> check_combine_fn(sum, [1, 2, 3])
    >>> class Last(CombineFn):
    ...     def create_accumulator(self):
    ...         return None
    ...
    ...     def add_input(self, accumulator, element):
    ...         return element
    ...
    ...     def merge_accumulators(self, accumulators):
    ...         return list(accumulators)[-1]
    ...
    ...     def extract_output(self, accumulator):
    ...         return accumulator
    >>> check_combine_fn(Last(), [1, 2, 3])
    Traceback (most recent call last):
    headrace.sdk.testing.law.LawBroken: the law does not hold that ...
    """
    laws = _Combining(CombineFn.maybe_from_callable(fn))
    parts = st.lists(st.lists(drawn_from(inputs), max_size=4), min_size=3, max_size=3)
    same = equal or _equal

    def law(parts: Sequence[list[Any]]) -> None:
        given = f"{type(laws.fn).__name__} and the inputs {parts!r}"
        laws.leave_inputs_alone(parts, given)
        for says, done, found, expected, remedy in laws.of(*parts):
            if not same(found, expected):
                raise LawBroken(says, given, {done: found, "expected": expected}, remedy)

    try_each(parts, law, cases, ORDER)


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other)


@attrs.frozen
class _Combining:
    """A CombineFn, tried in every way; accumulators are made anew each time, as they may be changed."""

    fn: CombineFn

    def of(self, a: list[Any], b: list[Any], c: list[Any]) -> Iterator[Sides]:
        """Yield what the laws say of some inputs."""
        yield from self._adding(a, b)
        yield from self._merging(a, b, c)
        yield from self._keeping(a, b)
        if self.fn.can_subtract:
            yield from self._subtracting(a, b)

    def leave_inputs_alone(self, parts: Sequence[list[Any]], given: str) -> None:
        """Add inputs, and look whether they are what they were."""
        inputs = [element for part in parts for element in part]
        before = repr(inputs)
        self.add(inputs)
        if repr(inputs) != before:
            raise LawBroken(
                "inputs are not changed",
                given,
                {"inputs after they were added": inputs},
                "copy what has to be changed; other steps see the same objects",
            )

    def add(self, inputs: Iterable[Any]) -> Any:
        accumulator = self.fn.create_accumulator()
        for element in inputs:
            accumulator = self.fn.add_input(accumulator, element)
        return accumulator

    def merge(self, *accumulators: Any) -> Any:
        return self.fn.merge_accumulators(list(accumulators))

    def out(self, accumulator: Any) -> Any:
        return self.fn.extract_output(accumulator)

    def _adding(self, a: list[Any], b: list[Any]) -> Iterator[Sides]:
        expected = self.out(self.add(a + b))
        yield (
            "inputs may be added in any order",
            "added in the other order",
            self.out(self.add((a + b)[::-1])),
            expected,
            "let add_input depend on the inputs alone; elements come in any order",
        )
        together = self.fn.add_inputs(self.fn.create_accumulator(), iter(a + b))
        yield (
            "add_inputs adds what add_input adds one by one",
            "added together",
            self.out(together),
            expected,
            "mend add_inputs, or leave it out",
        )

    def _merging(self, a: list[Any], b: list[Any], c: list[Any]) -> Iterator[Sides]:
        one, two, three = (partial(self.add, inputs) for inputs in (a, b, c))
        whole = self.out(self.add(a + b + c))
        yield (
            "merging is adding: parts that are merged are the whole",
            "merged",
            self.out(self.merge(one(), two(), three())),
            whole,
            "let merge_accumulators take in all that its arguments hold",
        )
        yield (
            "merging is commutative",
            "merged in the other order",
            self.out(self.merge(two(), one())),
            self.out(self.merge(one(), two())),
            "let merge_accumulators not prefer the first or the last",
        )
        yield (
            "merging is associative",
            "the first two merged first",
            self.out(self.merge(self.merge(one(), two()), three())),
            self.out(self.merge(one(), self.merge(two(), three()))),
            "keep in the accumulator all that the result depends on, such as sum and count of a mean",
        )
        nothing = self.fn.create_accumulator
        for done, accumulators in (
            ("nothing merged in front", [nothing(), one()]),
            ("nothing merged behind", [one(), nothing()]),
        ):
            yield (
                "the accumulator of nothing is the identity of merging",
                done,
                self.out(self.merge(*accumulators)),
                self.out(one()),
                "let create_accumulator return what changes nothing when it is merged",
            )

    def _keeping(self, a: list[Any], b: list[Any]) -> Iterator[Sides]:
        expected = self.out(self.add(a))
        yield (
            "an accumulator survives a journey through pickle",
            "pickled and back",
            self.out(pickle.loads(pickle.dumps(self.add(a), protocol=5))),
            expected,
            "keep plain data in accumulators; they are sent and stored by pickle",
        )
        yield (
            "compact changes nothing",
            "compacted",
            self.out(self.fn.compact(self.add(a))),
            expected,
            "let compact only make the accumulator smaller",
        )
        yield (
            "what is compacted can be merged",
            "compacted and merged",
            self.out(self.merge(self.fn.compact(self.add(a)), self.fn.compact(self.add(b)))),
            self.out(self.add(a + b)),
            "let compact return an accumulator like any other",
        )
        accumulator = self.add(a)
        self.out(accumulator)
        yield (
            "extract_output changes nothing",
            "the second result",
            self.out(accumulator),
            expected,
            "let extract_output leave the accumulator as it is; it is called at every firing",
        )

    def _subtracting(self, a: list[Any], b: list[Any]) -> Iterator[Sides]:
        subtract: Any = self.fn.subtract_input  # type: ignore[attr-defined]  # can_subtract says so
        later, earlier = self.add(a + b), self.fn.create_accumulator()
        for element in b:
            later = subtract(later, element)
            earlier = subtract(earlier, element)
        for element in a + b:
            earlier = self.fn.add_input(earlier, element)
        remedy = "let subtract_input undo add_input, or leave it out: then inputs are kept instead"
        yield (
            "subtract_input undoes add_input",
            "added and subtracted",
            self.out(later),
            self.out(self.add(a)),
            remedy,
        )
        yield (
            "an input may be subtracted before it is added",
            "subtracted and added",
            self.out(earlier),
            self.out(self.add(a)),
            remedy,
        )
