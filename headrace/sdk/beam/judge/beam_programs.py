"""A drawn pipeline as a short program of apache_beam alone, which can be pasted and run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.sdk.beam.judge.beam_pipelines import GROUPINGS, flags
from headrace.sdk.beam.judge.in_beam import (
    BEAM_HOMES,
    batch,
    into,
    module,
    names_in,
    scripted_stream,
)
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.steps import Step, holds_lists

LINE = 100

SHOWN_PARAMS = "w=beam.DoFn.WindowParam, t=beam.DoFn.TimestampParam, i=beam.DoFn.PaneInfoParam"


def beam_program(run: Run, runner: str, streaming: bool, options: Sequence[str] = ()) -> str:
    """Return a run as a program of apache_beam that prints the panes of its last grouping.

    Args:
        run: the run.
        runner: the name of the Beam runner.
        streaming: whether its source is a TestStream, or a batch of all elements.
        options: further options of the pipeline.

    >>> from headrace.triggers import WindowingStrategy
    >>> alone = Run((("elements", (("a", 1, 0, 1),)),), (Step(WindowingStrategy()),))
    >>> print(beam_program(alone, "DirectRunner", streaming=False))
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions
    from apache_beam.transforms.window import GlobalWindows, TimestampedValue
    <BLANKLINE>
    def show(key, value, w=beam.DoFn.WindowParam, t=beam.DoFn.TimestampParam, i=...):
        print(key, value, w, t, i)
    <BLANKLINE>
    with beam.Pipeline("DirectRunner", PipelineOptions(['--allow_unsafe_triggers'])) as p:
        p = p | beam.Create([(('a', 1), 0)])
        p = p | beam.MapTuple(TimestampedValue)
        p = p | beam.WindowInto(GlobalWindows())
        p = p | beam.CombinePerKey(sum)
        p | beam.MapTuple(show)
    """
    body = [
        *_show(run.steps[-1]),
        "",
        f'with beam.Pipeline("{runner}", PipelineOptions({flags(streaming, options)})) as p:',
        *(f"    p = p | {line}" for line in [*_source(run, streaming), *_steps(run)]),
        "    p | beam.MapTuple(show)",
    ]
    return "\n".join([*_imports("\n".join(body)), "", *body])


def _imports(text: str) -> Iterator[str]:
    """Yield the imports that a text needs."""
    used = names_in(text) - {"beam"}
    yield "import apache_beam as beam"
    for home in sorted(BEAM_HOMES):
        of_home = vars(module(home))
        names = sorted(name for name in used if _is_from(home, of_home.get(name)))
        if names:
            yield f"from {home} import {', '.join(names)}"


def _is_from(home: str, value: object) -> bool:
    """Return whether a module defines a value."""
    return getattr(value, "__module__", "") == home


def _show(last: Step) -> Iterator[str]:
    yield f"def show(key, value, {SHOWN_PARAMS}):"
    yield f"    print(key, {'sorted(value)' if last.kind == 'list' else 'value'}, w, t, i)"


def _source(run: Run, streaming: bool) -> list[str]:
    if not streaming:
        return batch(run.script)
    calls = scripted_stream(run.script)
    line = "".join(calls)
    return [line if len(line) < LINE - 12 else "(" + "\n        ".join(calls) + ")"]


def _steps(run: Run) -> Iterator[str]:
    """Yield the transforms of all groupings; the second one has labels, as Beam asks for different ones."""
    before = None
    for step in run.steps:
        yield from (f"{after} >> {line}" if before else line for after, line in _step(before, step))
        before = step


def _step(before: Step | None, step: Step) -> Iterator[tuple[str, str]]:
    """Yield the transforms of a grouping, with labels."""
    if before or step.one_key:
        yield '"Adapt"', f"beam.MapTuple(lambda key, value: {_adapted(before, step)})"
    if step.assigns:
        yield '"Window again"', into(step.windowing)
    yield '"Group again"', f"beam.{GROUPINGS[step.kind]}"


def _adapted(before: Step | None, step: Step) -> str:
    """Return the pair that a step groups, for an output of the step before it."""
    key = "'all'" if step.one_key else "key"
    if before is None or before.kind != "list":
        return f"({key}, value)"
    return f"({key}, {'sorted' if holds_lists(step) else 'sum'}(value))"
