"""The parts of a Partition hold what it is applied to."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
numbers = p | hr.Create([1, 2, 3])


def parity(number: int, parts: int) -> int:
    return number % parts


even, odd = numbers | hr.Partition(parity, 2)
# revealed: PCollection[int]
reveal_type(odd)
# revealed: PCollection[int]
reveal_type((numbers | "Index" >> hr.Partition(parity, 2))[0])
# error: arg-type
_ = numbers | hr.Map(str) | hr.Partition(parity, 2)
# error: call-overload
_ = numbers | hr.Partition(parity, "2")
