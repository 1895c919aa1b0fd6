# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
"""Where nothing is annotated, everything is Any, and nothing is an error."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | hr.Create(["to", "be"])


def double(x):
    return 2 * x


class Doubled(hr.DoFn):
    def process(self, element):
        yield 2 * element


class Composed(hr.PTransform):
    def expand(self, pcoll):
        return pcoll | hr.Map(double)


class Last(hr.CombineFn):
    def create_accumulator(self):
        return None

    def add_input(self, accumulator, element):
        return element

    def merge_accumulators(self, accumulators):
        return list(accumulators)[-1]

    def extract_output(self, accumulator):
        return accumulator


# revealed: PCollection[Any]
reveal_type(words | hr.Map(double))
# revealed: PCollection[Any]
reveal_type(words | "Doubled" >> hr.FlatMap(double))
# revealed: PCollection[Any]
reveal_type(words | hr.ParDo(Doubled()))
# revealed: Any
reveal_type(words | Composed())
# revealed: Any
reveal_type(words | "Composed" >> Composed() | hr.Map(abs))
# revealed: PCollection[Any]
reveal_type(words | hr.CombineGlobally(Last()))
# revealed: PCollection[tuple[Any, Any]]
reveal_type(words | hr.WithKeys(double) | "Last" >> hr.CombinePerKey(Last()))
