"""The public function that holds a Beam runner to the laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.errors import require_extra
from headrace.sdk.beam.judge.in_beam import beam
from headrace.sdk.beam.judge.judge_report import BeamReport

TIME_LIMIT = 60.0
"""Seconds in which a pipeline has to end."""


def check_runner(
    beam_runner: Any,
    cases: int = 100,
    *,
    options: Sequence[str] = (),
    streaming: bool | None = None,
    batch: bool = True,
    limit: float = TIME_LIMIT,
    shrinking: int = 60,
    random_seed: int = 0,
) -> BeamReport:
    """Hold a Beam runner to the laws of the model, with random pipelines of apache_beam.

    Each pipeline is run by apache_beam on the runner, from a TestStream and as a batch of the same elements.
    It has one or two groupings with windows, triggers, both accumulation modes, allowed lateness and
    timestamp combiners. Its panes are held to the laws: they make up the result of a batch, no element is
    lost or in two panes, elements of expired windows are dropped and no others, and so on.

    The pipelines run in a process of their own, which is stopped if one does not end. They write their panes
    to files, so the runner's workers have to be on this machine.

    Args:
        beam_runner: a Beam runner: an object, or a name that apache_beam knows, such as
            ``"BundleBasedDirectRunner"`` or ``"package.module.Runner"``.
        cases: number of random pipelines.
        options: further options of each pipeline, as on its command line.
        streaming: whether to run pipelines from a TestStream; by default if the runner has it.
        batch: whether to run pipelines as batches.
        limit: seconds in which a pipeline has to end.
        shrinking: maximum number of smaller pipelines that are tried for each broken law.
        random_seed: seed of the random pipelines.

    Returns:
        The report; in a test, ``assert report.passed, report``. It prints as a table of laws and, for each
        broken law, a short program of apache_beam alone that shows it.

    Raises:
        PipelineError: apache_beam or hypothesis is not installed, or the runner cannot be pickled.

    >>> from headrace.beam import check_runner
    >>> report = check_runner("FnApiRunner", cases=4, shrinking=0)
    >>> report.no_streaming, len(report.verdicts)
    ('NotImplementedError: beam:transform:teststream:v1', 12)
    """
    beam()
    require_extra("hypothesis", "testing", "random pipelines are drawn with hypothesis")
    from headrace.sdk.beam.judge.judging import BeamJudge, judged, refusal
    from headrace.sdk.beam.judge.runner_cases import drawn_runs
    from headrace.sdk.beam.judge.worker import RunnerProcess

    with RunnerProcess(beam_runner, options, limit) as worker:
        refused = refusal(worker.play) if streaming is None else None
        asked = refused is None if streaming is None else streaming
        modes = ["streaming"] * asked + ["batch"] * batch
        judge = BeamJudge(name_of(beam_runner), worker.play, modes, options)
        return judged(judge, drawn_runs(cases, random_seed), shrinking, refused)


def name_of(beam_runner: Any) -> str:
    """Return the name by which a program gets a Beam runner.

    >>> name_of("FnApiRunner")
    'FnApiRunner'
    """
    if isinstance(beam_runner, str):
        return beam_runner
    of = type(beam_runner)
    return f"{of.__module__}.{of.__qualname__}"
