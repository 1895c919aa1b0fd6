"""The laws of a CombineFn: its accumulators are a commutative monoid, and a group if it can subtract.

Engines add inputs in any order and on any number of workers, merge, send and store accumulators, and
subtract inputs. A CombineFn that breaks a law gives different results from run to run.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import attrs

from headrace.errors import shorten
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.testing.assertions.matchers import Equal
from headrace.sdk.testing.laws.law import VALUES_UNCHANGED, LawBroken, Unquoted
from headrace.sdk.testing.laws.law_runner import Drawn, check_law, drawn_from
from headrace.sdk.testing.property_testing import st

Comparison: TypeAlias = tuple[str, str, Any, Any, str]
"""A law, an operation, its result, the expected result, and the remedy if these differ."""


NEW_ACCUMULATOR: Final = "create_accumulator returns a new accumulator each time"

OWN_ACCUMULATOR: Final = "an accumulator shares nothing with other accumulators"

COMBINE_LAWS: Final = (
    VALUES_UNCHANGED,
    NEW_ACCUMULATOR,
    OWN_ACCUMULATOR,
    "inputs can be added in any order",
    "add_inputs is equivalent to repeated add_input",
    "merging accumulators is equivalent to adding all inputs",
    "merging is commutative",
    "the empty accumulator is the identity of merging",
    "merging is associative",
)
"""The simplest laws; a function that breaks one of these also breaks others."""


def check_combine_fn(
    fn: CombineFn | Callable[..., object],
    inputs: Drawn,
    equal: Equal | None = None,
    cases: int = 100,
) -> None:
    """Check that the result of a CombineFn does not depend on how inputs are combined.

    Merging is associative and commutative, with the empty accumulator as identity; adding is equivalent to
    merging; ``subtract_input`` undoes ``add_input``; ``compact`` and pickling change nothing; inputs are
    not changed, ``create_accumulator`` returns a new accumulator each time, accumulators share nothing that
    changes, and ``extract_output`` does not change the accumulator.

    Args:
        fn: the CombineFn, or a function such as ``max``.
        inputs: some inputs, or a Hypothesis strategy.
        equal: compares two results; ``==`` by default. Use ``math.isclose`` for floats, and compare sorted
            results if their order is not defined.
        cases: number of cases.

    Raises:
        LawBroken: a law does not hold; reports the smallest inputs that were found.

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
    headrace.sdk.testing.laws.law.LawBroken: broken law: ...
    """
    laws = _Combining(CombineFn.maybe_from_callable(fn))
    parts = st.lists(st.lists(drawn_from(inputs), max_size=4), min_size=3, max_size=3)
    same = equal or _equal

    def law(parts: Sequence[list[object]]) -> None:
        given = f"{type(laws.fn).__name__} and the inputs {parts!r}"
        laws.leave_inputs_alone(parts, given)
        laws.create_new_accumulators(parts, given)
        for sentence, operation, found, expected, remedy in laws.of(*parts):
            if not same(found, expected):
                raise LawBroken(sentence, given, {operation: found, "expected": expected}, remedy)

    check_law(parts, law, cases, COMBINE_LAWS)


def _equal(one: object, other: object) -> bool:
    return bool(one == other)


@attrs.frozen
class _Combining:
    """The laws for one CombineFn; accumulators are created for each use, because they can be changed."""

    fn: CombineFn

    def of(self, a: list[Any], b: list[Any], c: list[Any]) -> Iterator[Comparison]:
        """Yield the two sides of each law for some inputs."""
        yield from self._adding(a, b)
        yield from self._merging(a, b, c)
        yield from self._preserving(a, b)
        if self.fn.can_subtract:
            yield from self._subtracting(a, b)

    def leave_inputs_alone(self, parts: Sequence[list[object]], given: str) -> None:
        """Add inputs, and check that they did not change."""
        inputs = [element for part in parts for element in part]
        before = repr(inputs)
        self.add(inputs)
        if repr(inputs) != before:
            raise LawBroken(
                VALUES_UNCHANGED,
                given,
                {"inputs after they were added": inputs},
                "copy values before changing them; other steps use the same objects",
            )

    def create_new_accumulators(self, parts: Sequence[list[object]], given: str) -> None:
        """Add inputs to an accumulator, and check that this does not change the next one."""
        before, one = self.encoded_empty(), self.fn.create_accumulator()
        for element in (element for part in parts for element in part):
            one = self.fn.add_input(one, element)
        after = self.fn.create_accumulator()
        if any(parts) and self.encoded_empty() != before:
            raise LawBroken(
                NEW_ACCUMULATOR,
                given,
                {"empty accumulator, after inputs were added": Unquoted(shorten(after))},
                "create_accumulator returns the same object twice; return a new one, such as [] or {}, and "
                "not an attribute of the class",
            )

    def encoded_empty(self) -> bytes:
        """Return an empty accumulator as bytes; nothing if it has no encoding."""
        try:
            return encode_value(self.fn.create_accumulator())
        except Exception:  # a class can raise anything
            return b""

    def add(self, inputs: Iterable[object]) -> Any:
        accumulator = self.fn.create_accumulator()
        for element in inputs:
            accumulator = self.fn.add_input(accumulator, element)
        return accumulator

    def _added_in_turn(self, a: list[object], b: list[object]) -> object:
        """Return the accumulator of some inputs, while another accumulator gets other inputs."""
        one, two = self.fn.create_accumulator(), self.fn.create_accumulator()
        for place in range(max(len(a), len(b))):
            for element in a[place : place + 1]:
                one = self.fn.add_input(one, element)
            for element in b[place : place + 1]:
                two = self.fn.add_input(two, element)
        return one

    def _stored_before_each(self, inputs: Iterable[object]) -> Any:
        """Return the accumulator of inputs, which is pickled and unpickled before each of them."""
        accumulator = self.fn.create_accumulator()
        for element in inputs:
            stored = pickle.dumps(accumulator, protocol=5)
            accumulator = self.fn.add_input(pickle.loads(stored), element)
        return accumulator

    def merge(self, *accumulators: object) -> Any:
        return self.fn.merge_accumulators(list(accumulators))

    def out(self, accumulator: object) -> Any:
        return self.fn.extract_output(accumulator)

    def _adding(self, a: list[object], b: list[object]) -> Iterator[Comparison]:
        expected = self.out(self.add(a + b))
        yield (
            "inputs can be added in any order",
            "added in reverse order",
            self.out(self.add((a + b)[::-1])),
            expected,
            "make the result of add_input independent of the order of inputs",
        )
        together = self.fn.add_inputs(self.fn.create_accumulator(), iter(a + b))
        yield (
            "add_inputs is equivalent to repeated add_input",
            "added together",
            self.out(together),
            expected,
            "correct add_inputs, or remove it",
        )
        yield (
            OWN_ACCUMULATOR,
            "added in turn with the inputs of another accumulator",
            self.out(self._added_in_turn(a, b)),
            self.out(self.add(a)),
            "create a new object for each accumulator, and do not keep one in the CombineFn",
        )

    def _merging(self, a: list[object], b: list[object], c: list[object]) -> Iterator[Comparison]:
        one, two, three = (partial(self.add, inputs) for inputs in (a, b, c))
        whole = self.out(self.add(a + b + c))
        yield (
            "merging accumulators is equivalent to adding all inputs",
            "merged",
            self.out(self.merge(one(), two(), three())),
            whole,
            "make merge_accumulators use the whole content of all its arguments",
        )
        yield (
            "merging is commutative",
            "merged in reverse order",
            self.out(self.merge(two(), one())),
            self.out(self.merge(one(), two())),
            "make merge_accumulators independent of the order of its arguments",
        )
        yield (
            "merging is associative",
            "first two merged first",
            self.out(self.merge(self.merge(one(), two()), three())),
            self.out(self.merge(one(), self.merge(two(), three()))),
            "store everything that the result depends on in the accumulator, such as sum and count for a "
            "mean",
        )
        empty = self.fn.create_accumulator
        for operation, accumulators in (
            ("empty merged first", [empty(), one()]),
            ("empty merged last", [one(), empty()]),
        ):
            yield (
                "the empty accumulator is the identity of merging",
                operation,
                self.out(self.merge(*accumulators)),
                self.out(one()),
                "make create_accumulator return an accumulator that changes nothing when it is merged",
            )

    def _preserving(self, a: list[object], b: list[object]) -> Iterator[Comparison]:
        expected = self.out(self.add(a))
        yield (
            "pickling preserves an accumulator",
            "pickled and unpickled",
            self.out(pickle.loads(pickle.dumps(self.add(a), protocol=5))),
            expected,
            "use plain data in accumulators; they are pickled to be sent and stored",
        )
        yield (
            "pickling preserves an accumulator",
            "pickled and unpickled before each input",
            self.out(self._stored_before_each(a)),
            expected,
            "compare accumulators with ==, not with is; each round gets a copy of the one that was stored",
        )
        yield (
            "compact does not change the result",
            "compacted",
            self.out(self.fn.compact(self.add(a))),
            expected,
            "make compact only reduce the size of the accumulator",
        )
        yield (
            "compacted accumulators can be merged",
            "compacted and merged",
            self.out(self.merge(self.fn.compact(self.add(a)), self.fn.compact(self.add(b)))),
            self.out(self.add(a + b)),
            "make compact return a normal accumulator",
        )
        accumulator = self.add(a)
        self.out(accumulator)
        yield (
            "extract_output does not change the accumulator",
            "second result",
            self.out(accumulator),
            expected,
            "do not change the accumulator in extract_output; it is called at every firing",
        )

    def _subtracting(self, a: list[object], b: list[object]) -> Iterator[Comparison]:
        subtract: Any = self.fn.subtract_input  # type: ignore[attr-defined]  # can_subtract is true
        later, earlier = self.add(a + b), self.fn.create_accumulator()
        for element in b:
            later = subtract(later, element)
            earlier = subtract(earlier, element)
        for element in a + b:
            earlier = self.fn.add_input(earlier, element)
        remedy = (
            "make subtract_input undo add_input, or remove it; the runner then stores all inputs"
        )
        yield (
            "subtract_input undoes add_input",
            "added and subtracted",
            self.out(later),
            self.out(self.add(a)),
            remedy,
        )
        yield (
            "an input can be subtracted before it is added",
            "subtracted and added",
            self.out(earlier),
            self.out(self.add(a)),
            remedy,
        )
