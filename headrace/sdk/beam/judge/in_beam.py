"""Windows, triggers and scripts as expressions of Beam's Python, which can be printed and evaluated."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

from headrace.errors import UnsupportedError, require_extra
from headrace.sdk.testing.streams.script import Script, ScriptRow, rows_of
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Trigger
from headrace.triggers.watermark_triggers import DefaultTrigger
from headrace.windowing.sessions import Sessions
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window_fn import WindowFn
from headrace.windowing.windows import FixedWindows, GlobalWindows, SlidingWindows

BEAM_HOMES: Final = (
    "apache_beam.options.pipeline_options",
    "apache_beam.utils.timestamp",
    "apache_beam.transforms.window",
    "apache_beam.transforms.trigger",
    "apache_beam.testing.test_stream",
)
"""The modules of the names in an expression, except ``beam``."""

_NAME: Final = re.compile(r"(?<![.\w'\"])[A-Za-z_]\w*")


def seconds(micros: int) -> str:
    """Return a time as an expression: seconds if it is a whole number of them.

    >>> seconds(5_000_000), seconds(5_001_000)
    ('5', 'Timestamp(micros=5001000)')
    """
    whole, rest = divmod(micros, SECOND)
    return f"Timestamp(micros={micros})" if rest else str(whole)


def window_fn(of: WindowFn) -> str:
    """Return a window function as an expression.

    Raises:
        UnsupportedError: Beam's Python has no such window function.

    >>> window_fn(FixedWindows(10, 3))
    'FixedWindows(10, 3)'
    """
    return WINDOW_FNS[type(of)](of) if is_in_beam(of) else _refused(of)


def is_in_beam(of: WindowFn) -> bool:
    """Return whether Beam's Python has a window function."""
    return type(of) in WINDOW_FNS and not (isinstance(of, Sessions) and callable(of.gap_size))


def _refused(of: object) -> str:
    raise UnsupportedError(
        f"Beam's Python has no equivalent of {of!r}",
        remedy="use global, fixed or sliding windows, or sessions with a fixed gap",
    )


def _call(name: str, *micros: int) -> str:
    """Return a call; an offset of 0, which comes last, is left out."""
    *sizes, offset = micros
    return f"{name}({', '.join(map(seconds, sizes + [offset] * bool(offset)))})"


WINDOW_FNS: Final[dict[type[WindowFn], Callable[[Any], str]]] = {
    GlobalWindows: lambda of: "GlobalWindows()",
    FixedWindows: lambda of: _call("FixedWindows", of.size.micros, of.offset.micros),
    SlidingWindows: lambda of: _call(
        "SlidingWindows", of.size.micros, of.period.micros, of.offset.micros
    ),
    Sessions: lambda of: _call("Sessions", of.gap_size.micros, 0),
}
"""The expressions of window functions, by class."""


def trigger(of: Trigger) -> str:
    """Return a trigger as an expression.

    >>> from headrace.sdk.beam.judge import in_beam
    >>> in_beam.trigger(Repeatedly(AfterCount(2)))
    'Repeatedly(AfterCount(2))'
    """
    return re.sub(r"\bNever\(", "_Never(", repr(of))


def into(windowing: WindowingStrategy) -> str:
    """Return the WindowInto of a windowing strategy as an expression, without defaults.

    >>> into(WindowingStrategy(FixedWindows(10), allowed_lateness=3_000_000))
    'beam.WindowInto(FixedWindows(10), allowed_lateness=3)'
    """
    return f"beam.WindowInto({', '.join([window_fn(windowing.window_fn), *_options(windowing)])})"


def _options(windowing: WindowingStrategy) -> Iterator[str]:
    discards = windowing.accumulation_mode is AccumulationMode.DISCARDING
    if windowing.trigger != DefaultTrigger() or not discards:
        yield f"trigger={trigger(windowing.trigger)}"
        yield f"accumulation_mode=AccumulationMode.{windowing.accumulation_mode.name}"
    if windowing.allowed_lateness:
        yield f"allowed_lateness={seconds(windowing.allowed_lateness)}"
    if windowing.timestamp_combiner is not TimestampCombiner.OUTPUT_AT_EOW:
        yield f"timestamp_combiner=TimestampCombiner.{windowing.timestamp_combiner.name}"


def element(row: ScriptRow) -> str:
    """Return a row of a script as an expression.

    >>> element(("a", 5, 3_000_000, 1))
    "TimestampedValue(('a', 5), 3)"
    """
    key, value, timestamp, _ = row
    return f"TimestampedValue({(key, value)!r}, {seconds(timestamp)})"


def batch(script: Script) -> list[str]:
    """Return all elements of a script as the transforms that make a batch of them.

    >>> batch([("elements", [("a", 5, 3_000_000, 1)]), ("watermark", 5_000_000)])
    ["beam.Create([(('a', 5), 3)])", 'beam.MapTuple(TimestampedValue)']
    """
    pairs = (f"({(key, value)!r}, {seconds(at)})" for key, value, at, _ in rows_of(script))
    return [f"beam.Create([{', '.join(pairs)}])", "beam.MapTuple(TimestampedValue)"]


def scripted_stream(script: Script) -> list[str]:
    """Return a script as the calls that make Beam's TestStream.

    >>> scripted_stream([("watermark", 5_000_000), ("watermark", MAX_MICROS)])
    ['TestStream()', '.advance_watermark_to(5)', '.advance_watermark_to_infinity()']
    """
    return ["TestStream()", *_calls(script)]


def _calls(script: Script) -> Iterator[str]:
    now = 0
    for kind, what in script:
        if kind == "elements":
            yield f".add_elements([{', '.join(map(element, what))}])"
        elif kind == "clock":
            yield f".advance_processing_time({seconds(what - now)})"
            now = what
        elif what == MAX_MICROS:
            yield ".advance_watermark_to_infinity()"
        else:
            yield f".advance_watermark_to({seconds(what)})"


def names_in(expression: str) -> set[str]:
    """Return the names that an expression uses.

    >>> sorted(names_in("beam.Map(len), TimestampedValue(('a', 1), 3)"))
    ['TimestampedValue', 'beam', 'len']
    """
    return set(_NAME.findall(expression))


def beam() -> Any:
    """Import apache_beam.

    Raises:
        PipelineError: it is not installed.
    """
    return module("apache_beam")


def module(name: str) -> Any:
    """Import a module of apache_beam, without the warnings of its imports.

    Raises:
        PipelineError: it is not installed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return require_extra(name, "beam", "Beam runners are judged with apache_beam")


def evaluated(expression: str) -> Any:
    """Evaluate an expression of Beam's names.

    Args:
        expression: an expression that a function of this module returned.
    """
    return eval(expression, dict(_names()))


@cache
def _names() -> dict[str, Any]:
    """Return the names of expressions."""
    found = {"beam": beam()}
    for home in BEAM_HOMES:
        found |= vars(module(home))
    return found


def pickler() -> Any:
    """Import the module with which Beam pickles functions, and with them runners."""
    return module("apache_beam.internal.pickler")
