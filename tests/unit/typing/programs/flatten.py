"""Flatten puts collections of one type together; of several types, it gives what they share."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
one = p | "One" >> hr.Create([1])
other = p | "Other" >> hr.Create([2])
words = p | "Words" >> hr.Create(["a"])
# revealed: PCollection[int]
reveal_type((one, other) | hr.Flatten())
# revealed: PCollection[int]
reveal_type([one, other] | "Together" >> hr.Flatten())
# revealed: PCollection[object]
reveal_type((one, words) | "Mixed" >> hr.Flatten())
# error: arg-type
_ = (one, other) | hr.Flatten() | hr.Map(str.upper)
# error: operator
_ = (1, 2) | hr.Flatten()
