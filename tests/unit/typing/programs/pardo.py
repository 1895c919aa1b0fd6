"""ParDo gives what `process` gives out, and takes what it takes."""

from collections.abc import Iterator
from typing import Any, reveal_type

import headrace as hr

p = hr.Pipeline()
lines = p | hr.Create(["to be", "or not"])


class Words(hr.DoFn):
    def process(self, line: str, window: Any = hr.DoFn.WindowParam) -> Iterator[str]:
        yield from line.split()


class Repeated(hr.DoFn):
    def process(self, word: str, times: int) -> list[str]:
        return [word] * times


def letters(word: str) -> list[str]:
    return list(word)


# revealed: PCollection[str]
reveal_type(lines | hr.ParDo(Words()))
# revealed: PCollection[int]
reveal_type(lines | hr.ParDo(Words()) | hr.Map(len))
# revealed: PCollection[str]
reveal_type(lines | hr.ParDo(letters))
# revealed: PCollection[str]
reveal_type(lines | hr.ParDo(Repeated(), 2))
# error: arg-type
_ = lines | hr.Map(len) | hr.ParDo(Words())
# error: arg-type
_ = lines | hr.Map(len) | hr.ParDo(letters)
# error: arg-type
_ = lines | hr.ParDo(Words)
