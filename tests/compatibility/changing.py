"""A program whose parts can be changed between two runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

import headrace as hr
from headrace.coders import RowCoder, registry
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import (
    BagStateSpec,
    CombiningValueStateSpec,
    ReadModifyWriteStateSpec,
    TimerSpec,
    on_timer,
)
from headrace.triggers import AccumulationMode, DefaultTrigger, Trigger
from headrace.windowing import FixedWindows, TimestampCombiner, WindowFn
from tests.faults.runs import FaultDoFn, Lines, ToldLines
from tests.unit.sdk.serialization import classes
from tests.unit.sdk.serialization.registry import clean_registry

DISCARDING: Final[dict[str, Any]] = {"accumulation_mode": AccumulationMode.DISCARDING}

BEFORE: Final = {"lines/p": ("1 a 1", "12 a 2", "13 b 3"), "lines/q": ("2 b 4", "end")}
BEFORE_TOLD: Final = {"told/r": ("3 a 5", "14 b 6")}
AGAIN: Final = {"lines/p": ("15 a 7",)}
AFTER: Final = {"lines/p": ("16 b 8", "25 a 9", "end"), "told/r": ("17 a 10", "26 b 11", "end")}


class Kept(hr.DoFn):
    """Keeps the values of a key and window, and shows them at a timer."""

    SEEN = BagStateSpec("seen")
    SHOW = TimerSpec("show", TimeDomain.WATERMARK)

    def process(
        self,
        element: Any,
        seen: Any = hr.DoFn.StateParam(SEEN),
        show: Any = hr.DoFn.TimerParam(SHOW),
    ) -> Iterable[Any]:
        seen.add(element[1])
        show.set(19)
        return ()

    @on_timer(SHOW)
    def on_show(
        self, key: Any = hr.DoFn.KeyParam, seen: Any = hr.DoFn.StateParam(SEEN)
    ) -> Iterable[Any]:
        yield key, sorted(seen.read())


class KeptMore(Kept):
    """With a state and a timer more."""

    COUNT = CombiningValueStateSpec("count", sum)
    TELL = TimerSpec("tell", TimeDomain.WATERMARK)

    def process(
        self,
        element: Any,
        seen: Any = hr.DoFn.StateParam(Kept.SEEN),
        show: Any = hr.DoFn.TimerParam(Kept.SHOW),
        count: Any = hr.DoFn.StateParam(COUNT),
        tell: Any = hr.DoFn.TimerParam(TELL),
    ) -> Iterable[Any]:
        count.add(1)
        tell.set(19)
        return super().process(element, seen, show)

    @on_timer(TELL)
    def on_tell(
        self, key: Any = hr.DoFn.KeyParam, count: Any = hr.DoFn.StateParam(COUNT)
    ) -> Iterable[Any]:
        yield key, "later", count.read()


class KeptNothing(hr.DoFn):
    """With a timer only."""

    SHOW = TimerSpec("show", TimeDomain.WATERMARK)

    def process(self, element: Any, show: Any = hr.DoFn.TimerParam(SHOW)) -> Iterable[Any]:
        show.set(19)
        return ()

    @on_timer(SHOW)
    def on_show(self, key: Any = hr.DoFn.KeyParam) -> Iterable[Any]:
        yield key


class KeptOne(hr.DoFn):
    """With a state of another kind."""

    SEEN = ReadModifyWriteStateSpec("seen")

    def process(self, element: Any, seen: Any = hr.DoFn.StateParam(SEEN)) -> Iterable[Any]:
        seen.write(element[1])
        return ()


class KeptByClock(hr.DoFn):
    """With a timer of another time domain."""

    SEEN = BagStateSpec("seen")
    SHOW = TimerSpec("show", TimeDomain.REAL_TIME)

    def process(
        self,
        element: Any,
        seen: Any = hr.DoFn.StateParam(SEEN),
        show: Any = hr.DoFn.TimerParam(SHOW),
    ) -> Iterable[Any]:
        seen.add(element[1])
        show.set(10**10)
        return ()

    @on_timer(SHOW)
    def on_show(self) -> Iterable[Any]:
        yield "never"


NAMES: Final = ("shop.Pair", "shop.Plain", "shop.Attrs")
"""The names of the classes in stored data."""

FIRST: Final = (classes.Pair, classes.Plain, classes.Attrs)
LATER: Final = (classes.LaterPair, classes.LaterPlain, classes.LaterAttrs)


def register(kinds: tuple[type, ...]) -> None:
    """Register the classes as the process of another version would; a fixture undoes it."""
    clean_registry(pytest.MonkeyPatch())
    for kind, name in zip(kinds, NAMES, strict=True):
        registry.register_coder(kind, RowCoder, name=name)


def values_of(kinds: tuple[type, ...], key: str, price: int) -> tuple[str, list[Any]]:
    """An object of each class."""
    return key, [kind(item=key, price=price) for kind in kinds]


def beside(pair: tuple[str, int], others: list[Any]) -> tuple[str, int, int]:
    """A record, with the number of records in its window."""
    return *pair, len(others)


def with_timing(
    pair: tuple[str, int], pane: Any = hr.DoFn.PaneInfoParam
) -> tuple[str, int, str, int]:
    """A pane, with its timing and number."""
    return *pair, pane.timing.name, pane.index


def nothing(p: hr.Pipeline, program: Program, found: Mapping[str, Any]) -> None:
    """Nothing more."""


def no_sources(p: hr.Pipeline, program: Program) -> list[Any]:
    """No more sources."""
    return []


@attrs.frozen
class Program:
    """Two sources -> groupings on two levels, a stateful DoFn, a side input, values of classes."""

    home: Path
    lines: str = "lines"
    told: str = "told"
    label: str = "sum"
    combine: Any = sum
    windows: WindowFn = attrs.field(factory=lambda: FixedWindows(10))
    trigger: Trigger = attrs.field(factory=DefaultTrigger)
    mode: AccumulationMode = AccumulationMode.DISCARDING
    combiner: TimestampCombiner = TimestampCombiner.OUTPUT_AT_EOW
    lateness: int = 10
    total: bool = True
    faults: bool = True
    kept: hr.DoFn = attrs.field(factory=Kept)
    kinds: tuple[type, ...] = FIRST
    side: bool = True
    step: Callable[[Any], Any] = str
    unsunk: tuple[str, ...] = ()
    sources: Callable[..., list[Any]] = no_sources
    more: Callable[..., None] = nothing

    def __call__(self, p: hr.Pipeline) -> None:
        """Build the pipeline."""
        register(self.kinds)
        records = self.records(p)
        sums = self.sums(records)
        found = {
            "records": records | "step" >> hr.Map(self.step),
            "sums": sums | "timing" >> hr.Map(with_timing),
            "kept": records | window("kept", 20) | "kept" >> hr.ParDo(self.kept),
            "values": self.values(records),
        }
        if self.total:
            found["total"] = sums | window("total", 20) | "total" >> hr.CombinePerKey(sum)
        if self.side:
            others = hr.AsList(records | window("others", 20))
            found["beside"] = records | window("beside", 20) | "beside" >> hr.Map(beside, others)
        for name, each in found.items():
            if name not in self.unsunk:
                self.write(each, name)
        self.more(p, self, {**found, "all": records, "results": sums})

    def records(self, p: hr.Pipeline) -> Any:
        """What the sources have, with a step that fails on request."""
        found = [
            p | self.lines >> hr.Read(self.source("lines"), hr.Monotonic()),
            p | self.told >> hr.Read(self.source("told", ToldLines), hr.Monotonic()),
            *self.sources(p, self),
        ]
        every = found | hr.Flatten()
        fault = "fault" >> hr.ParDo(FaultDoFn(self.home / "fault"))
        return every | fault if self.faults else every

    def source(self, name: str, kind: type[Lines] = Lines) -> Lines:
        """A source that reads the files of a folder."""
        folder = self.home / "sources" / name
        folder.mkdir(parents=True, exist_ok=True)
        return kind(str(folder))

    def sums(self, records: Any) -> Any:
        """The grouping whose settings can be changed."""
        settings: dict[str, Any] = {
            "trigger": self.trigger,
            "accumulation_mode": self.mode,
            "timestamp_combiner": self.combiner,
            "allowed_lateness": self.lateness,
        }
        windowed = records | "windows" >> hr.WindowInto(self.windows, **settings)
        return windowed | self.label >> hr.CombinePerKey(self.combine)

    def values(self, records: Any) -> Any:
        """The values of a key and window, as objects of classes."""
        made = records | "objects" >> hr.MapTuple(lambda k, v: values_of(self.kinds, k, v))
        grouped = made | window("values", 20) | "values" >> hr.GroupByKey()
        return grouped | hr.MapTuple(lambda key, found: (key, sorted(found, key=repr)))

    def write(self, collection: Any, name: str) -> None:
        """Write a collection to files."""
        files = hr.io.WriteToText(self.home / "files" / name, num_shards=0)
        _ = collection | f"{name} files" >> files


def window(name: str, size: int) -> Any:
    """Fixed windows for a step."""
    return f"{name} windows" >> hr.WindowInto(FixedWindows(size), **DISCARDING)


def put(home: Path, parts: Mapping[str, Iterable[str]]) -> None:
    """Append lines to the files of the sources."""
    for path, lines in parts.items():
        file = home / "sources" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "a") as out:
            out.writelines(f"{line}\n" for line in lines)
