"""A transform of a function takes the function's further arguments."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | hr.Create(["to", "be"])


@hr.ptransform_fn
def Longer(pcoll: hr.PCollection[str], least: int) -> hr.PCollection[int]:
    return pcoll | hr.Map(len) | hr.Filter(lambda size: size >= least)


# revealed: PCollection[int]
reveal_type(words | Longer(2))
# revealed: PCollection[int]
reveal_type(words | "Longer" >> Longer(least=2))
# error: arg-type
_ = words | Longer("2")
# error: call-arg
_ = words | Longer()
# error: operator
_ = words | hr.Map(len) | Longer(2)
