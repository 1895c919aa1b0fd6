"""A label changes no type."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | "Words" >> hr.Create(["to", "be"])
# revealed: PCollection[str]
reveal_type(words)
# revealed: PCollection[int]
reveal_type(words | "Length" >> hr.Map(len))
# revealed: PCollection[tuple[int, list[str]]]
reveal_type(words | "Pair" >> hr.WithKeys(len) | "Group" >> hr.GroupByKey())
# revealed: PCollection[Any]
reveal_type(words | "Lambda" >> hr.Map(lambda word: word.upper()))
# error: operator
_ = words | "Absolute" >> hr.Map(abs)
# error: operator
_ = words | "Group" >> hr.GroupByKey()
# error: operator
_ = words | 7 >> hr.Map(len)
