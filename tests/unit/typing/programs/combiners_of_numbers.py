"""Counts, means, sums and extremes."""

from decimal import Decimal
from typing import reveal_type

import headrace as hr
from headrace import combiners

p = hr.Pipeline()
stock = p | hr.Create([("a", 2), ("b", 3)])
counts = stock | hr.Values()
# revealed: PCollection[tuple[str, int]]
reveal_type(stock | combiners.Count.PerKey())
# revealed: PCollection[int]
reveal_type(counts | combiners.Count.Globally())
# revealed: PCollection[tuple[int, int]]
reveal_type(counts | combiners.Count.PerElement())
# revealed: PCollection[tuple[str, float]]
reveal_type(stock | combiners.Mean.PerKey())
# revealed: PCollection[float]
reveal_type(counts | "Mean" >> combiners.Mean.Globally())
# revealed: PCollection[Decimal]
reveal_type(counts | hr.Map(Decimal) | combiners.Mean.Globally())
# revealed: PCollection[tuple[str, int]]
reveal_type(stock | "Sum" >> combiners.Sum.PerKey())
# revealed: PCollection[int]
reveal_type(counts | combiners.Max.Globally())
# error: operator
_ = stock | hr.Keys() | combiners.Mean.Globally()
# error: operator
_ = counts | combiners.Sum.PerKey()
