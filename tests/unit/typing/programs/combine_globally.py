"""CombineGlobally makes one value of all."""

from collections.abc import Iterable
from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
numbers = p | hr.Create([1, 2])


def shown(values: Iterable[str]) -> str:
    return ", ".join(values)


# revealed: PCollection[int]
reveal_type(numbers | hr.CombineGlobally(sum))
# revealed: PCollection[float]
reveal_type(numbers | hr.Map(float) | hr.CombineGlobally(sum))
# revealed: PCollection[str]
reveal_type(numbers | hr.Map(str) | hr.CombineGlobally(shown).without_defaults())
# error: arg-type
_ = numbers | hr.CombineGlobally(shown)
