"""A value belongs to one place: later changes of it change neither a state nor what was emitted."""

import pickle
from collections.abc import Iterator
from functools import reduce
from itertools import chain
from typing import Any

import attrs
import pytest

import headrace as hr
from headrace.coders import PickleCoder, StrUtf8Coder, VarIntCoder
from headrace.errors import ElementError, MutationError
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.elements.side_containers import SideDict, SideList, SideSet
from headrace.testing import TestPipeline, capture
from headrace.transforms.combiners import ToDictCombineFn, ToListCombineFn
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
from tests.model.semantics.scenarios import (
    ACCUMULATING,
    EACH,
    END,
    FIXED,
    RETRACTING,
    arrive,
    at,
    into,
    script,
    watermark,
)


class Box:
    """A value of a class that can change."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self.items == other.items

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Box({self.items})"


@attrs.frozen
class Frozen:
    """A frozen record with a part that can change."""

    items: list[Any]


def spoil(value: Any) -> None:
    """Change a value, and all values in it."""
    if isinstance(value, (Box, Frozen)):
        spoil(value.items)
    elif isinstance(value, dict):
        for one in value.values():
            spoil(one)
        value["spoiled"] = True
    elif isinstance(value, (list, tuple)):
        for one in value:
            spoil(one)
        if isinstance(value, list):
            value.append("spoiled")


def made(number: int) -> Any:
    """A value with parts of several kinds that can change."""
    return [number, {"a": [number]}, (number, [number]), Box([number]), Frozen([number])]


class Remembered(hr.DoFn):
    """The example of the issue: a list that is read, changed, written and emitted."""

    LIST = ReadModifyWriteStateSpec("list")

    def process(self, element, state=hr.DoFn.StateParam(LIST)):
        key, value = element
        numbers = state.read() or []
        numbers.append(value)
        state.write(numbers)
        yield key, numbers


class ChangedAfterYield(hr.DoFn):
    """A list that is changed after it was emitted, and then written."""

    LIST = ReadModifyWriteStateSpec("list")

    def process(self, element, state=hr.DoFn.StateParam(LIST)):
        key, value = element
        numbers = state.read() or []
        yield key, numbers
        numbers.append(value)
        state.write(numbers)
        yield key, numbers
        numbers.append("lost")


class Kind(hr.DoFn):
    """Adds a value to a state, changes it, and emits and changes what it reads; a subclass has the state."""

    def emitted(self, key: Any, reads: list[Any]) -> Iterator[Any]:
        for number, read in enumerate(reads):
            yield key, (type(self).__name__, number, read)
            spoil(read)


class InAdded(Kind):
    """A base for states that collect what is added."""

    def added(self, element: Any, state: Any) -> Iterator[Any]:
        value = made(element[1])
        state.add(value)
        spoil(value)
        spoil(state.read())
        yield from self.emitted(element[0], [state.read()])


class InBag(InAdded):
    STATE = BagStateSpec("state")

    def process(self, element, state=hr.DoFn.StateParam(STATE)):
        yield from self.added(element, state)


class InCodedBag(InAdded):
    STATE = BagStateSpec("state", PickleCoder())

    def process(self, element, state=hr.DoFn.StateParam(STATE)):
        yield from self.added(element, state)


class InSet(Kind):
    STATE = SetStateSpec("state")

    def process(self, element, state=hr.DoFn.StateParam(STATE)):
        value = [element[1], [len(state.read())]]
        state.add(value)
        spoil(value)
        spoil(state.read())
        yield from self.emitted(element[0], [state.read()])


class InValue(Kind):
    STATE = ReadModifyWriteStateSpec("state")

    def process(self, element, state=hr.DoFn.StateParam(STATE)):
        value = [*(state.read() or []), made(element[1])]
        state.write(value)
        spoil(value)
        spoil(state.read())
        yield from self.emitted(element[0], [state.read()])


class InCombining(InAdded):
    STATE = CombiningValueStateSpec("state", ToListCombineFn())

    def process(self, element, state=hr.DoFn.StateParam(STATE)):
        yield from self.added(element, state)


class InCombinedDict(Kind):
    STATE = CombiningValueStateSpec("state", ToDictCombineFn())

    def process(self, element, state=hr.DoFn.StateParam(STATE)):
        value = [element[1]]
        state.add((len(state.read()), value))
        spoil(value)
        spoil(state.read())
        yield from self.emitted(element[0], [list(state.read().values())])


class Vector:
    """A number that can change, whose sum with 0 is the vector itself."""

    def __init__(self, *numbers: Any) -> None:
        self.numbers = list(numbers)

    def __add__(self, other: Any) -> "Vector":
        return Vector(*self.numbers, *other.numbers)

    def __radd__(self, other: int) -> "Vector":
        return self


class InSum(Kind):
    STATE = CombiningValueStateSpec("state", sum)

    def process(self, element, state=hr.DoFn.StateParam(STATE)):
        value = Vector(element[1])
        state.add(value)
        value.numbers.append("spoiled")
        state.read().numbers.append("spoiled")
        yield from self.emitted(element[0], [state.read().numbers])


class InOrderedList(Kind):
    STATE = OrderedListStateSpec("state")

    def process(self, element, state=hr.DoFn.StateParam(STATE)):
        value = made(element[1])
        state.add((1, value))
        spoil(value)
        spoil(state.read())
        spoil(state.read_range(0, 2))
        found = [[value for _, value in read] for read in (state.read(), state.read_range(0, 2))]
        yield from self.emitted(element[0], found)


class InMap(Kind):
    STATE = MapStateSpec("state")

    def process(self, element, state=hr.DoFn.StateParam(STATE)):
        key, value = [len(state.keys())], made(element[1])
        state.put(key, value)
        spoil(key)
        spoil(value)
        spoil(state.get([0]))
        for read in (state.keys(), state.values(), state.items()):
            spoil(read)
        keys = state.keys()
        assert [key for key, _ in state.items()] == keys
        reads = [state.values(), [state.get(key) for key in keys]]
        yield from self.emitted(element[0], reads)


class InTimers(hr.DoFn):
    """A key that can change, and a method of a timer that changes it and what it reads."""

    STATE = BagStateSpec("state")
    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, state=hr.DoFn.StateParam(STATE), timer=hr.DoFn.TimerParam(TIMER)):
        state.add([element[1]])
        timer.set(3, "a")
        timer.set(4, "b")

    @on_timer(TIMER)
    def fire(self, key=hr.DoFn.KeyParam, state=hr.DoFn.StateParam(STATE)):
        values = state.read()
        yield key, ("InTimers", 0, values)
        spoil(key)
        spoil(values)


BY_KIND = [
    InBag,
    InCodedBag,
    InSet,
    InValue,
    InCombining,
    InCombinedDict,
    InSum,
    InOrderedList,
    InMap,
]


def value_of(kind: type, number: int) -> Any:
    """What a kind of state holds for the value 7 that was added as the n-th one."""
    if kind is InSet:
        return [7, [number]]
    if kind is InSum:
        return 7
    return [7] if kind is InCombinedDict else made(7)


def expected() -> list[Any]:
    rows = [
        ("k", (kind.__name__, read, [value_of(kind, n) for n in range(count)]))
        for kind in BY_KIND
        for read in range(2 if kind in (InOrderedList, InMap) else 1)
        for count in (1, 2, 3)
    ]
    return [*rows, *[(["k"], ("InTimers", 0, [[7], [7], [7]]))] * 2]


def applied(source: hr.PCollection[Any]) -> hr.PCollection[Any]:
    """All kinds of states, side by side."""
    kinds = [source | kind.__name__ >> hr.ParDo(kind()) for kind in BY_KIND]
    by_list = source | "key" >> hr.Map(lambda pair: ([pair[0]], pair[1]))
    return (*kinds, by_list | "InTimers" >> hr.ParDo(InTimers())) | hr.Flatten()


def check_kinds(elements: list[Any]) -> None:
    found = sorted(elements, key=repr)
    assert found == sorted(expected(), key=repr)


CHANGES = ["--no-check-mutation"]
"""The DoFns change what they have emitted, which the check refuses."""


@pytest.mark.mode("batch")
def test_states_share_nothing_with_functions_in_a_batch(runner) -> None:
    with TestPipeline(runner, argv=CHANGES) as p:
        captured = capture(applied(p | hr.Create([("k", 7)] * 3)))
        remembered = p | "equal" >> hr.Create([("k", 0)] * 4)
        lists = capture(remembered | hr.ParDo(Remembered()), "lists")
        yielded = capture(remembered | hr.ParDo(ChangedAfterYield()), "yielded")
    check_kinds([row.value for row in captured.elements])
    assert [len(row.value[1]) for row in lists.elements] == [1, 2, 3, 4]
    assert [row.value[1] for row in yielded.elements] == [[0] * n for n in (0, 1, 1, 2, 2, 3, 3, 4)]


@pytest.mark.mode("streaming")
def test_states_share_nothing_with_functions_in_a_stream(runner) -> None:
    events = [arrive(at(1, 7)), arrive(at(1, 7), at(1, 7)), watermark(5), END]
    numbers = [arrive(at(1, 0), at(1, 1)), arrive(at(1, 2), at(1, 3)), watermark(5), END]
    with TestPipeline(runner, argv=CHANGES) as p:
        captured = capture(applied(p | script(events)))
        remembered = p | "numbers" >> script(numbers)
        lists = capture(remembered | hr.ParDo(Remembered()), "lists")
        yielded = capture(remembered | hr.ParDo(ChangedAfterYield()), "yielded")
    check_kinds([row.value for row in captured.elements])
    prefixes = [list(range(n)) for n in range(5)]
    assert [row.value[1] for row in lists.elements] == prefixes[1:]
    assert [row.value[1] for row in yielded.elements] == [
        prefixes[n] for n in (0, 1, 1, 2, 2, 3, 3, 4)
    ]


# Coders


class Coded(hr.DoFn):
    """Writes ints to a state whose coder is for text."""

    STATE: Any = None

    def __init__(self, write: Any) -> None:
        self.write = write


def coded(spec: Any, write: Any) -> hr.DoFn:
    class Writes(Coded):
        STATE = spec

        def process(self, element, state=hr.DoFn.StateParam(spec)):
            self.write(state, element[1])
            return []

    return Writes(write)


WRONG = [
    (BagStateSpec("s", StrUtf8Coder()), lambda state, n: state.add(n)),
    (SetStateSpec("s", StrUtf8Coder()), lambda state, n: state.add(n)),
    (ReadModifyWriteStateSpec("s", StrUtf8Coder()), lambda state, n: state.write(n)),
    (OrderedListStateSpec("s", StrUtf8Coder()), lambda state, n: state.add((1, n))),
    (MapStateSpec("s", StrUtf8Coder()), lambda state, n: state.put("a", n)),
    (CombiningValueStateSpec("s", StrUtf8Coder(), sum), lambda state, n: state.add(n)),
    (BagStateSpec("s", VarIntCoder()), lambda state, n: state.add([n])),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda case: type(case[0]).__name__)
def test_the_coder_of_a_state_is_checked_without_a_checkpoint(wrong) -> None:
    """On the local runner too, and in a pipeline that is not for tests."""
    with pytest.raises(ElementError, match="of the state 's' fails on"), hr.Pipeline() as p:
        p | hr.Create([("k", 1)]) | hr.ParDo(coded(*wrong))


@pytest.mark.mode("batch")
def test_the_coder_of_a_state_is_checked_on_each_runner(runner) -> None:
    with pytest.raises(ElementError, match="of the state 's' fails on"), TestPipeline(runner) as p:
        p | hr.Create([("k", 1)]) | hr.ParDo(coded(*WRONG[0]))


def test_a_state_without_a_value_needs_no_encoding() -> None:
    spec = ReadModifyWriteStateSpec("s", StrUtf8Coder())
    with TestPipeline() as p:
        p | hr.Create([("k", None)]) | hr.ParDo(coded(spec, lambda s, n: s.write(n)))


# Panes


class ByParity(hr.CombineFn):
    """Lists of even and odd numbers, in one dict: an output shares its lists with the accumulator."""

    def create_accumulator(self):
        return {}

    def add_input(self, accumulator, number):
        accumulator.setdefault(number % 2, []).append(number)
        return accumulator

    def merge_accumulators(self, accumulators):
        first, *others = accumulators
        return reduce(self.add_input, chain(*(n for each in others for n in each.values())), first)

    def extract_output(self, accumulator):
        return accumulator


@pytest.mark.mode("streaming")
def test_a_pane_shares_nothing_with_an_accumulator(play) -> None:
    events = [arrive(at(1, 1)), arrive(at(2, 3)), arrive(at(3, 2)), END]
    parity = hr.CombinePerKey(ByParity())
    panes = [{1: [1]}, {1: [1, 3]}, {0: [2], 1: [1, 3]}]
    played = play(events, into(FIXED, EACH, ACCUMULATING), parity)
    assert [value for _, _, value in played.pairs] == panes
    played = play(events, into(FIXED, EACH, RETRACTING), parity)
    assert played.pairs == [
        (1, "k", panes[0]),
        (-1, "k", panes[0]),
        (1, "k", panes[1]),
        (-1, "k", panes[1]),
        (1, "k", panes[2]),
    ]


@pytest.mark.parametrize("grouping", [hr.GroupByKey, lambda: hr.CombinePerKey(ToListCombineFn())])
def test_a_pane_that_its_reader_changes_is_retracted_as_it_was(grouping) -> None:
    """Readers must not change elements; without the check of tests, the state of a grouping is safe."""
    events = [arrive(at(1, 1)), arrive(at(2, 3)), END]
    changelog = []
    with hr.Pipeline(argv=[]) as p:
        panes = p | script(events) | into(FIXED, EACH, RETRACTING) | grouping() | hr.ToChangelog()
        _ = panes | "Note" >> hr.Map(lambda row: changelog.append(repr(row)))
        _ = panes | "Spoil" >> hr.Map(lambda row: row[1][1].append("spoiled"))
    assert changelog == [
        "(1, ('k', [1]))",
        "(-1, ('k', [1]))",
        "(1, ('k', [1, 3]))",
    ]


# Side inputs


class Spoils(hr.DoFn):
    """Emits what is in its side inputs, and changes them; the next element must not see it."""

    def process(self, element, values, one, by_key, window=hr.DoFn.WindowParam, lists=None):
        yield element[0], repr((values, one, dict(by_key), dict(lists)))
        spoil_containers(values)
        spoil_containers(one)
        spoil_containers(by_key)
        spoil_containers(lists)


def spoil_containers(value: Any) -> None:
    """Change lists, dicts and sets at any depth."""
    if isinstance(value, dict):
        for each in value.values():
            spoil_containers(each)
        value["spoiled"] = True
        value |= {"also": 1}
    elif isinstance(value, (list, tuple)):
        for each in value:
            spoil_containers(each)
        if isinstance(value, list):
            value += ["spoiled"]
            value.reverse()
    elif isinstance(value, set):
        value.add("spoiled")


SPOILED = [
    ("MapTuple", lambda sides: hr.MapTuple(emptied, *sides[2:3])),
    ("Map", lambda sides: hr.Map(sorted_in_place, sides[0])),
]


def sorted_in_place(element, values):
    found = repr(values)
    values.clear()
    return element[0], found


def emptied(key, number, by_key):
    found = repr(dict(by_key))
    by_key.clear()
    return key, found


def with_spoiled_side_inputs(rows: Any, row: Any, pairs: Any) -> Any:
    """Apply functions that change their side inputs."""
    sides = [
        hr.pvalue.AsList(row),
        hr.pvalue.AsSingleton(row),
        hr.pvalue.AsDict(pairs),
        hr.pvalue.AsMultiMap(pairs),
    ]
    found = [rows | "ParDo" >> hr.ParDo(Spoils(), *sides[:3], lists=sides[3])]
    found += [rows | name >> make(sides) for name, make in SPOILED]
    return found | hr.Flatten()


ROW: Any = [1, {"a": [2]}, {3}, ([4],)]
EXPECTED = [
    repr(([ROW], ROW, {"x": [5]}, {"x": [[5]]})),
    repr([ROW]),
    repr({"x": [5]}),
]


@pytest.mark.mode("batch")
def test_a_side_input_that_is_changed_in_a_batch(runner) -> None:
    with TestPipeline(runner) as p:
        row = p | "row" >> hr.Create([ROW])
        pairs = p | "pairs" >> hr.Create([("x", [5])])
        rows = p | hr.Create([("k", n) for n in range(4)])
        captured = capture(with_spoiled_side_inputs(rows, row, pairs))
    assert sorted(e.value[1] for e in captured.elements) == sorted(EXPECTED * 4)


@pytest.mark.mode("streaming")
def test_a_side_input_that_is_changed_in_a_stream(runner) -> None:
    events = [arrive(at(1, 0), at(1, 1)), arrive(at(1, 2)), arrive(at(1, 3)), END]
    with TestPipeline(runner) as p:
        row = p | "row" >> hr.Create([ROW])
        pairs = p | "pairs" >> hr.Create([("x", [5])])
        captured = capture(with_spoiled_side_inputs(p | script(events), row, pairs))
    assert sorted(e.value[1] for e in captured.elements) == sorted(EXPECTED * 4)


def test_an_object_in_a_side_input_that_is_changed_is_found() -> None:
    """All calls share it; a test sees that it changes."""

    def change(element, box):
        box.items.append(element)

    found = pytest.raises(MutationError, match=r"changed a side input Box\(\[\]\) to Box")
    with found, TestPipeline() as p:
        side: Any = hr.pvalue.AsSingleton(p | "box" >> hr.Create([Box([])]))
        p | hr.Create([1]) | hr.Map(change, side)


def test_the_default_of_a_side_input_is_not_shared() -> None:
    with TestPipeline() as p:
        empty = p | "empty" >> hr.Create([])
        side: Any = hr.pvalue.AsSingleton(empty, default_value=[])
        found = capture(p | hr.Create([("k", 1)] * 3) | hr.Map(grown, values=side))
    assert [e.value for e in found.elements] == [1, 1, 1]


def grown(element, *, values):
    values.append(element)
    return len(values)


def test_what_a_function_emits_of_a_side_input_is_plain_in_a_shuffle() -> None:
    """Lists and dicts of side inputs are encoded as plain ones, also as parts of keys."""
    with TestPipeline() as p:
        row = p | "row" >> hr.Create([ROW])
        keyed = (
            p | hr.Create([1]) | hr.Map(lambda n, row: (row[1]["a"], n), hr.pvalue.AsSingleton(row))
        )
        plain = p | "plain" >> hr.Create([([2], 2)])
        grouped = capture((keyed, plain) | hr.Flatten() | hr.GroupByKey())
    assert [(key, sorted(values)) for key, values in (e.value for e in grouped.elements)] == [
        ([2], [1, 2])
    ]
    assert type(pickle.loads(pickle.dumps(SideList([1])))) is list
    assert encode_value(SideDict([("a", SideSet([1]))])) == encode_value({"a": {1}})
