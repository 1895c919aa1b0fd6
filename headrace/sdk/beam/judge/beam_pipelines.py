"""A drawn pipeline as objects of apache_beam: its script, and its groupings with a tap behind each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from headrace.sdk.beam.judge.in_beam import batch, beam, evaluated, into, scripted_stream
from headrace.sdk.beam.judge.taps import tap
from headrace.sdk.testing.runs.run import Run, adapted
from headrace.sdk.testing.runs.steps import UNSAFE, Step, holds_lists, name

GROUPINGS = {
    "list": "GroupByKey()",
    "sum": "CombinePerKey(sum)",
    "largest": "CombinePerKey(lambda values: max(values, default=0))",
}
"""The transforms of a grouping in Beam, by the kind of a step."""


def flags(streaming: bool, others: Sequence[str] = ()) -> list[str]:
    """Return the options of a pipeline.

    >>> flags(True)
    ['--streaming', '--allow_unsafe_triggers']
    """
    return ["--streaming"] * streaming + [UNSAFE, *others]


def written(p: Any, run: Run, streaming: bool, folder: str) -> list[Path]:
    """Write a run into a Beam pipeline.

    Args:
        p: the pipeline.
        run: the run; :func:`~headrace.sdk.beam.judge.runner_cases.is_expressible` says which runs can be.
        streaming: whether its source is the script, or a batch of all its elements.
        folder: where the taps write.

    Returns:
        The file of each grouping's panes.
    """
    collection = _source(p, run, streaming)
    files = [Path(folder, f"panes-{n}") for n in range(len(run.steps))]
    for n, (step, file) in enumerate(zip(run.steps, files, strict=True)):
        collection = _grouped(collection, n, step) | f"panes {n}" >> tap(str(file))
    return files


def _source(p: Any, run: Run, streaming: bool) -> Any:
    """Apply the source of a run: Beam's TestStream, or a Create with timestamps."""
    if streaming:
        return p | "elements" >> evaluated("".join(scripted_stream(run.script)))
    created, stamped = map(evaluated, batch(run.script))
    return p | "elements" >> created | "times" >> stamped


def _grouped(collection: Any, n: int, step: Step) -> Any:
    if n or step.one_key:
        adapt = partial(adapted, step.one_key, holds_lists(step))
        collection = collection | f"adapt {n}" >> beam().MapTuple(adapt)
    if step.assigns:
        collection = collection | f"window {n}" >> evaluated(into(step.windowing))
    return collection | name(n) >> evaluated(f"beam.{GROUPINGS[step.kind]}")
