"""MapTuple gives the items of a pair to its function."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
stock = p | hr.Create([("a", 2), ("b", 3)])


def label(name: str, count: int) -> str:
    return f"{count} {name}"


def total(one: int, other: int) -> int:
    return one + other


# revealed: PCollection[str]
reveal_type(stock | hr.MapTuple(label))
# revealed: PCollection[str]
reveal_type(stock | hr.MapTuple(lambda name, count: name * count))
# revealed: PCollection[str]
reveal_type(stock | hr.FlatMapTuple(lambda name, count: [name] * count))
# error: arg-type
_ = stock | hr.MapTuple(total)
# error: operator
_ = stock | hr.MapTuple(label) | hr.MapTuple(label)
