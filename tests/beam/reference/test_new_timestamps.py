"""Elements with new timestamps are in the same windows as on Beam's runner."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

from tests.beam.differences.both_runners import at, in_beam, in_headrace, values

WINDOWS = {
    "fixed": lambda b: b.window.FixedWindows(10),
    "sliding": lambda b: b.window.SlidingWindows(20, 10),
    "sessions": lambda b: b.window.Sessions(10),
    "global": lambda b: b.window.GlobalWindows(),
}


def shown(b: Any) -> Any:
    """Each group with the window that it is in."""
    return b.Map(lambda pair, window=b.DoFn.WindowParam: (*pair, str(window)))


def stamped(b: Any, *outputs: Any) -> Any:
    """Emits for each pair its letter at some times after its number; None for the pair unchanged."""

    def process(pair: Any) -> Any:
        key, (letter, number) = pair
        for output in outputs:
            value = key, (letter, number)
            yield value if output is None else b.window.TimestampedValue(value, number + output)

    return b.FlatMap(process)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("grouped", [False, True], ids=["assigned", "grouped"])
@pytest.mark.parametrize("outputs", [[13], [None, 7], [0, 25, 4]], ids=str)
def test_the_same_groups(windows: str, grouped: bool, outputs: list[int | None]) -> None:
    def program(b: Any, p: Any) -> Any:
        elements = p | b.Create([("a", 1), ("b", 8), ("c", 17)])
        pairs = elements | b.Map(lambda each: at(b, each[1], each))
        pairs = pairs | b.WindowInto(WINDOWS[windows](b))
        if grouped:
            pairs = (
                pairs
                | "First" >> b.GroupByKey()
                | b.FlatMapTuple(lambda k, vs: [(k, v) for v in vs])
            )
        return pairs | "Stamp" >> stamped(b, *outputs) | b.GroupByKey() | shown(b)

    def plain(seen: Any) -> list[Any]:
        return sorted((key, sorted(group), _numbers(window)) for key, group, window in values(seen))

    assert plain(in_headrace(program)) == plain(in_beam(program, streaming=False))


def _numbers(window: str) -> str:
    """A window without the spelling of either library."""
    return "global" if "Global" in window else window
