"""WindowInto changes no type."""

from typing import reveal_type

import headrace as hr
from headrace.windowing import FixedWindows

p = hr.Pipeline()
steps = p | hr.Create([("a", 3), ("b", 5)])
hourly = steps | "Hours" >> hr.WindowInto(FixedWindows(3600))
# revealed: PCollection[tuple[str, int]]
reveal_type(hourly)
# revealed: PCollection[tuple[str, int]]
reveal_type(hourly | hr.CombinePerKey(sum))
# revealed: PCollection[Any]
reveal_type((hourly | hr.GroupByKey()).late)
# error: arg-type
_ = steps | hr.WindowInto(3600)
# error: operator
_ = p | hr.WindowInto(FixedWindows(3600))
