"""Create gives the type of its values; of a dict, its items."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
# revealed: PCollection[int]
reveal_type(p | hr.Create([1, 2]))
# revealed: PCollection[tuple[str, int]]
reveal_type(p | "Pairs" >> hr.Create([("a", 1)]))
# revealed: PCollection[tuple[str, float]]
reveal_type(p | "Items" >> hr.Create({"a": 1.5}))
# revealed: PCollection[str]
reveal_type(p | "Timed" >> hr.Create([hr.TimestampedValue("a", 5)]))
# error: call-overload
_ = p | "One" >> hr.Create(1)
# error: operator
_ = p | hr.Create([1]) | "Again" >> hr.Create([2])
