"""FlatMap gives the items of what its function returns."""

from collections.abc import Iterator
from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
lines = p | hr.Create(["to be", "or not"])


def numbers(line: str) -> Iterator[int]:
    yield from map(len, line.split())


# revealed: PCollection[str]
reveal_type(lines | hr.FlatMap(str.split))
# revealed: PCollection[int]
reveal_type(lines | hr.FlatMap(numbers))
# revealed: PCollection[str]
reveal_type(lines | hr.FlatMap(lambda line: line.split()))
# revealed: PCollection[str]
reveal_type(lines | hr.Map(str.split) | hr.FlatMap())
# error: arg-type
_ = lines | hr.FlatMap(len)
# error: arg-type
_ = lines | hr.FlatMap(str.split) | hr.FlatMap(range)
# error: operator
_ = lines | hr.Map(len) | hr.FlatMap()
