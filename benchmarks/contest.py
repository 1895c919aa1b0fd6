"""A contest: the same workload by all contestants in turn, several times over, results checked.

Turns alternate, so that whatever else the machine does hits all alike; a ratio is the median of the ratios
within each round. Slow contestants get the first part of the input only, and are checked against the dict
loop on that part. Pipeline construction is on the clock; making the input is not.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import time
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
    """Two contestants computed different results."""


@attrs.frozen
class Contestant:
    """Someone who computes the workloads, in a module of their own.

    Attributes:
        name: what the table says.
        module: the module with a function for each workload.
        needs: the package that must be installed.
        slow: whether they get the first part of the input only.
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


DICT_LOOP: Final = Contestant("dict loop", "by_dict_loop")
TUNED_LOOP: Final = Contestant("tuned loop", "by_tuned_loop")
HEADRACE: Final = Contestant("Headrace, local runner", "by_headrace")
BEAM: Final = Contestant("Beam, FnApiRunner", "by_beam", needs="apache_beam", slow=True)
BYTEWAX: Final = Contestant("bytewax", "by_bytewax", needs="bytewax", slow=True)

BY_HAND: Final = (DICT_LOOP, TUNED_LOOP)
RIVALS: Final = {"beam": BEAM, "bytewax": BYTEWAX}


@attrs.frozen
class Outcome:
    """What one contestant achieved.

    Attributes:
        contestant: who.
        rows: size of their input.
        seconds: how long each turn took.
    """

    contestant: Contestant
    rows: int
    seconds: list[float]

    @property
    def rate(self) -> float:
        """Rows per second, in the median."""
        return self.rows / median(self.seconds)

    def times(self, other: Outcome) -> float:
        """How many times as fast as the other they were, in the median over the rounds."""
        ratio = self.rows / other.rows
        pairs = zip(other.seconds, self.seconds, strict=True)
        return ratio * median(theirs / ours for theirs, ours in pairs)


@attrs.frozen
class Contest:
    """One workload and its contestants.

    Attributes:
        workload: what is computed.
        contestants: who computes it, in the order of their turns.
        repeat: number of rounds.
        scale: size of the input relative to the workload's own.
        clock: reads seconds, of the wall or of this process.
    """

    workload: Workload
    contestants: Sequence[Contestant]
    repeat: int
    scale: float
    clock: Clock

    def run(self) -> list[Outcome]:
        """Run all rounds.

        Raises:
            MismatchError: two contestants disagree about the results.
        """
        data = self.workload.generate(int(self.workload.rows * self.scale))
        first = data[: int(self.workload.slow_rows * self.scale)]
        parts = {c: first if c.slow else data for c in self.contestants}
        loop = self._function(DICT_LOOP)
        expected = {len(part): loop(part) for part in (first, data)}
        outcomes = [Outcome(c, len(parts[c]), []) for c in self.contestants]
        for _ in range(self.repeat):
            for outcome in outcomes:
                part = parts[outcome.contestant]
                self._take_turn(outcome, part, expected[len(part)])
        return outcomes

    def _take_turn(self, outcome: Outcome, part: list[Any], expected: Results) -> None:
        function = self._function(outcome.contestant)
        seconds, found = timed(partial(function, part), self.clock)
        require_same(f"{outcome.contestant.name}, {self.workload.name}", found, expected)
        outcome.seconds.append(seconds)

    def _function(self, contestant: Contestant) -> Callable[[list[Any]], Results]:
        function: Callable[[list[Any]], Results] = getattr(contestant.load(), self.workload.name)
        return function


def timed(work: Callable[[], Any], clock: Clock) -> tuple[float, Any]:
    """Do some work; return how long it took, and what it gave.

    What lives already is hidden from the garbage collector, so that nobody pays for others' objects.
    """
    gc.collect()
    gc.freeze()
    start = clock()
    result = work()
    seconds = clock() - start
    gc.unfreeze()
    return seconds, result


def require_same(who: str, found: Results, expected: Results) -> None:
    """Compare results with those of the dict loop.

    Raises:
        MismatchError: they differ.
    """
    if found != expected:
        raise MismatchError(f"{who}: not as the {DICT_LOOP.name}, {_difference(found, expected)}")


def _difference(found: Results, expected: Results) -> str:
    keys = sorted(
        (k for k in found.keys() | expected.keys() if found.get(k) != expected.get(k)), key=repr
    )
    some = "; ".join(f"{k}: {found.get(k)} and {expected.get(k)}" for k in keys[:3])
    return f"{len(keys)} results differ, such as {some}"
