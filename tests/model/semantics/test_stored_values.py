"""What Spark could not send or store for its type or coder fails in a test on the local runner too."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr
from headrace.errors import ElementError, HeadraceError, KeyEncodingError
from headrace.testing import TestPipeline, TestStream
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import (
    BagStateSpec,
    CombiningValueStateSpec,
    ReadModifyWriteStateSpec,
    TimerSpec,
)
from tests.unit.sdk.serialization.registry import clean_registry


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start without registered coders: with one, the first elements are written in every pipeline."""
    clean_registry(monkeypatch)


class Lock:
    """A value that can be copied, but not written."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __deepcopy__(self, memo: Any) -> "Lock":
        return Lock()


class Keeps(hr.DoFn):
    """Writes what a function makes into a state."""

    VALUE = ReadModifyWriteStateSpec("value")

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def process(self, element, value=hr.DoFn.StateParam(VALUE)):
        value.write(self.make())
        return []


class Adds(Keeps):
    """Adds what a function makes to a bag."""

    BAG = BagStateSpec("bag")

    def process(self, element, bag=hr.DoFn.StateParam(BAG)):
        bag.add(self.make())
        return []


class Holding(hr.CombineFn):
    """A CombineFn whose accumulators cannot be written."""

    def create_accumulator(self) -> Lock:
        return Lock()

    def add_input(self, accumulator: Lock, element: Any) -> Lock:
        return accumulator

    def merge_accumulators(self, accumulators: Any) -> Lock:
        return next(iter(accumulators))

    def extract_output(self, accumulator: Lock) -> int:
        return 0


class Compacting(Holding):
    """A CombineFn whose accumulators can be written in their compact form."""

    def compact(self, accumulator: Lock | int) -> int:
        return 0

    def merge_accumulators(self, accumulators: Any) -> Any:
        return 0


class Combines(hr.DoFn):
    """Adds to an accumulator that cannot be written."""

    HOLDING = CombiningValueStateSpec("holding", Holding())

    def process(self, element, holding=hr.DoFn.StateParam(HOLDING)):
        holding.add(1)
        return []


class Tags(hr.DoFn):
    """Sets a timer whose tag can change."""

    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=hr.DoFn.TimerParam(TIMER)):
        timer.set(1, ["tag"])
        return []

    @hr.transforms.userstate.on_timer(TIMER)
    def fire(self):
        return []


def keyed(make: Callable[[], Any]) -> Any:
    return hr.Map(lambda pair: (pair[0], make()))


def with_side_input(rows: Any, others: Any) -> Any:
    return rows | "Main" >> hr.Map(lambda row, some: row, hr.pvalue.AsList(others))


def late(number: int) -> Any:
    """Something that only element 150 is: more than the first elements are checked."""
    return Lock() if number == 150 else number


CASES: dict[str, Callable[[Any], Any]] = {
    "grouped": lambda rows: rows | keyed(Lock) | hr.GroupByKey(),
    "one of many": lambda rows: (
        rows | hr.FlatMap(lambda pair: [(pair[0], late(n)) for n in range(200)]) | hr.GroupByKey()
    ),
    "reshuffled": lambda rows: rows | keyed(Lock) | hr.Reshuffle(),
    "combined": lambda rows: rows | hr.CombinePerKey(Holding()),
    "combined globally": lambda rows: rows | hr.CombineGlobally(Holding()),
    "element of a stateful DoFn": lambda rows: rows | keyed(Lock) | hr.ParDo(Keeps(int)),
    "state": lambda rows: rows | hr.ParDo(Keeps(Lock)),
    "bag": lambda rows: rows | hr.ParDo(Adds(lambda: [Lock()])),
    "lambda with a lock": lambda rows: rows | hr.ParDo(Adds(with_lock)),
    "accumulator in a state": lambda rows: rows | hr.ParDo(Combines()),
    "side input": lambda rows: with_side_input(rows, rows | keyed(Lock)),
}


def with_lock() -> Callable[[], bool]:
    lock = threading.Lock()
    return lambda: lock.locked()


@pytest.mark.parametrize("case", CASES)
def test_a_value_that_cannot_be_written(case: str) -> None:
    unwritten = pytest.raises(ElementError, match="cannot be sent to another worker or stored")
    with unwritten as raised, TestPipeline() as p:
        CASES[case](p | hr.Create([("k", 1)]))
    assert "in DoFn.setup" in str(raised.value)


@pytest.mark.parametrize("case", CASES)
def test_without_the_checks_of_a_test_values_stay_as_they_are(case: str) -> None:
    with hr.Pipeline(argv=[]) as p:
        CASES[case](p | hr.Create([("k", 1)]))


@pytest.mark.parametrize("case", ["state", "accumulator in a state"])
def test_no_pickle_holds_for_states(case: str) -> None:
    refused = pytest.raises(ElementError, match="which --no-pickle forbids")
    with refused, hr.Pipeline(argv=["--no-pickle"]) as p:
        CASES[case](p | hr.Create([("k", 1)]))


@pytest.mark.alone
@pytest.mark.mode("streaming")
def test_a_state_that_cannot_be_written_on_each_runner(runner) -> None:
    rows = TestStream().add_elements([("k", 1)]).advance_watermark_to_infinity()
    with pytest.raises((HeadraceError, TypeError), match="lock"), TestPipeline(runner) as p:
        p | rows | hr.ParDo(Keeps(Lock))


def test_what_a_batch_does_not_send() -> None:
    """Elements beside a broadcast stay, and of combined values only the accumulators are sent."""
    with TestPipeline() as p:
        rows = p | hr.Create([("k", 1)])
        with_side_input(rows | keyed(Lock), rows)
        rows | "Locks" >> keyed(Lock) | hr.CombinePerKey(hr.combiners.CountCombineFn())
        rows | "Compact" >> hr.CombinePerKey(Compacting())


def test_classes_of_functions_and_functions_are_written_by_value() -> None:
    class Local:
        pass

    with TestPipeline() as p:
        rows = p | hr.Create([("k", 1)])
        rows | "Locals" >> keyed(Local) | hr.GroupByKey()
        rows | hr.ParDo(Adds(lambda: (Local(), len, lambda: 1)))


def test_a_timer_with_a_tag_that_can_change() -> None:
    refused = pytest.raises(HeadraceError, match="the dynamic tag of the timer 'timer' is")
    with refused, TestPipeline() as p:
        p | hr.Create([("k", 1)]) | hr.ParDo(Tags())


KEYED: dict[str, Any] = {
    "GroupByKey": hr.GroupByKey,
    "CombinePerKey": lambda: hr.CombinePerKey(sum),
    "stateful": lambda: hr.ParDo(Keeps(int)),
}


class Plain:
    """A class without a coder."""


@pytest.mark.parametrize("kind", [dict, set, Plain])
@pytest.mark.parametrize("transform", KEYED)
def test_a_key_without_a_deterministic_encoding(transform: str, kind: Any) -> None:
    make = hr.Map(lambda pair: (kind(), pair[1]))
    with pytest.raises(KeyEncodingError, match="no deterministic encoding"), TestPipeline() as p:
        p | hr.Create([("k", 1)]) | "key" >> make | KEYED[transform]()
