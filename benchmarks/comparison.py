"""Compare implementations of one workload: run them in turn, repeat for several rounds, check the results.

Implementations alternate, so that other load on the machine affects all alike. A ratio is the median of the
ratios within each round. Slow implementations get only the first part of the input and are checked against
the dict loop on that part. Pipeline construction is timed; generating the input is not.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from types import ModuleType
from typing import Any, Final

import attrs
from workloads import Results, Workload

Clock = Callable[[], float]

CLOCKS: Final[dict[str, Clock]] = {"wall": time.perf_counter, "cpu": time.process_time}


class MismatchError(Exception):
    """Two implementations computed different results."""


@attrs.frozen
class Implementation:
    """An implementation of the workloads, in its own module.

    Attributes:
        name: name in the table.
        module: the module with a function for each workload.
        needs: the package that must be installed.
        slow: whether it gets only the first part of the input.
    """

    name: str
    module: str
    needs: str = ""
    slow: bool = False

    @property
    def installed(self) -> bool:
        return not self.needs or importlib.util.find_spec(self.needs) is not None

    def load(self) -> ModuleType:
        return importlib.import_module(self.module)


DICT_LOOP: Final = Implementation("dict loop", "by_dict_loop")
TUNED_LOOP: Final = Implementation("tuned loop", "by_tuned_loop")
HEADRACE: Final = Implementation("Headrace, local runner", "by_headrace")
BEAM: Final = Implementation("Beam, FnApiRunner", "by_beam", needs="apache_beam", slow=True)
BYTEWAX: Final = Implementation("bytewax", "by_bytewax", needs="bytewax", slow=True)

BY_HAND: Final = (DICT_LOOP, TUNED_LOOP)
OTHERS: Final = {"beam": BEAM, "bytewax": BYTEWAX}


@attrs.frozen
class Measurement:
    """The measured times of one implementation.

    Attributes:
        implementation: what was measured.
        rows: size of its input.
        seconds: time of each round.
    """

    implementation: Implementation
    rows: int
    seconds: list[float]

    @property
    def rate(self) -> float:
        """Median rows per second."""
        return self.rows / median(self.seconds)

    def speedup(self, other: Measurement) -> float:
        """Return the speed relative to the other; the median over the rounds."""
        ratio = self.rows / other.rows
        pairs = zip(other.seconds, self.seconds, strict=True)
        return ratio * median(theirs / ours for theirs, ours in pairs)


@attrs.frozen
class Comparison:
    """One workload and the implementations to compare.

    Attributes:
        workload: what is computed.
        implementations: the implementations, in the order in which they run.
        repeat: number of rounds.
        scale: size of the input, relative to the workload's default.
        clock: returns seconds: wall time or CPU time.
    """

    workload: Workload
    implementations: Sequence[Implementation]
    repeat: int
    scale: float
    clock: Clock

    def run(self) -> list[Measurement]:
        """Run all rounds.

        Raises:
            MismatchError: two implementations computed different results.
        """
        data = self.workload.generate(int(self.workload.rows * self.scale))
        first = data[: int(self.workload.slow_rows * self.scale)]
        parts = {c: first if c.slow else data for c in self.implementations}
        loop = self._function(DICT_LOOP)
        expected = {len(part): loop(part) for part in (first, data)}
        measurements = [Measurement(c, len(parts[c]), []) for c in self.implementations]
        for _ in range(self.repeat):
            for measurement in measurements:
                part = parts[measurement.implementation]
                self._run_once(measurement, part, expected[len(part)])
        return measurements

    def _run_once(self, measurement: Measurement, part: list[Any], expected: Results) -> None:
        function = self._function(measurement.implementation)
        seconds, found = timed(partial(function, part), self.clock)
        require_same(f"{measurement.implementation.name}, {self.workload.name}", found, expected)
        measurement.seconds.append(seconds)

    def _function(self, implementation: Implementation) -> Callable[[list[Any]], Results]:
        function: Callable[[list[Any]], Results] = getattr(
            implementation.load(), self.workload.name
        )
        return function


def timed(work: Callable[[], Any], clock: Clock) -> tuple[float, Any]:
    """Call a function; return the seconds that it took, and its result.

    Existing objects are frozen in the garbage collector, so that an implementation pays only for its own.
    """
    gc.collect()
    gc.freeze()
    start = clock()
    result = work()
    seconds = clock() - start
    gc.unfreeze()
    return seconds, result


def require_same(name: str, found: Results, expected: Results) -> None:
    """Compare results with those of the dict loop.

    Raises:
        MismatchError: they differ.
    """
    if found == expected:
        return
    found, expected = as_counts(found), as_counts(expected)
    if found != expected:
        raise MismatchError(
            f"{name}: differs from the {DICT_LOOP.name}: {_difference(found, expected)}"
        )


def as_counts(found: Results) -> dict[Any, Any]:
    """Return results by key; for a list, the number of times that each output is in it."""
    return Counter(found) if isinstance(found, list) else found


def _difference(found: dict[Any, Any], expected: dict[Any, Any]) -> str:
    keys = sorted(
        (k for k in found.keys() | expected.keys() if found.get(k) != expected.get(k)), key=repr
    )
    some = "; ".join(f"{k}: {found.get(k)} and {expected.get(k)}" for k in keys[:3])
    return f"{len(keys)} results differ, such as {some}"
