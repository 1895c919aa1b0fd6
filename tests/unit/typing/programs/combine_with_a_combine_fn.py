"""A CombineFn is known by the annotations of `add_input` and `extract_output`."""

from collections.abc import Iterable
from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | hr.Create([("a", "to"), ("b", "be")])


class Length(hr.CombineFn):
    def create_accumulator(self) -> int:
        return 0

    def add_input(self, total: int, word: str) -> int:
        return total + len(word)

    def merge_accumulators(self, totals: Iterable[int]) -> int:
        return sum(totals)

    def extract_output(self, total: int) -> float:
        return float(total)


# revealed: PCollection[tuple[str, float]]
reveal_type(words | hr.CombinePerKey(Length()))
# revealed: PCollection[float]
reveal_type(words | hr.Values() | hr.CombineGlobally(Length()))
# revealed: PCollection[float]
reveal_type(words | hr.Values() | hr.CombineGlobally(Length()).without_defaults())
# error: arg-type
_ = words | hr.CombineGlobally(Length())
# error: arg-type
_ = words | hr.MapTuple(lambda key, word: (key, len(word))) | hr.CombinePerKey(Length())
# error: arg-type
_ = words | hr.CombinePerKey(Length)
