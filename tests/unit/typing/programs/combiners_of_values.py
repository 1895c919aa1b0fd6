"""Lists, sets, dicts, samples, the top and the latest."""

from typing import reveal_type

import headrace as hr
from headrace import combiners

p = hr.Pipeline()
stock = p | hr.Create([("a", 2), ("b", 3)])
counts = stock | hr.Values()
# revealed: PCollection[list[int]]
reveal_type(counts | combiners.ToList())
# revealed: PCollection[set[int]]
reveal_type(counts | "Set" >> combiners.ToSet())
# revealed: PCollection[dict[str, int]]
reveal_type(stock | combiners.ToDict())
# revealed: PCollection[list[int]]
reveal_type(counts | combiners.Top.Largest(2))
# revealed: PCollection[tuple[str, list[int]]]
reveal_type(stock | "Top" >> combiners.Top.SmallestPerKey(2))
# revealed: PCollection[tuple[str, list[int]]]
reveal_type(stock | combiners.Sample.FixedSizePerKey(2))
# revealed: PCollection[tuple[str, int]]
reveal_type(stock | combiners.Latest.PerKey())
# revealed: PCollection[int]
reveal_type(counts | combiners.Latest.Globally())
# error: operator
_ = counts | combiners.ToDict()
# error: operator
_ = counts | combiners.Top.LargestPerKey(2)
