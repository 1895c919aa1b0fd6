"""A source's type of elements is that of what reads it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, reveal_type

import headrace as hr

p = hr.Pipeline()


class Numbers(hr.io.BoundedSource[int]):
    def read(self, partition: Any) -> Iterable[int]:
        return range(3)


@dataclass(frozen=True)
class Trip:
    airport: str


class Ticks(hr.io.UnboundedSource[str]):
    def read(self, partition: Any, offset: Any, limit: int) -> hr.io.Batch[str]:
        return hr.io.Batch([], next_offset=offset)


# revealed: PCollection[int]
reveal_type(p | hr.Read(Numbers()))
# revealed: PCollection[str]
reveal_type(p | hr.Read(Ticks()))
# revealed: PCollection[bytes]
reveal_type(p | hr.Impulse())
# revealed: PCollection[str]
reveal_type(p | hr.io.ReadFromText("*.txt"))
# revealed: PCollection[Row]
reveal_type(p | "Csv" >> hr.io.ReadFromCsv("*.csv"))
# revealed: PCollection[Row]
reveal_type(p | hr.io.ReadFromJson("*.json"))
# revealed: PCollection[dict[str, Any]]
reveal_type(p | hr.io.ReadFromParquet("*.parquet"))
# revealed: PCollection[Row]
reveal_type(p | hr.io.ReadFromCsv("*.csv", {"airport": str}))
# revealed: PCollection[Trip]
reveal_type(p | hr.io.ReadFromCsv("*.csv", schema=Trip))
# revealed: PCollection[Trip]
reveal_type(p | hr.io.ReadFromJson("*.json", Trip))
# revealed: PCollection[Trip]
reveal_type(p | hr.io.ReadFromParquet("*.parquet", schema=Trip))
# revealed: PCollection[Trip]
reveal_type(p | hr.io.FromDataFrame(None, schema=Trip))
# revealed: PCollection[Row]
reveal_type(p | hr.io.FromDataFrame(None))
# error: arg-type
_ = p | hr.io.ReadFromText("*.txt") | hr.Map(abs)
# error: arg-type
_ = p | hr.Read(Numbers)
# error: operator
_ = p | hr.Create([1]) | hr.Read(Numbers())
