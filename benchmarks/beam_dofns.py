"""CPU seconds of calls of Beam's DoFns on a bundle: directly, and by Beam's own calls.

    python benchmarks/beam_dofns.py [ELEMENTS]

One million elements unless told otherwise. Directly is as :mod:`headrace.sdk.beam.programs.direct` does it;
by Beam's calls is how splittable DoFns and those with batches are. DoFns of Headrace are beside them.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import apache_beam as beam
from apache_beam.coders import VarIntCoder
from apache_beam.internal.util import ArgumentPlaceholder
from apache_beam.pvalue import AsList
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec
from apache_beam.transforms.window import GlobalWindows

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.runners.calls.invoker import ParDoInvoker
from headrace.runners.stateful.stateful_keys import StatefulKeys
from headrace.runners.stateful.stateful_outputs import DoFnOutputs
from headrace.sdk.beam.programs.direct import signature_of
from headrace.sdk.beam.programs.dofns import BeamDoFn, BeamsCalls
from headrace.sdk.beam.programs.stateful import BeamStatefulDoFn
from headrace.sdk.beam.programs.step import BeamContent, BeamStep
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.stateful_dofn import stateful
from headrace.sdk.pipelines.elementwise import BundleEach, ProcessEach
from headrace.sdk.pipelines.graph import MAIN, Collection, ParDo
from headrace.sdk.pipelines.outputs import CallingStep
from headrace.transforms.userstate import ReadModifyWriteStateSpec as OwnSpec
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Clock
from headrace.windowing.time.timestamps import MIN_MICROS

COUNT, OWN_COUNT = ReadModifyWriteStateSpec("count", VarIntCoder()), OwnSpec("count")


class Identity(beam.DoFn):
    """Emits its element."""

    def process(self, element: Any) -> Iterator[Any]:
        yield element


class IdentityInWindow(beam.DoFn):
    """Emits its element, and asks for its timestamp."""

    def process(self, element: Any, at: Any = beam.DoFn.TimestampParam) -> Iterator[Any]:
        yield element


class WithSide(beam.DoFn):
    """Emits its element, and takes a side input."""

    def process(self, element: Any, side: Any) -> Iterator[Any]:
        yield element


class Counting(beam.DoFn):
    """Counts the elements of a key."""

    def process(self, element: Any, count: Any = beam.DoFn.StateParam(COUNT)) -> Iterator[Any]:
        count.write((count.read() or 0) + 1)
        yield element


class OwnIdentity(hr.DoFn):
    """The same as a DoFn of Headrace."""

    def process(self, element: Any) -> Iterator[Any]:
        yield element


class OwnCounting(hr.DoFn):
    """The same as a DoFn of Headrace."""

    def process(self, element: Any, count: Any = hr.DoFn.StateParam(OWN_COUNT)) -> Iterator[Any]:
        count.write((count.read() or 0) + 1)
        yield element


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds of work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def invoker(kind: Any) -> ParDoInvoker:
    """Return the calls of an operation, set up."""
    source = Collection("Read", MAIN, WindowingStrategy(), bounded=True)
    made = ParDoInvoker(ParDo("Step", (source,), (source,), kind))
    made.setup()
    made.start_bundle()
    return made


def on_bundle(dofn: Any, bundle: Bundle, side: bool = False) -> float:
    """Return the time of a DoFn of Beam, without state, on a bundle."""
    views = ((AsList, {}),) if side else ()
    args = (ArgumentPlaceholder(),) if side else ()
    step = BeamStep("Step", dofn, args, {}, GlobalWindows(), views)
    contents = (BeamContent([1, 2], (AsList, {})),) if side else ()
    calls = invoker(BundleEach(BeamDoFn(step), contents))
    return seconds(lambda: calls.process(bundle))


def on_key(dofn: DoFn, declared: Any, bundle: Bundle) -> float:
    """Return the time of a stateful DoFn on a bundle of one key."""
    keys = StatefulKeys(dofn, declared, WindowingStrategy())
    dofn.setup()
    out = DoFnOutputs(CallingStep("Step", "process"))
    clock = Clock(MIN_MICROS, 0)
    return seconds(lambda: keys.process(keys.new_state(), bundle, clock, out))


def beams_calls(bundle: Bundle) -> float:
    """Return the time of the identity by Beam's calls."""
    step = BeamStep("Step", Identity(), (), {}, GlobalWindows())
    calls = BeamsCalls(step, signature_of(step.fn), drains=False)
    calls.setup()
    calls.start()
    return seconds(lambda: calls.outputs(bundle, ()))


def main(elements: int) -> None:
    """Measure, and print."""
    numbers = Bundle(list(range(elements)), list(range(elements)))
    pairs = Bundle(list(zip(repeat("k"), range(elements))), list(range(elements)))
    native = invoker(ProcessEach(OwnIdentity()))
    print(f"identity of Headrace      {seconds(lambda: native.process(numbers)):6.2f}")
    print(f"identity, directly        {on_bundle(Identity(), numbers):6.2f}")
    print(f"identity, by Beam's calls {beams_calls(numbers):6.2f}")
    print(f"with TimestampParam       {on_bundle(IdentityInWindow(), numbers):6.2f}")
    print(f"with a side input         {on_bundle(WithSide(), numbers, side=True):6.2f}")
    own, theirs = (
        OwnCounting(),
        BeamStatefulDoFn(BeamStep("Step", Counting(), (), {}, GlobalWindows()), None),
    )
    print(f"stateful of Headrace      {on_key(own, stateful(own), pairs):6.2f}")
    print(f"stateful                  {on_key(theirs, theirs.declared(), pairs):6.2f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
