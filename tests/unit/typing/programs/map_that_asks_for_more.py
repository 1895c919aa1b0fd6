"""What a function asks for by its default values needs no argument."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | hr.Create(["to", "be"])


def stamped(word: str, time: hr.Timestamp = hr.DoFn.TimestampParam) -> tuple[str, float]:
    return word, float(time)


def timed(word: str) -> hr.TimestampedValue[str]:
    return hr.TimestampedValue(word, len(word))


# revealed: PCollection[tuple[str, float]]
reveal_type(words | hr.Map(stamped))
# revealed: PCollection[str]
reveal_type(words | hr.Map(timed))
# error: arg-type
_ = words | hr.Map(len) | hr.Map(stamped)
