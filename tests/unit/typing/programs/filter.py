"""Filter changes no type, and its function takes the elements."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | hr.Create(["to", "be"])


def is_even(number: int) -> bool:
    return number % 2 == 0


# revealed: PCollection[str]
reveal_type(words | hr.Filter(str.isalpha))
# revealed: PCollection[str]
reveal_type(words | hr.Filter(lambda word: word < "c"))
# revealed: PCollection[int]
reveal_type(words | hr.Map(len) | hr.Filter(is_even))
# error: arg-type
_ = words | hr.Filter(is_even)
# error: operator
_ = words | hr.Filter(lambda word: word < 3)
