"""CombinePerKey combines the values with a function on iterables."""

from collections.abc import Iterable
from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
stock = p | hr.Create([("a", 2), ("b", 3)])


def mean(values: Iterable[int]) -> float:
    found = list(values)
    return sum(found) / len(found)


def largest(values: Iterable[int], n: int) -> list[int]:
    return sorted(values)[-n:]


# revealed: PCollection[tuple[str, int]]
reveal_type(stock | hr.CombinePerKey(sum))
# revealed: PCollection[tuple[str, int]]
reveal_type(stock | "Largest" >> hr.CombinePerKey(max))
# revealed: PCollection[tuple[str, int]]
reveal_type(stock | "By size" >> hr.CombinePerKey(min, key=abs))
# revealed: PCollection[tuple[str, float]]
reveal_type(stock | hr.CombinePerKey(mean))
# revealed: PCollection[tuple[str, list[int]]]
reveal_type(stock | hr.CombinePerKey(largest, 2))
# error: arg-type
_ = p | "Words" >> hr.Create([("a", "b")]) | hr.CombinePerKey(mean)
# error: operator
_ = p | "Numbers" >> hr.Create([1]) | hr.CombinePerKey(sum)
# error: arg-type
_ = stock | hr.CombinePerKey(str.upper)
