"""A transform with exception handling takes what the transform takes."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | hr.Create(["7", "seven"])
good, bad = words | hr.Map(int).with_exception_handling()
# revealed: PCollection[Any]
reveal_type(good)
# revealed: PCollection[str]
reveal_type(bad | hr.MapTuple(lambda word, error: str(error)))
# error: operator
_ = words | hr.Map(abs).with_exception_handling()
# error: arg-type
_ = words | hr.Map(int).with_exception_handling(partial="no")
