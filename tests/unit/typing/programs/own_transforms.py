"""A PTransform is known by the annotations of its `expand`, or by its type arguments."""

from typing import TypeVar, reveal_type

import headrace as hr
from headrace.pvalue import PBegin

K = TypeVar("K")
V = TypeVar("V")

p = hr.Pipeline()
words = p | hr.Create(["to", "be"])


class Lengths(hr.PTransform):
    def expand(self, pcoll: hr.PCollection[str]) -> hr.PCollection[int]:
        return pcoll | hr.Map(len)


class Shown(hr.PTransform[hr.PCollection[int], hr.PCollection[str]]):
    def expand(self, pcoll: hr.PCollection[int]) -> hr.PCollection[str]:
        return pcoll | hr.Map(str)


class Swapped(hr.PTransform):
    def expand(self, pcoll: hr.PCollection[tuple[K, V]]) -> hr.PCollection[tuple[V, K]]:
        return pcoll | hr.KvSwap()


class Given(hr.PTransform):
    def expand(self, begin: PBegin) -> hr.PCollection[str]:
        return begin | hr.Create(["a"])


# revealed: PCollection[int]
reveal_type(words | Lengths())
# revealed: PCollection[str]
reveal_type(words | "Lengths" >> Lengths() | Shown())
# revealed: PCollection[tuple[str, int]]
reveal_type(words | hr.WithKeys(len) | "Swap" >> Swapped())
# revealed: PCollection[str]
reveal_type(p | Given())
# error: operator
_ = words | Shown()
# error: operator
_ = words | Lengths() | Lengths()
# error: operator
_ = words | Swapped()
# error: operator
_ = words | Given()
