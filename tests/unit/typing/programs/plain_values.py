"""Transforms on plain values, and transforms of any elements."""

from typing import reveal_type

import headrace as hr

# revealed: Any
reveal_type([1, 2] | hr.Map(str))

numbers = hr.Pipeline() | hr.Create([1, 2])
# revealed: PCollection[list[int]]
reveal_type(numbers | hr.BatchElements(2, 2))
# revealed: PCollection[int]
reveal_type(numbers | hr.Deduplicate(60))
# revealed: PCollection[int]
reveal_type(numbers | hr.WaitOn(numbers))
