"""GroupByKey gives a list of values for each key, and takes pairs."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
stock = p | hr.Create([("a", 2), ("b", 3)])
# revealed: PCollection[tuple[str, list[int]]]
reveal_type(stock | hr.GroupByKey())
# revealed: PCollection[int]
reveal_type(stock | hr.GroupByKey() | hr.MapTuple(lambda name, counts: sum(counts)))
# error: operator
_ = p | "Words" >> hr.Create(["a"]) | hr.GroupByKey()
# error: operator
_ = p | "Triples" >> hr.Create([(1, 2, 3)]) | hr.GroupByKey()
# error: operator
_ = p | hr.GroupByKey()
