"""The program that wrote the kept checkpoints: state of each kind, read from files beside the checkpoint.

A kept checkpoint fits this program, so the program is not changed: what is new gets a program of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import attrs

import headrace as hr
from headrace.coders import Coder, RowCoder, registry
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import (
    BagStateSpec,
    CombiningValueStateSpec,
    MapStateSpec,
    OrderedListStateSpec,
    ReadModifyWriteStateSpec,
    SetStateSpec,
    TimerSpec,
    on_timer,
)
from headrace.triggers import (
    AccumulationMode,
    AfterCount,
    AfterProcessingTime,
    AfterWatermark,
)
from headrace.windowing import FixedWindows, Sessions, SlidingWindows
from tests.faults.runs import Lines, ToldLines

SOURCES: Final[Mapping[str, type[Lines]]] = {"driver": Lines, "workers": ToldLines}
"""Who reads each source."""

FIRST: Final[Mapping[str, Mapping[str, Iterable[str]]]] = {
    "driver": {
        "p": ("1 tea 1", "3 milk 2", "8 tea 3", "14 milk 4", "22 tea 5", "19 tea 6"),
        "q": ("2 tea 7", "5 rye 8", "17 rye 9", "23 milk 1", "4 rye 2"),
    },
    "workers": {"r": ("3 rye 3", "9 milk 4", "21 rye 5", "24 tea 6", "6 milk 7", "25 rye 8")},
}
"""The records before the stop: ``time key value`` by source and partition; some are late."""

REST: Final[Mapping[str, Mapping[str, Iterable[str]]]] = {
    "driver": {
        "p": ("16 tea 9", "27 milk 1", "41 tea 2", "end"),
        "q": ("2 milk 3", "28 rye 4", "44 milk 5", "end"),
    },
    "workers": {"r": ("12 tea 6", "29 rye 7", "43 rye 8", "end")},
}
"""The records after it."""

REFINED: Final[dict[str, Any]] = {
    "trigger": AfterWatermark(early=AfterProcessingTime(10**9), late=AfterCount(1)),
    "accumulation_mode": AccumulationMode.RETRACTING,
    "allowed_lateness": 1_000,
}
"""Late panes that retract; the early ones come only after 30 years."""

SINKS: Final = ("sums", "sessions", "most", "means", "kept", "shares", "records", "values")
"""The names of the sinks."""

RETRACTING: Final = ("sums", "sessions", "most")
"""Those with all results of a group; what is left of them does not depend on the order of arrival."""


class Pair(NamedTuple):
    """A value in the state."""

    item: str
    price: int


@dataclasses.dataclass(frozen=True)
class Plain:
    """A value in the state."""

    item: str
    price: int


@attrs.frozen
class Attrs:
    """A value in the state, with a registered name."""

    item: str
    price: int


class Item:
    """A value in the state, with a coder."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"Item({self.text!r})"


class ItemCoder(Coder):
    """The coder of items."""

    def encode(self, value: Any) -> bytes:
        return value.text.encode()

    def decode(self, encoded: bytes) -> Any:
        return Item(encoded.decode())

    def is_deterministic(self) -> bool:
        return True


class Kept(hr.DoFn):
    """Keeps something in a state of each kind, and shows all of it when a timer fires."""

    LAST = ReadModifyWriteStateSpec("last")
    SEEN = BagStateSpec("seen")
    TOTAL = CombiningValueStateSpec("total", sum)
    ODD = SetStateSpec("odd")
    TIMES = MapStateSpec("times")
    SORTED = OrderedListStateSpec("sorted")
    SHOW = TimerSpec("show", TimeDomain.WATERMARK)
    NEVER = TimerSpec("never", TimeDomain.REAL_TIME)

    def process(
        self,
        element: Any,
        time: Any = hr.DoFn.TimestampParam,
        last: Any = hr.DoFn.StateParam(LAST),
        seen: Any = hr.DoFn.StateParam(SEEN),
        total: Any = hr.DoFn.StateParam(TOTAL),
        odd: Any = hr.DoFn.StateParam(ODD),
        times: Any = hr.DoFn.StateParam(TIMES),
        in_order: Any = hr.DoFn.StateParam(SORTED),
        show: Any = hr.DoFn.TimerParam(SHOW),
        never: Any = hr.DoFn.TimerParam(NEVER),
    ) -> Iterable[Any]:
        _, value = element
        last.write(value)
        seen.add(value)
        total.add(value)
        odd.add(value % 2)
        times.put(value, str(time))
        in_order.add((time, value))
        show.set(time + 6, str(value % 2))
        never.set(10**10)
        return ()

    @on_timer(SHOW)
    def on_show(
        self,
        key: Any = hr.DoFn.KeyParam,
        tag: Any = hr.DoFn.DynamicTimerTagParam,
        last: Any = hr.DoFn.StateParam(LAST),
        seen: Any = hr.DoFn.StateParam(SEEN),
        total: Any = hr.DoFn.StateParam(TOTAL),
        odd: Any = hr.DoFn.StateParam(ODD),
        times: Any = hr.DoFn.StateParam(TIMES),
        in_order: Any = hr.DoFn.StateParam(SORTED),
    ) -> Iterable[Any]:
        values = sorted(seen.read()), total.read(), sorted(odd.read()), sorted(times.keys())
        yield key, tag, last.read() in values[0], *values, len(list(in_order.read()))

    @on_timer(NEVER)
    def on_never(self) -> Iterable[Any]:
        yield "never"


