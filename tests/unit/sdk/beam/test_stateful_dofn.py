"""Stateful DoFns of Beam on workers that unpickle a DoFn more than once."""

import sys
from importlib import import_module
from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="the DoFns are those of Beam")

import apache_beam as beam
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import TimerSpec, on_timer
from apache_beam.transforms.window import GlobalWindows

from headrace.sdk.beam.programs.stateful import BeamStatefulDoFn
from headrace.sdk.beam.programs.step import BeamStep

cloudpickle: Any = import_module("cloudpickle")


class Reminds(beam.DoFn):
    """Emits a word when a timer fires."""

    LATER = TimerSpec("later", TimeDomain.WATERMARK)
    SOON = TimerSpec("soon", TimeDomain.WATERMARK)

    def process(self, element, later=beam.DoFn.TimerParam(LATER), soon=beam.DoFn.TimerParam(SOON)):
        later.set(element[1])
        soon.set(element[1])

    @on_timer(LATER)
    def it_is_later(self):
        return "later"

    @on_timer(SOON)
    def it_is_soon(self):
        return "soon"


@pytest.fixture
def by_value():
    """Pickles this module by value, as ``__main__`` is."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


def fired(dofn):
    """What the methods of the timers return, by name."""
    callbacks = dofn.declared().callbacks
    return {name: getattr(dofn, method)(None) for name, method in callbacks.items()}


def test_a_class_that_is_unpickled_again_gets_other_specs(by_value):
    step = BeamStep("Remind", Reminds(), windowfn=GlobalWindows())
    pickled = cloudpickle.dumps(BeamStatefulDoFn(step, None))
    first = cloudpickle.loads(pickled)
    first.setup()
    before = first._step.fn.LATER
    second = cloudpickle.loads(pickled)
    assert first._step.fn.LATER is not before
    expected = {"ts-later": "later", "ts-soon": "soon"}
    assert fired(first) == expected
    assert fired(second) == expected
