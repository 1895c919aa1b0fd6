"""Map gives what its function returns, and takes what its function takes."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | hr.Create(["to", "be"])


def letters(word: str) -> list[str]:
    return list(word)


# revealed: PCollection[int]
reveal_type(words | hr.Map(len))
# revealed: PCollection[str]
reveal_type(words | hr.Map(str.upper))
# revealed: PCollection[list[str]]
reveal_type(words | hr.Map(letters))
# revealed: PCollection[int]
reveal_type(words | hr.Map(int))
# error: arg-type
_ = words | hr.Map(abs)
# error: arg-type
_ = words | hr.Map(len) | hr.Map(letters)
# error: arg-type
_ = words | hr.Map(len) | hr.Map(str.upper)
