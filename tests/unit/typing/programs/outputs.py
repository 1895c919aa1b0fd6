"""Tags and timestamps are no part of the elements; outputs by tag hold anything."""

from collections.abc import Iterator
from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | hr.Create(["to", "be"])


class Split(hr.DoFn):
    def process(self, word: str) -> Iterator[int | hr.TaggedOutput]:
        yield len(word)
        yield hr.TaggedOutput("short", word)


class Timed(hr.DoFn):
    def process(self, word: str) -> Iterator[hr.TimestampedValue[str]]:
        yield hr.TimestampedValue(word, 5)


# revealed: PCollection[int]
reveal_type(words | hr.ParDo(Split()))
# revealed: PCollection[str]
reveal_type(words | hr.ParDo(Timed()))
lengths, short = words | hr.ParDo(Split()).with_outputs("short", main="lengths")
# revealed: PCollection[Any]
reveal_type(short)
# revealed: PCollection[Any]
reveal_type((words | "By tag" >> hr.ParDo(Split()).with_outputs()).short)
# error: operator
_ = words | hr.Map(len) | hr.ParDo(Split()).with_outputs("short")
