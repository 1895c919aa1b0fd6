"""DoFns of Beam on bundles, called by Beam's own calls unless ``process`` takes the element only.

Measured by ``benchmarks/beam_dofns.py``: the direct way takes about an eighth of the time of Beam's calls.
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
from headrace.sdk.beam.programs.rows import windowed_values
from headrace.sdk.beam.programs.splittable import SplittableCalls
from headrace.sdk.beam.programs.step import BeamStep, Worker
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

    _worker: Worker

    def __init__(self, step: BeamStep, drains: bool = False) -> None:
        self._step = step
        self._drains = drains

    def default_label(self) -> str:
        return str(self._step.fn.default_label())

    def setup(self) -> None:
        signature = signature_of(self._step.fn)
        self._worker = worker = Worker(self._step)
        self._direct = (
            DirectCalls(self._step, signature, worker.translation)
            if is_direct(self._step, signature)
            else None
        )
        self._splits = (
            SplittableCalls(worker, signature, self._drains)
            if signature.is_splittable_dofn()
            else None
        )
        with worker.calling():
            worker.runner.setup()

    def start_bundle(self) -> None:
        with self._worker.calling():
            self._worker.runner.start()

    def process_bundle(self, bundle: Bundle, *sides: Any) -> Outputs:
        worker = self._worker
        with worker.calling():
            if self._direct is not None:
                return self._direct.outputs(bundle)
            worker.take_sides(sides)
            return self._by_diff(bundle)

    def _by_diff(self, bundle: Bundle) -> Outputs:
        """Return the outputs for values, then those for retractions, which are retractions."""
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
        worker = self._worker
        self._process(bundle)
        made = worker.emitted.drain(worker.translation)
        if diff == INSERT:
            return made
        return {tag: attrs.evolve(out, diffs=repeat(diff)) for tag, out in made.items()}

    def _process(self, bundle: Bundle) -> None:
        worker = self._worker
        rows = windowed_values(bundle, worker.translation)
        if self._splits is not None:
            for row in rows:
                self._splits.process(row)
        elif self._step.fn._process_batch_defined:
            for batch in _batches(rows, self._step.fn.input_batch_converter):
                worker.runner.process_batch(batch)
        else:
            process = worker.runner.process
            for row in rows:
                process(row)

    def last_outputs(self) -> Outputs:
        worker = self._worker
        worker.finish()
        return worker.emitted.drain(worker.translation)

    def teardown(self) -> None:
        with self._worker.calling():
            self._worker.runner.teardown()


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
