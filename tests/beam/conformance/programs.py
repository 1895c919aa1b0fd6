"""The figures and the pane programs of the suite, with the import swapped.

A program gets the module, ``headrace`` or ``apache_beam``, and applies the same transforms.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs

import headrace as hr
from headrace.sdk.testing.runs.validity_windows import ValidityWindows
from headrace.testing import TestStream
from tests.model.figures import END, KEY, Case, Expected
from tests.support.repository import ROOT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import apache_beam as beam
    from apache_beam.testing.test_stream import TestStream as BeamStream
    from apache_beam.transforms import window as beam_window

PANE_PROGRAMS = ROOT / "tests/unit/sdk/beam/beam_programs/windows_and_triggers.py"


class BeamsValidityWindows(beam_window.WindowFn):
    """Like our ValidityWindows: from the timestamp of an element to that of the key's next one."""

    def assign(self, context: Any) -> list[Any]:
        return [beam_window.IntervalWindow(context.timestamp, beam_window.GlobalWindow().end)]

    def merge(self, context: Any) -> None:
        starts = sorted({window.start for window in context.windows})
        for start, end in pairwise([*starts, beam_window.GlobalWindow().end]):
            same = [window for window in context.windows if window.start == start]
            context.merge(same, beam_window.IntervalWindow(start, end))

    def get_window_coder(self) -> Any:
        return beam.coders.coders.IntervalWindowCoder()


class NotExpressibleError(Exception):
    """Beam has no equivalent of something in a case; the message names it."""


def vocabulary(b: Any) -> dict[str, Any]:
    """The names in the expressions of the figures, for a module."""
    t = b.trigger
    return {
        "global": b.window.GlobalWindows(),
        "fixed": b.window.FixedWindows,
        "sessions": b.window.Sessions,
        "validity": BeamsValidityWindows() if b is beam else ValidityWindows(),
        "default": t.DefaultTrigger(),
        "at_watermark": t.AfterWatermark(),
        "after_watermark": t.AfterWatermark,
        "after_count": t.AfterCount,
        "after_processing_time": t.AfterProcessingTime,
        "at_period": getattr(t, "AtPeriod", None),
        "repeatedly": t.Repeatedly,
        "repeat_until": lambda trigger, until: t.OrFinally(t.Repeatedly(trigger), until),
        "sequence": t.AfterEach,
    }


def windowing(b: Any, case: Case) -> Any:
    """The WindowInto of a case.

    Raises:
        NotExpressibleError: Beam has no equivalent.
    """
    if b is beam:
        _expressible(case)
    behaviour = {} if b is beam else {"on_time_behavior": hr.trigger.OnTimeBehavior[case.on_time]}
    return b.WindowInto(
        case.windows(vocabulary(b)),
        trigger=case.trigger(vocabulary(b)),
        accumulation_mode=getattr(b.trigger.AccumulationMode, case.mode),
        allowed_lateness=case.lateness // 1_000_000,
        **behaviour,
    )


RETRACTIONS = "retractions ([beam#17982](https://github.com/apache/beam/issues/17982))"
BEHAVIOUR = "an on-time behaviour ([beam#20165](https://github.com/apache/beam/issues/20165))"
PERIODS = "`AtPeriod`, a trigger aligned to the clock"


def _expressible(case: Case) -> None:
    missing = [
        (case.mode == "RETRACTING", RETRACTIONS),
        ("at_period" in case.trigger_expression, PERIODS),
        (case.on_time != "FIRE_ALWAYS", BEHAVIOUR),
    ]
    if any(missed for missed, _ in missing):
        raise NotExpressibleError(", ".join(what for missed, what in missing if missed))


def stream(b: Any, case: Case) -> Any:
    """The script of a case as a test stream."""
    script, now = (BeamStream if b is beam else TestStream)(), 0
    for kind, what in case.script:
        if kind == "clock":
            script, now = script.advance_processing_time((what - now) / 1_000_000), what
        elif kind == "elements":
            script = script.add_elements([_stamped(b, *element) for element in what])
        elif what == END:
            script = script.advance_watermark_to_infinity()
        else:
            script = script.advance_watermark_to(_instant(b, what))
    return script


def _stamped(b: Any, value: int, instant: int) -> Any:
    return b.window.TimestampedValue((KEY, value), _instant(b, instant))


def _instant(b: Any, micros: int) -> Any:
    timestamp = beam.utils.timestamp.Timestamp if b is beam else hr.Timestamp
    return timestamp(micros=micros)


@attrs.frozen
class PaneCollector:
    """Appends each pane to a file, in any process."""

    path: str

    def __call__(self, pair: Any, window: Any, info: Any, timing: str, diff: int) -> None:
        row = {
            "window": [window[0], window[1]],
            "value": pair[1],
            "diff": diff,
            "timing": timing,
            "index": info.index,
            "non_speculative": info.nonspeculative_index,
            "first": info.is_first,
            "last": info.is_last,
        }
        with Path(self.path).open("a") as file:
            file.write(json.dumps(row) + "\n")


def figure(b: Any, case: Case, collector: PaneCollector) -> Callable[[Any], Any]:
    """A case as a program."""
    into = windowing(b, case)
    collect_panes = _collect_from_beam(collector) if b is beam else _collect(collector)
    return lambda p: p | stream(b, case) | into | b.CombinePerKey(sum) | "Listen" >> collect_panes


def _collect(collector: PaneCollector) -> Any:
    def collect(
        pair: Any,
        window: Any = hr.DoFn.WindowParam,
        info: Any = hr.DoFn.PaneInfoParam,
        diff: int = hr.DoFn.DiffParam,
    ) -> None:
        collector(pair, (window[0], window[1]), info, info.timing.name, diff)

    return hr.Map(collect)


def _collect_from_beam(collector: PaneCollector) -> Any:
    def collect(
        pair: Any,
        window: Any = beam.DoFn.WindowParam,
        info: Any = beam.DoFn.PaneInfoParam,
    ) -> None:
        name = beam.utils.windowed_value.PaneInfoTiming.to_string(info.timing)
        collector(pair, (window.start.micros, window.end.micros), info, name, 1)

    return beam.Map(collect)


def as_row(expected: Expected) -> dict[str, Any]:
    """A published pane, in the form of a collected one."""
    found = {"value": expected.value, "diff": expected.diff, **expected.details}
    return {"window": _bounds(expected.window), **found}


def _bounds(window: Any) -> list[int]:
    start, end = hr.window.GlobalWindow().start.micros, hr.window.GlobalWindow().end.micros
    if window == "global":
        return [start, end]
    return [window[0], end if window[1] == "global" else window[1]]


def pane_programs() -> list[str]:
    """The names of the pane programs of the suite, in order."""
    return list(_namespace(beam)["run"].__code__.co_names)


def pane_program(name: str, b: Any, pipeline: Callable[..., Any]) -> Callable[[], None]:
    """A pane program with the import swapped and its pipelines made by ``pipeline``."""
    program = _namespace(b)
    program["TestPipeline"] = pipeline
    return program[name]


def _namespace(b: Any) -> dict[str, Any]:
    source = PANE_PROGRAMS.read_text().replace("apache_beam", b.__name__)
    found = {"__name__": PANE_PROGRAMS.stem}
    exec(compile(source, str(PANE_PROGRAMS), "exec"), found)
    return found
