"""The parameter of a lambda behind | has the type of the elements."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
numbers = p | hr.Create([1, 2])
# revealed: PCollection[float]
reveal_type(numbers | hr.Map(lambda n: n / 2))
# revealed: PCollection[tuple[str, int]]
reveal_type(numbers | hr.Map(lambda n: (str(n), n)))
# revealed: PCollection[int]
reveal_type(numbers | hr.Map(lambda n: [n]) | hr.Map(lambda ns: ns[0]))
# error: attr-defined
_ = numbers | hr.Map(lambda n: n.upper())
