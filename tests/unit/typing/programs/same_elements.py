"""Distinct, Reshuffle and WithTimestamps change no type."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
steps = p | hr.Create([("a", 3), ("b", 5)])


def time_of(step: tuple[str, int]) -> int:
    return step[1]


def size_of(word: str) -> int:
    return len(word)


# revealed: PCollection[tuple[str, int]]
reveal_type(steps | hr.Distinct())
# revealed: PCollection[tuple[str, int]]
reveal_type(steps | hr.Reshuffle())
# revealed: PCollection[tuple[str, int]]
reveal_type(steps | hr.WithTimestamps(time_of))
# revealed: PCollection[tuple[str, int]]
reveal_type(steps | hr.WithTimestamps(lambda step: step[1]))
# revealed: PCollection[tuple[int, tuple[str, int]]]
reveal_type(steps | hr.ToChangelog())
# error: arg-type
_ = steps | hr.WithTimestamps(size_of)
# error: arg-type
# error: return-value
_ = steps | hr.WithTimestamps(lambda step: step)
