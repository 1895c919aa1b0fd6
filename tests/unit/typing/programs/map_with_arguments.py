"""Further arguments are checked against the function's."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
numbers = p | hr.Create([1, 2])


def times(number: int, factor: float, unit: str = "m") -> str:
    return f"{number * factor} {unit}"


# revealed: PCollection[str]
reveal_type(numbers | hr.Map(times, 2.5))
# revealed: PCollection[str]
reveal_type(numbers | "Named" >> hr.Map(times, factor=2, unit="km"))
# error: call-overload
_ = numbers | hr.Map(times, "2")
# error: call-arg
_ = numbers | hr.Map(times, 2, units="km")
