"""One call that runs a drawn pipeline on a runner: by apache_beam on one of Beam's, or natively."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from headrace.sdk.beam.judge.beam_pipelines import flags, written
from headrace.sdk.beam.judge.in_beam import beam, evaluated
from headrace.sdk.beam.judge.taps import panes_in
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.run_on_runner import Pane, RunnerOrName, run_alone, run_batch

RunsPanes = list[list[Pane]]
"""The panes of each grouping of a run."""


@attrs.frozen
class NativeRunner:
    """A runner of Headrace's, on which a drawn pipeline is built of Headrace's own transforms.

    Attributes:
        runner: its name, or an object with a method ``run``.
    """

    runner: RunnerOrName = "local"


def play(run: Run, runner: Any, streaming: bool = True, options: Sequence[str] = ()) -> RunsPanes:
    """Run a drawn pipeline on a runner, in this process, and return the panes of its groupings.

    The same run has the same meaning on each runner, so the panes can be compared.

    Args:
        run: the run; :func:`~headrace.sdk.beam.judge.runner_cases.is_expressible` says which runs Beam can
            express.
        runner: a Beam runner, as an object or by a name that apache_beam knows; or :class:`NativeRunner`.
        streaming: whether its source is the script, or a batch of all its elements.
        options: further options of a Beam pipeline, as on its command line.

    >>> from headrace.sdk.testing.runs.steps import Step
    >>> from headrace.triggers import WindowingStrategy
    >>> run = Run((("elements", (("a", 1, 0, 1), ("a", 2, 0, 1))),), (Step(WindowingStrategy()),))
    >>> [[pane]] = play(run, NativeRunner(), streaming=False)
    >>> pane.key, pane.value, pane.timing
    ('a', 3, 'ON_TIME')
    """
    if isinstance(runner, NativeRunner):
        return _played_natively(run, runner.runner, streaming)
    with tempfile.TemporaryDirectory() as folder, silenced():
        argv = evaluated("PipelineOptions")(flags(streaming, options))
        p = beam().Pipeline(runner, argv)
        files = written(p, run, streaming, folder)
        p.run().wait_until_finish()
        return list(map(panes_in, files))


def _played_natively(run: Run, runner: RunnerOrName, streaming: bool) -> RunsPanes:
    observed = run_alone(run, runner) if streaming else run_batch([run], runner)[0]
    return [each.panes for each in observed]


@contextmanager
def silenced() -> Iterator[None]:
    """Suppress the logs and warnings of runners."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