def values_of(key: str, value: int) -> tuple[str, list[Any]]:
    """One value of each kind that the stored data has rules for."""
    kinds = [Pair(key, value), Plain(key, value), Attrs(key, value), Item(key)]
    return key, [*kinds, hr.Row(item=key, price=value)]


def share(pair: tuple[str, int], means: Mapping[str, float]) -> tuple[str, int, float | None]:
    """A record with the mean of its key."""
    return *pair, means.get(pair[0])


def write(home: Path, parts: Mapping[str, Mapping[str, Iterable[str]]]) -> None:
    """Append records to the files that the sources read."""
    for source, partitions in parts.items():
        folder = home / "sources" / source
        folder.mkdir(parents=True, exist_ok=True)
        for name, lines in partitions.items():
            with open(folder / name, "a") as file:
                file.writelines(f"{line}\n" for line in lines)


def build(p: hr.Pipeline, home: Path) -> None:
    """Groupings of each kind, on three levels."""
    registry.register_coder(Attrs, RowCoder, name="shop.Attrs")
    registry.register_coder(Item, ItemCoder, name="shop.Item")
    records = [
        p | name >> hr.Read(source(str(home / "sources" / name)), hr.Monotonic())
        for name, source in SOURCES.items()
    ] | "all" >> hr.Flatten()
    sums = (
        records
        | "tens" >> hr.WindowInto(FixedWindows(10), **REFINED)
        | "sum" >> hr.CombinePerKey(sum)
    )
    sessions = (
        records
        | "visits" >> hr.WindowInto(Sessions(4), **REFINED)
        | "session" >> hr.GroupByKey()
        | "sorted" >> hr.MapTuple(lambda key, values: (key, sorted(values)))
    )
    most = (
        sums
        | "forties" >> hr.WindowInto(FixedWindows(40), **REFINED)
        | "most" >> hr.CombinePerKey(max)
    )
    means = (
        records
        | "sliding" >> hr.WindowInto(SlidingWindows(20, 10), allowed_lateness=1_000)
        | "mean" >> hr.CombinePerKey(hr.combiners.MeanCombineFn())
    )
    kept = (
        records
        | "kept tens" >> hr.WindowInto(FixedWindows(20), allowed_lateness=1_000)
        | "kept" >> hr.ParDo(Kept())
    )
    tens = records | "side tens" >> hr.WindowInto(FixedWindows(10), allowed_lateness=1_000)
    side = (
        records
        | "mean tens" >> hr.WindowInto(FixedWindows(10))
        | "mean of ten" >> hr.CombinePerKey(hr.combiners.MeanCombineFn())
    )
    shares = tens | "share" >> hr.Map(share, hr.AsDict(side))
    values = (
        records
        | "value tens" >> hr.WindowInto(FixedWindows(20))
        | "each kind" >> hr.MapTuple(values_of)
        | "values" >> hr.GroupByKey()
        | "by text" >> hr.MapTuple(lambda key, values: (key, sorted(values, key=repr)))
    )
    changes: dict[str, Any] = {"sums": sums, "sessions": sessions, "most": most}
    found: dict[str, Any] = {
        name: each | f"{name} changes" >> hr.ToChangelog() for name, each in changes.items()
    }
    found |= {"means": means, "kept": kept, "shares": shares, "values": values, "records": records}
    for name, each in found.items():
        sink = hr.io.WriteToText(home / "files" / name, num_shards=0)
        _ = each | f"{name} files" >> sink
