"""A chain of transforms takes what the first takes and gives what the last gives."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | hr.Create(["to", "be"])


def letters(word: str) -> list[str]:
    return list(word)


spelt = hr.FlatMap(letters) | hr.Map(ord)
# revealed: PTransform[PCollection[str], PCollection[int]]
reveal_type(spelt)
# revealed: PCollection[int]
reveal_type(words | spelt)
# revealed: PCollection[int]
reveal_type(words | "Spelt" >> spelt)
# error: operator
_ = words | hr.Map(len) | spelt
# error: arg-type
_ = hr.Map(ord) | hr.FlatMap(letters)
