"""DoFns of Beam on bundles: called by Beam's own calls if they are splittable or take or yield batches.

All other DoFns are called directly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import repeat
from typing import Any

import attrs
from apache_beam.utils.windowed_value import HomogeneousWindowedBatch

from headrace.grouping.bundle import INSERT, RETRACT, Bundle
from headrace.sdk.beam.programs.direct import DirectCalls, is_direct, signature_of
from headrace.sdk.beam.programs.rows import Emitted, windowed_values
from headrace.sdk.beam.programs.splittable import SplittableCalls
from headrace.sdk.beam.programs.step import BeamStep, CurrentSide, StepCalls, runner_of
from headrace.sdk.pardo.bundle_dofn import BundleDoFn
from headrace.sdk.pipelines.outputs import Outputs
from headrace.windowing.column import uniform

BEAM_BATCH = 4096
"""The maximum number of elements of a batch, as in Beam."""


class BeamDoFn(BundleDoFn):
    """A DoFn of Beam without state.

    Args:
        step: the ParDo.
        drains: whether the restrictions of splittable DoFns are cut to what must be done.
    """

    _calls: DirectCalls | BeamsCalls

    def __init__(self, step: BeamStep, drains: bool = False) -> None:
        self._step = step
        self._drains = drains

    def default_label(self) -> str:
        return str(self._step.fn.default_label())

    def setup(self) -> None:
        signature = signature_of(self._step.fn)
        if is_direct(self._step.fn, signature):
            self._calls = DirectCalls(self._step)
        else:
            self._calls = BeamsCalls(self._step, signature, self._drains)
        with self._calls.calling():
            self._calls.setup()

    def start_bundle(self) -> None:
        with self._calls.calling():
            self._calls.start()

    def process_bundle(self, bundle: Bundle, *sides: Any) -> Outputs:
        return self._calls.outputs(bundle, sides)

    def last_outputs(self) -> Outputs:
        return self._calls.last_outputs()

    def teardown(self) -> None:
        with self._calls.calling():
            self._calls.teardown()


class BeamsCalls(StepCalls):
    """Calls a DoFn by Beam's runner of DoFns.

    Args:
        step: the ParDo.
        signature: Beam's signature of its DoFn.
        drains: whether the restrictions of splittable DoFns are cut to what must be done.
    """

    def __init__(self, step: BeamStep, signature: Any, drains: bool) -> None:
        super().__init__(step)
        self._emitted = Emitted.with_converter(getattr(step.fn, "output_batch_converter", None))
        self._sides: list[Any] = [CurrentSide() for _ in step.views]
        self._runner = runner_of(step, self._sides, self._emitted)
        self._splits = (
            SplittableCalls(self._runner, signature, drains)
            if signature.is_splittable_dofn()
            else None
        )

    def setup(self) -> None:
        """Set the DoFn up."""
        self._runner.setup()

    def start(self) -> None:
        """Start a bundle."""
        self._runner.start()

    def teardown(self) -> None:
        """Tear the DoFn down."""
        self._runner.teardown()

    def last_outputs(self) -> Outputs:
        """Finish a bundle, and return its last outputs by tag."""
        with self.calling():
            self._runner.finish()
            self._runner.finalize()
            self._runner.bundle_finalizer_param.reset()
            self.tracker.hand_over()
        return self._emitted.drain(self.translation)

    def outputs(self, bundle: Bundle, sides: tuple[Any, ...]) -> Outputs:
        """Return the outputs for values, then those for retractions, which are retractions."""
        for side, content in zip(self._sides, sides, strict=True):
            side.current = content.argument
        with self.calling():
            if uniform(bundle.diffs):
                return self._outputs_of(bundle, next(iter(bundle.diffs)))
            made = [
                self._outputs_of(bundle.where([each == diff for each in bundle.diffs]), diff)
                for diff in (RETRACT, INSERT)
            ]
        tags = {tag for outputs in made for tag in outputs}
        return {tag: Bundle.concat([out[tag] for out in made if tag in out]) for tag in tags}

    def _outputs_of(self, bundle: Bundle, diff: int) -> Outputs:
        """Return the outputs for elements with the same diff."""
        self._process(bundle)
        made = self._emitted.drain(self.translation)
        if diff == INSERT:
            return made
        return {tag: attrs.evolve(out, diffs=repeat(diff)) for tag, out in made.items()}

    def _process(self, bundle: Bundle) -> None:
        fn, rows = self.step.fn, windowed_values(bundle, self.translation)
        if self._splits is not None:
            for row in rows:
                self._splits.process(row)
        elif fn._process_batch_defined:
            for batch in _batches(rows, fn.input_batch_converter):
                self._runner.process_batch(batch)
        else:
            process = self._runner.process
            for row in rows:
                process(row)


def _batches(rows: Iterator[Any], converter: Any) -> Iterator[Any]:
    """Yield batches of rows with the same timestamp, windows and pane."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    first: dict[Any, Any] = {}
    for row in rows:
        place = row.timestamp_micros, row.windows, row.pane_info
        first.setdefault(place, row)
        groups[place].append(row.value)
    for place, values in groups.items():
        for start in range(0, len(values), BEAM_BATCH):
            batch = converter.produce_batch(values[start : start + BEAM_BATCH])
            yield HomogeneousWindowedBatch.from_batch_and_windowed_value(
                batch=batch, windowed_value=first[place]
            )
