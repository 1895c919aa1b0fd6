"""Tee, FlattenWith and LogElements keep the type of their input; Regex and ToString give text."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | "Words" >> hr.Create(["to", "be"])
numbers = p | "Numbers" >> hr.Create([1, 2])
# revealed: PCollection[str]
reveal_type(words | hr.Tee(hr.Map(len), lambda pcoll: pcoll | hr.Map(print)))
# revealed: PCollection[str]
reveal_type(words | hr.LogElements(prefix="> "))
# revealed: PCollection[str]
reveal_type(words | hr.Regex.find("[a-z]"))
# revealed: PCollection[tuple[str, str]]
reveal_type(words | hr.Regex.matches_kv("(.)(.)", 1, 2))
# revealed: PCollection[list[str]]
reveal_type(words | hr.Regex.split(","))
# revealed: PCollection[str]
reveal_type(numbers | hr.ToString.Element())
# error: operator
_ = numbers | hr.Regex.find("[a-z]")
