"""What the methods of DoFns ask for, and what they emit, is what Beam gives and takes."""

from __future__ import annotations

import dataclasses
from contextlib import contextmanager
from functools import partial
from typing import ClassVar

import apache_beam as beam
import pytest
from apache_beam.coders import VarIntCoder
from apache_beam.pvalue import AsDict, AsList, AsSingleton, TaggedOutput
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing import test_stream
from apache_beam.transforms import window
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import BagStateSpec, SetStateSpec, TimerSpec, on_timer
from apache_beam.utils.windowed_value import WindowedValue

from headrace.beam import HeadraceRunner
from tests.beam.suites.test_programs import beams_warnings, results

__all__ = ["beams_warnings"]


@dataclasses.dataclass(frozen=True)
class Mill:
    """A key that only Beam's coders can encode."""

    name: str


SACKS = [window.TimestampedValue((name, n), n) for n, name in enumerate(("rye", "oats", "rye"))]


def sacks(p):
    created = (
        p | beam.Create(SACKS) | beam.Map(lambda pair: pair).with_output_types(tuple[str, int])
    )
    return created | beam.WindowInto(window.SlidingWindows(4, 2))


class AsksForAll(beam.DoFn):
    """Emits what it is given."""

    def process(  # type: ignore[override]
        self,
        element,
        side,
        at=beam.DoFn.TimestampParam,
        constant=None,
        where=beam.DoFn.WindowParam,
        pane=beam.DoFn.PaneInfoParam,
        key=beam.DoFn.KeyParam,
        whole=beam.DoFn.WindowedValueParam,
        named=(),
        default="d",
    ):
        yield element, side, at.micros, constant, str(where), pane.index, key, default
        yield whole.value, whole.timestamp.micros, list(map(str, whole.windows)), sorted(named)


def asks_for_all(p):
    one, two = p | "1" >> beam.Create([1]), p | "2" >> beam.Create([2, 3])
    asks = beam.ParDo(AsksForAll(), AsSingleton(one), "constant", named=AsList(two))
    return sacks(p) | asks


class Beside(beam.DoFn):
    """Emits what a side input has in each window of its element."""

    def process(self, element, side):  # type: ignore[override]
        yield element, sorted(side)


def beside(p):
    every, two = sacks(p), p | "2" >> beam.Create([2])
    by_window = every | "Window" >> beam.ParDo(Beside(), AsList(every))
    everywhere = every | "Everywhere" >> beam.ParDo(Beside(), AsList(two))
    return (by_window, everywhere) | beam.Flatten() | beam.Map(repr)


class ElementLast(beam.DoFn):
    """Has its element behind another parameter."""

    def process(self, at=beam.DoFn.TimestampParam, element=beam.DoFn.ElementParam):  # type: ignore[override]
        return [(at.micros, element)]


def element_last(p):
    return sacks(p) | beam.ParDo(ElementLast())


@contextmanager
def opened(what):
    yield what


class WithContexts(beam.DoFn):
    """Asks for context managers, and for a finalizer of bundles."""

    SETUP = beam.DoFn.SetupContextParam(opened, args=("set up",))
    BUNDLE = beam.DoFn.BundleContextParam(opened, args=("bundle",))

    def process(self, element, a=SETUP, b=BUNDLE, end=beam.DoFn.BundleFinalizerParam):
        end.register(lambda: None)
        yield element, a, b


def with_contexts(p):
    return sacks(p) | beam.ParDo(WithContexts())


class Stamping(beam.DoFn):
    """Emits outputs that say more than their value."""

    def process(self, element, at=beam.DoFn.TimestampParam):
        yield element
        yield window.TimestampedValue("stamped", at + 1)
        yield TaggedOutput("side", WindowedValue("placed", at, (window.IntervalWindow(0, 9),)))


class Placed(beam.DoFn):
    """Emits elements with their times and windows."""

    def process(self, element, at=beam.DoFn.TimestampParam, where=beam.DoFn.WindowParam):
        yield element, at.micros, str(where)


def stamping(p):
    return placed(sacks(p) | beam.ParDo(Stamping()).with_outputs("side", main="main"))


def placed(made):
    return (made.main, made.side) | beam.Flatten() | beam.ParDo(Placed())


class KeyedStamping(Stamping):
    """As :class:`Stamping`, with a state, so that it is called by key."""

    SEEN = BagStateSpec("seen", VarIntCoder())

    def process(  # type: ignore[override]
        self,
        element,
        side,
        at=beam.DoFn.TimestampParam,
        seen=beam.DoFn.StateParam(SEEN),
        named=(),
    ):
        seen.add(1)
        return [(element, side, sorted(named)), *super().process(element, at)]


def keyed_stamping(p):
    # All are pairs, since Beam may take the input with the keys to be a side input.
    one, two = p | "1" >> beam.Create([("one", 1)]), p | "2" >> beam.Create([("two", 2)])
    keyed_dofn = beam.ParDo(KeyedStamping(), AsSingleton(one), named=AsDict(two))
    return placed(sacks(p) | keyed_dofn.with_outputs("side", main="main"))


