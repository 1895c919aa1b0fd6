"""The programs in Headrace and, with the other module, in Beam."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import headrace as hr
from headrace.testing import TestPipeline, TestStream, capture
from tests.beam.comparison.page import Answers
from tests.beam.comparison.questions import (
    DROPPED,
    LATENESS,
    MINUTE,
    QUESTIONS,
    Answer,
    Change,
    Question,
    Sale,
    minute_of,
    session_of,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions
    from apache_beam.testing.test_stream import TestStream as BeamStream

    from tests.beam.reference.local_runner import ignore_stall

Program = Callable[[Any, Any], Any]
"""Applied to a module and the sales as pairs; returns pairs of a name and a value."""


def chain(b: Any, sales: Any) -> Any:
    """The default trigger, twice."""
    sums = sales | b.WindowInto(b.window.FixedWindows(MINUTE)) | b.CombinePerKey(sum)
    return _sellers_by_sum(b, sums)


def early(b: Any, sales: Any) -> Any:
    """Fire at each element."""
    trigger = b.trigger.Repeatedly(b.trigger.AfterCount(1))
    return sales | _minutes(b, trigger) | b.CombinePerKey(sum)


def late(b: Any, sales: Any) -> Any:
    """Allow lateness, and fire at each late element."""
    return sales | _minutes(b, _at_each_late_element(b)) | b.CombinePerKey(sum)


def late_output(b: Any, sales: Any) -> Any:
    """Sums on time; only Headrace has an output for what they drop."""
    minutes = b.window.FixedWindows(MINUTE)
    if b is beam:
        return sales | b.WindowInto(minutes) | b.CombinePerKey(sum)
    sums = sales | b.WindowInto(minutes, late_output_tag="late") | b.CombinePerKey(sum)
    dropped = sums.late | b.MapTuple(lambda who, amount: (f"{DROPPED} {who}", amount))
    return (sums, dropped) | b.Flatten()


def regroup(b: Any, sales: Any) -> Any:
    """The number of sellers of each sum."""
    sums = sales | _minutes(b, _at_each_late_element(b)) | b.CombinePerKey(sum)
    return _sellers_by_sum(b, sums)


def sessions(b: Any, sales: Any) -> Any:
    """Sessions with allowed lateness."""
    windows = b.window.Sessions(MINUTE)
    return sales | _windows(b, windows, _at_each_late_element(b)) | b.CombinePerKey(sum)


PROGRAMS: dict[str, Program] = {
    program.__name__: program for program in (chain, early, late, late_output, regroup, sessions)
}


def _minutes(b: Any, trigger: Any) -> Any:
    return _windows(b, b.window.FixedWindows(MINUTE), trigger)


def _windows(b: Any, windows: Any, trigger: Any) -> Any:
    modes = b.trigger.AccumulationMode
    return b.WindowInto(
        windows,
        trigger=trigger,
        accumulation_mode=modes.ACCUMULATING if b is beam else modes.RETRACTING,
        allowed_lateness=LATENESS,
    )


def _at_each_late_element(b: Any) -> Any:
    return b.trigger.AfterWatermark(late=b.trigger.AfterCount(1))


def _sellers_by_sum(b: Any, sums: Any) -> Any:
    ones = sums | "Ones" >> b.Map(lambda pair: (f"sum {pair[1]}", 1))
    return ones | "Sellers" >> b.CombinePerKey(sum)


def in_headrace(question: Question, runner: Any = "local") -> Answer:
    """Run a program on a runner of Headrace."""
    with TestPipeline(runner) as p:
        sales = p | _script(hr, TestStream(), question.sales)
        found = capture(PROGRAMS[question.name](hr, sales))
    return Answer(tuple(_change(e.diff, e.value, e.window) for e in found.elements))


_SEEN: list[Change] = []
"""The output in Beam; its functions are pickled, and reach nothing else of this process."""


def _see(pair: Any, window: Any = beam.DoFn.WindowParam) -> None:
    _SEEN.append(_change(1, pair, window))


def in_beam(question: Question) -> Answer:
    """Run a program on Beam's bundle-based local runner."""
    _SEEN.clear()
    streaming = PipelineOptions(["--streaming"])
    with ignore_stall(), beam.Pipeline("BundleBasedDirectRunner", streaming) as p:
        sales = p | _script(beam, BeamStream(), question.sales)
        PROGRAMS[question.name](beam, sales) | "See" >> beam.Map(_see)
    return Answer(tuple(_SEEN))


def _script(b: Any, stream: Any, sales: tuple[Sale, ...]) -> Any:
    """Return a test stream: after each sale, the watermark is at the newest one."""
    watermark = 0
    for sale in sales:
        pair = b.window.TimestampedValue((sale.who, sale.amount), sale.second)
        stream = stream.add_elements([pair])
        if sale.second > watermark:
            watermark = sale.second
            stream = stream.advance_watermark_to(watermark)
    return stream.advance_watermark_to_infinity()


def _change(diff: int, pair: Any, window: Any) -> Change:
    name, value = pair
    start, end = float(window.start), float(window.end)
    if name.startswith(DROPPED):
        return Change(diff, name, value)
    in_minute = end - start == MINUTE and start % MINUTE == 0
    return Change(diff, f"{(minute_of if in_minute else session_of)(start, end)} {name}", value)


def answers_of_headrace() -> Answers:
    """Run all programs on Headrace's local runner."""
    found = {question.name: in_headrace(question) for question in QUESTIONS}
    return Answers(version("headrace"), found)


def answers_of_beam() -> Answers:
    """Run all programs on Beam."""
    return Answers(beam.__version__, {question.name: in_beam(question) for question in QUESTIONS})
