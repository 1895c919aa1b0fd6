"""CombineValues combines the values of each group."""

from typing import reveal_type

import headrace as hr
from headrace import combiners

p = hr.Pipeline()
stock = p | hr.Create([("a", 2), ("b", 3)])
# revealed: PCollection[tuple[str, int]]
reveal_type(stock | hr.GroupByKey() | hr.CombineValues(sum))
# revealed: PCollection[tuple[str, Any]]
reveal_type(stock | hr.GroupByKey() | hr.CombineValues(combiners.MeanCombineFn()))
# error: operator
_ = stock | hr.CombineValues(sum)