class Keyed(beam.DoFn):
    """Asks for all that a stateful DoFn can ask for."""

    SEEN = BagStateSpec("seen", VarIntCoder())
    ONCE = SetStateSpec("once", VarIntCoder())
    END = TimerSpec("end", TimeDomain.WATERMARK)

    def process(  # type: ignore[override]
        self,
        element,
        constant,
        key=beam.DoFn.KeyParam,
        at=beam.DoFn.TimestampParam,
        where=beam.DoFn.WindowParam,
        seen=beam.DoFn.StateParam(SEEN),
        once=beam.DoFn.StateParam(ONCE),
        end=beam.DoFn.TimerParam(END),
    ):
        seen.add(element[1])
        once.add(1)
        end.set(where.end)
        yield element, key, constant, at.micros, str(where), once.read()

    @on_timer(END)
    def at_end(
        self,
        key=beam.DoFn.KeyParam,
        where=beam.DoFn.WindowParam,
        at=beam.DoFn.TimestampParam,
        seen=beam.DoFn.StateParam(SEEN),
    ):
        yield key, str(where), at.micros, sorted(seen.read())


def keyed(p):
    pairs = sacks(p) | beam.MapTuple(lambda name, n: (Mill(name), n))
    return pairs | beam.ParDo(Keyed(), "constant") | beam.Map(repr)


class Doubling:
    """A callable object."""

    def __call__(self, element):
        return element * 2


def mapped(p):
    numbers = p | beam.Create([1, 2, 3])
    two = beam.pvalue.AsSingleton(p | "2" >> beam.Create([2]))
    made = [
        numbers | "Built-in" >> beam.Map(str),
        numbers | "Partial" >> beam.Map(partial(max, 2)),
        numbers | "Object" >> beam.Map(Doubling()),
        numbers | "Places" >> beam.Map(lambda x, y, z=0: (x, y, z), 5, z=two),
        numbers | "Window" >> beam.Map(lambda x, w=beam.DoFn.WindowParam: (x, str(w))),
        numbers | "Lists" >> beam.Map(lambda x: [x]),
        numbers | "None" >> beam.Map(lambda x: None),
        numbers | "Filter" >> beam.Filter(lambda x, y: x > y, two),
        numbers | "Truth" >> beam.Filter(lambda x: x - 1),
    ]
    return made | beam.Flatten() | beam.Map(repr)


@pytest.mark.usefixtures("beams_warnings")
@pytest.mark.parametrize(
    "program",
    [asks_for_all, beside, element_last, with_contexts, stamping, keyed_stamping, mapped],
    ids=lambda program: program.__name__,
)
def test_arguments_and_outputs_are_as_on_beam(program, tmp_path):
    theirs = results(program, FnApiRunner(), tmp_path / "theirs")
    assert results(program, HeadraceRunner(), tmp_path / "ours") == theirs != []


@pytest.mark.usefixtures("beams_warnings")
def test_arguments_of_stateful_dofns_are_as_on_beam(tmp_path):
    # FnApiRunner fails to encode the keys of these timers.
    theirs = results(keyed, BundleBasedDirectRunner(), tmp_path / "theirs")
    assert results(keyed, HeadraceRunner(), tmp_path / "ours") == theirs != []


class Failing(beam.DoFn):
    """Fails in one of its methods."""

    STATE = BagStateSpec("state", VarIntCoder())
    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def __init__(self, where):
        self._where = where

    def process(self, element, at_end=beam.DoFn.TimerParam(TIMER)):
        at_end.set(9)
        return "text" if self._where == "text" else self._fail("process")

    @on_timer(TIMER)
    def at_end(self, state=beam.DoFn.StateParam(STATE)):
        self._fail("timer")

    def start_bundle(self):
        return ["an output"] if self._where == "output" else None

    def finish_bundle(self):
        self._fail("finish")
        return ["no windowed value"]

    def _fail(self, method):
        if self._where == method:
            raise ValueError(f"a fault in {method}")


@pytest.mark.parametrize(
    ("where", "kind", "text"),
    [
        ("process", ValueError, r"a fault in process \[while running 'Fail'\]"),
        ("timer", ValueError, r"a fault in timer \[while running 'Fail'\]"),
        ("finish", ValueError, r"a fault in finish \[while running 'Fail'\]"),
        ("text", TypeError, r"Returning a str from a ParDo .* \[while running 'Fail'\]"),
        ("output", RuntimeError, r"Start Bundle should not output .* \[while running 'Fail'\]"),
        ("", RuntimeError, r"Finish Bundle should only output .* \[while running 'Fail'\]"),
    ],
)
@pytest.mark.usefixtures("beams_warnings")
def test_errors_are_those_of_beam_and_name_the_step(where, kind, text):
    with pytest.raises(kind, match=text), beam.Pipeline(runner=HeadraceRunner()) as p:
        _ = p | beam.Create([("rye", 1)]) | "Fail" >> beam.ParDo(Failing(where))


@pytest.mark.usefixtures("beams_warnings")
def test_an_error_tells_its_element():
    def fail(x):
        return 1 // (x - 2)

    with pytest.raises(ZeroDivisionError) as caught, beam.Pipeline(runner=HeadraceRunner()) as p:
        _ = p | beam.Create([1, 2, 3]) | beam.Map(fail)
    assert "for the element 2" in caught.value.__notes__


class Finalized(beam.DoFn):
    """Registers its elements with the finalizer of bundles."""

    seen: ClassVar[list[int]] = []

    def process(self, element, end=beam.DoFn.BundleFinalizerParam):
        end.register(partial(self.seen.append, element))


@pytest.mark.usefixtures("beams_warnings")
def test_what_is_registered_with_a_finalizer_is_called_once(monkeypatch):
    monkeypatch.setattr(Finalized, "seen", [])
    elements = test_stream.TestStream().add_elements([1, 2]).add_elements([3])
    stream = elements.advance_watermark_to_infinity()
    with beam.Pipeline(runner=HeadraceRunner(), argv=["--streaming"]) as p:
        _ = p | stream | beam.ParDo(Finalized())
    assert Finalized.seen == [1, 2, 3]
