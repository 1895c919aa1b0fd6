"""The speed of stored data against pickle, in the same process, in turn: payloads of a shuffle, and states.

python benchmarks/serialization.py
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import attrs
from table import table

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.grouping.state.key_state import KeyState, WindowState, freeze
from headrace.runners.engine.gc_tuning import infrequent_gc
from headrace.runners.spark.shuffle.bundle_columns import pack, unpack
from headrace.runners.spark.shuffle.wire import dumps, loads
from headrace.windowing.window import interval

ELEMENTS: Final = 50_000


class Pair(NamedTuple):
    """A named tuple."""

    item: str
    price: int


@dataclasses.dataclass
class Sale:
    """A dataclass."""

    item: str
    price: int


@attrs.frozen
class Purchase:
    """An attrs class."""

    item: str
    price: int


def values() -> dict[str, list[Any]]:
    """Return elements of each kind."""
    rows = [(f"k{n % 1000}", n) for n in range(ELEMENTS)]
    return {
        "pairs of text and int": rows,
        "text": [f"line {n} of a log" for n in range(ELEMENTS)],
        "floats": [n / 7 for n in range(ELEMENTS)],
        "dicts": [{"item": item, "price": price} for item, price in rows],
        "rows": [hr.Row(item=item, price=price) for item, price in rows],
        "named tuples": [Pair(*row) for row in rows],
        "dataclasses": [Sale(*row) for row in rows],
        "attrs classes": [Purchase(*row) for row in rows],
        "pairs of a key and a dataclass": [(item, Sale(item, price)) for item, price in rows],
    }


def states() -> list[Any]:
    """Return frozen states of keys with three windows each."""
    found = []
    for n in range(ELEMENTS // 25):
        key = KeyState()
        for start in (0, 60, 120):
            window = interval(start, start + 60)
            key.windows[window] = WindowState(trigger=(0, None), content=n + start)
            key.event_timers.set(window, start)
        found.append(freeze(key))
    return found


Way = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]

PICKLE: Final[Way] = (lambda value: pickle.dumps(value, 5), pickle.loads)
"""As before stored data had a format of its own."""

STORED: Final[Way] = (dumps, loads)


def measured(work: Callable[[Way], Any], repeat: int) -> tuple[float, float]:
    """Return the best times of the processor for both ways, in seconds, in turn."""
    best = {PICKLE: float("inf"), STORED: float("inf")}
    for _ in range(repeat):
        for way in (PICKLE, STORED):
            gc.collect()
            start = time.process_time()
            work(way)
            best[way] = min(best[way], time.process_time() - start)
    return best[PICKLE], best[STORED]


def payload(elements: list[Any]) -> Callable[[Way], Any]:
    """Return the work of sending elements: packed as in a shuffle, written, read and unpacked."""
    bundle = Bundle(elements, list(range(len(elements))))
    _, *columns = pack(bundle)
    by_field_before = type(elements[0]) in (hr.Row, Pair)

    def work(way: Way) -> Any:
        if way is PICKLE and not by_field_before:
            return way[1](way[0]((elements, *columns)))
        return unpack(way[1](way[0](pack(bundle))))

    return work


def each(frozen: list[Any]) -> Callable[[Way], Any]:
    """Return the work of storing states one by one, and reading them."""
    return lambda way: [way[1](way[0](state)) for state in frozen]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeat", type=int, default=9)
    repeat = parser.parse_args(argv).repeat
    works = {name: (payload(some), len(some)) for name, some in values().items()}
    works["states of keys"] = each(states()), ELEMENTS // 25
    rows = []
    for name, (work, size) in works.items():
        with infrequent_gc():  # as on a worker
            before, now = measured(work, repeat)
        micros = (1e6 * seconds / size for seconds in (before, now))
        rows.append([name, *(f"{each:.2f}" for each in micros), f"{now / before:.2f}"])
    print(table(["elements", "pickle, us each", "stored data, us each", "ratio"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
