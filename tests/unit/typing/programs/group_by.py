"""GroupBy and Select know the elements, and not what their expressions give."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | hr.Create(["to", "be"])
# revealed: PCollection[tuple[Any, list[str]]]
reveal_type(words | hr.GroupBy(len))
# revealed: PCollection[Any]
reveal_type(words | hr.GroupBy(size=len).aggregate_field(str, max, "last"))
# revealed: PCollection[Row]
reveal_type(words | hr.Select(size=len))
# revealed: PCollection[tuple[Any, list[str]]]
reveal_type(words | hr.GroupBy())
# revealed: DoOutputsTuple[Any]
reveal_type(words | hr.Select(size=len).with_exception_handling())
# error: arg-type
_ = words | hr.GroupBy(3)
# error: arg-type
_ = words | hr.Select(size=3)
