"""Keys, Values, KvSwap and WithKeys take pairs apart and make them."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | hr.Create(["to", "be"])
# revealed: PCollection[tuple[int, str]]
reveal_type(words | hr.WithKeys(len))
# revealed: PCollection[tuple[str, str]]
reveal_type(words | hr.WithKeys("all"))
# revealed: PCollection[int]
reveal_type(words | hr.WithKeys(len) | hr.Keys())
# revealed: PCollection[str]
reveal_type(words | hr.WithKeys(len) | "Values" >> hr.Values())
# revealed: PCollection[tuple[str, int]]
reveal_type(words | hr.WithKeys(len) | hr.KvSwap())
# error: operator
_ = words | hr.Keys()
# error: arg-type
_ = words | hr.WithKeys(abs)
