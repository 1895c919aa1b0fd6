"""Runs as programs that can be pasted and run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from enum import Enum
from importlib import import_module
from typing import Any, Final, Protocol

import attrs

from headrace.sdk.sources.scripted_stream import in_seconds
from headrace.sdk.testing.runs.repeating import Pauses, Repeat, RepeatUnbounded
from headrace.sdk.testing.runs.stateful_sum import SEEN
from headrace.sdk.testing.runs.steps import (
    LAST_VALUES,
    STAMPED_KINDS,
    UNSAFE,
    Step,
    has_stateful_side,
    holds_lists,
    name,
    side_name,
    side_windowing,
    suffixes,
)
from headrace.sdk.testing.streams.script import ONE_KEY, Script, ScriptEvent, retracts, stream
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Trigger
from headrace.windowing.time.timestamps import Duration, Timestamp

_HOMES = (
    "headrace",
    "headrace.testing",
    "headrace.testing.strategies",
    "headrace.triggers",
    "headrace.windowing",
)
"""The modules of the names in a program."""

_COMBINE_FNS: Final = {
    "sum": "sum",
    "largest": "Largest()",
    "spread": "Spread()",
    "count": "hr.combiners.CountCombineFn()",
    "mean": "hr.combiners.MeanCombineFn()",
    "max": "max",
    "several": "hr.combiners.SingleInputTupleCombineFn(sum, max)",
    "distinct": "hr.combiners.ApproximateCountDistinctCombineFn(error=0.0006)",
}

_SOURCES = ("elements", "others")

_NAME = re.compile(r"(?<![.\w'\"])[A-Za-z_]\w*")


class Steps(Protocol):
    """The scripts and groupings of a :class:`~headrace.sdk.testing.runs.run.Run`."""

    @property
    def scripts(self) -> tuple[tuple[ScriptEvent, ...], ...]:
        """The scripts that are played."""

    @property
    def columns(self) -> bool:
        """Whether the elements of the sources are rows."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The groupings in a row."""

    @property
    def groupings(self) -> tuple[Step, ...]:
        """All groupings, in the order of their numbers."""

    def branch(self, n: int) -> list[tuple[int, Step]]:
        """The groupings of the branch that comes into the n-th step, with their numbers."""


def code(value: object) -> str:
    """Return the expression that creates a value, without arguments that have their defaults.

    >>> from headrace.triggers import AccumulationMode
    >>> code((WindowingStrategy(allowed_lateness=5), AccumulationMode.RETRACTING))
    '(WindowingStrategy(allowed_lateness=5), AccumulationMode.RETRACTING)'
    """
    match value:
        case Enum():
            return f"{type(value).__name__}.{value.name}"
        case Timestamp() | Duration():
            return in_seconds(value.micros, type(value).__name__)
        case date():
            return repr(value.isoformat())
        case list() | tuple() if type(value) in (list, tuple):
            return _brackets(value)
        case Trigger():
            return repr(value)
    if attrs.has(type(value)):
        return f"{type(value).__name__}({', '.join(_arguments(value))})"
    return getattr(value, "__qualname__", None) or repr(value)


def _brackets(values: Sequence[object]) -> str:
    inside = ", ".join(map(code, values))
    if isinstance(values, list):
        return f"[{inside}]"
    return f"({inside},)" if len(values) == 1 else f"({inside})"


def _arguments(value: Any) -> Iterator[str]:
    """Yield the arguments of the call that creates an attrs object, except defaults."""
    for field in attrs.fields(type(value)):
        if not field.init:
            continue
        default = field.default
        if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # a class, to attrs
            default = default.factory()
        given = getattr(value, field.name)
        if default is attrs.NOTHING or given != default:
            yield f"{field.alias}={code(given)}"


def program(run: Steps, runner: str = "local") -> str:
    """Return a run as a program that prints the panes of each grouping.

    A script with retractions, which a source cannot have, is shown as the expression that creates the run.

    Args:
        run: the run.
        runner: name of the runner.

    >>> from headrace.sdk.testing.runs.run import Run
    >>> print(program(Run((("watermark", 9_000_000),), (Step(WindowingStrategy()),))))
    import headrace as hr
    from headrace.testing import TestPipeline, TestStream, capture
    from headrace.windowing import GlobalWindows
    <BLANKLINE>
    with TestPipeline('local', argv=['--allow_unsafe_triggers']) as p:
        elements = p | 'elements' >> (
            TestStream()
            .advance_watermark_to(9)
        )
        windowed_0 = elements | 'window 0' >> hr.WindowInto(
            GlobalWindows(),
        )
        grouped_0 = windowed_0 | 'grouping 0' >> hr.CombinePerKey(sum)
        panes_0 = capture(grouped_0, 'panes 0')
    <BLANKLINE>
    for pane in panes_0.elements:
        print(pane)
    """
    if any(map(retracts, run.scripts)):
        return repr(run)
    lines = [f"with TestPipeline({runner!r}, argv={[UNSAFE]}) as p:"]
    for each, script in zip(_SOURCES, run.scripts, strict=False):
        lines += _indented(_source(each, script, run.columns))
    lines += _indented(_steps(run))
    for n in range(len(run.groupings)):
        lines += ["", f"for pane in panes_{n}.elements:", "    print(pane)"]
    return "\n".join([*_imports("\n".join(lines)), "", *lines])


def _imports(text: str) -> Iterator[str]:
    """Yield the imports that a text needs."""
    used = set(_NAME.findall(text))
    if "attrgetter" in used:
        yield "from operator import attrgetter"
    yield "import headrace as hr"
    for home in _HOMES:
        names = used & set(import_module(home).__all__)
        used -= names
        if names:
            yield f"from {home} import {', '.join(sorted(names))}"


def _indented(lines: Iterable[str], by: str = "    ") -> list[str]:
    return [by + line for line in lines]


def _source(called: str, script: Script, columns: bool) -> Iterator[str]:
    yield f"{called} = p | {called!r} >> ("
    kind = "TableStream()" if columns else "TestStream()"
    yield from _indented([kind, *stream(script, columns).calls])
    yield ")"


def _steps(run: Steps) -> Iterator[str]:
    """Yield the lines of all groupings; a branch comes before the step that it joins."""
    came = _SOURCES[0]
    scripts = zip(_SOURCES, run.scripts, strict=False)
    bounded = {each for each, script in scripts if stream(script, run.columns).bounded}
    for n, step in enumerate(run.steps):
        other = _SOURCES[0 if step.branch else 1]
        for number, aside in run.branch(n):
            yield from _step(number, aside, [other], run.columns, bounded)
            if other in bounded:
                bounded.add(f"grouped_{number}")
            other = f"grouped_{number}"
        sides = [came, other] if step.beside else [came]
        yield from _step(n, step, sides, run.columns, bounded)
        if bounded.issuperset(sides[:1] if step.beside == "side" else sides):
            bounded.add(f"grouped_{n}")
        came = f"grouped_{n}"


def _step(
    n: int, step: Step, sides: Sequence[str], columns: bool, bounded: set[str]
) -> Iterator[str]:
    """Yield the lines of a grouping and of the transforms that precede it.

    Args:
        n: the number of the grouping.
        step: the grouping.
        sides: the names of its inputs.
        columns: whether the elements of the sources are rows.
        bounded: the names of the bounded collections.
    """
    into: list[str] = []
    for side, suffix in zip(sides, suffixes(n, step), strict=True):
        are_rows = columns and side in _SOURCES
        if step.pauses and not (into and step.beside == "side"):
            repeated = f"repeated_{suffix.replace(' ', '_')}"
            repeat = _repeat(step.pauses, side in bounded)
            yield f"{repeated} = {side} | 'repeat {suffix}' >> {repeat}"
            side = repeated
        lines, prepared = _preparation(step, side, suffix, bool(into), are_rows)
        yield from lines
        into.append(prepared)
    together = f"({', '.join(into)})" if step.beside else into[0]
    if has_stateful_side(step):
        main, other = into
        sums = f"hr.ParDo(StatefulSumBeside(), hr.pvalue.AsList({other}))"
        tags = f"with_outputs({SEEN!r}, main='sums')"
        yield f"grouped_{n} = ({main} | {name(n)!r} >> {sums}.{tags}).sums"
        yield f"panes_{n} = capture(grouped_{n}, 'panes {n}')"
        return
    if step.beside == "side":
        main, other = into
        yield f"beside_{n} = {main} | {side_name(n, step)!r} >> hr.Map("
        yield "    lambda pair, side: (pair[0], weight(pair[1]) + sum(weight(v) for _, v in side)),"
        yield f"    hr.pvalue.AsList({other}),"
        yield ")"
        together = f"beside_{n}"
    if step.beside == "flatten":
        together += f" | 'together {n}' >> hr.Flatten()"
    yield f"grouped_{n} = {together} | {name(n)!r} >> {_grouping(step)}"
    yield f"panes_{n} = capture(grouped_{n}, 'panes {n}')"


def _repeat(pauses: Pauses, bounded: bool) -> str:
    dofn = Repeat if bounded else RepeatUnbounded
    return f"hr.ParDo({dofn.__name__}({code(pauses)}))"


def _grouping(step: Step) -> str:
    if step.beside == "join":
        return "hr.CoGroupByKey()"
    if step.kind == "list":
        return "hr.GroupByKey()"
    if step.kind == "last":
        return f"hr.GroupByKey(evictor=hr.CountEvictor({LAST_VALUES}))"
    if step.kind == "state":
        return "hr.ParDo(StatefulSum())"
    if step.kind in STAMPED_KINDS:
        return f"hr.combiners.{STAMPED_KINDS[step.kind]}.PerKey()"
    return f"hr.CombinePerKey({_COMBINE_FNS[step.kind]})"


def _preparation(
    step: Step, came: str, suffix: str, aside: bool, are_rows: bool
) -> tuple[list[str], str]:
    """Return the lines of the transforms that precede a grouping, and the name of the last collection.

    Args:
        step: the step.
        came: the name of the input.
        suffix: the suffix of labels.
        aside: whether it is the second of two inputs.
        are_rows: whether the elements of the input are rows.
    """
    lines, after = [], suffix.replace(" ", "_")
    from_source = came in _SOURCES  # the values are numbers, which need no conversion
    is_side = aside and step.beside == "side"
    if step.only is not None:
        only = step.only.__name__
        test = f"field_condition({only})" if are_rows else f"lambda pair: {only}(pair[1])"
        lines.append(f"chosen_{after} = {came} | 'only {suffix}' >> hr.Filter({test})")
        came = f"chosen_{after}"
    if are_rows:
        fields = f"{ONE_KEY if step.one_key else 'key'!r}, 'value'"
        lines.append(f"adapted_{after} = {came} | 'adapt {suffix}' >> hr.Map(attrgetter({fields}))")
        came = f"adapted_{after}"
    elif step.one_key or not from_source:
        key = "'all'" if step.one_key else "key"
        value = "ordered(value)" if holds_lists(step) else "weight(value)"
        pair = f"lambda key, value: ({key}, {value})"
        lines.append(f"adapted_{after} = {came} | 'adapt {suffix}' >> hr.MapTuple({pair})")
        came = f"adapted_{after}"
    if step.assigns or is_side:
        windowing = side_windowing(step) if is_side else step.windowing
        lines.append(f"windowed_{after} = {came} | 'window {suffix}' >> hr.WindowInto(")
        lines += [*_indented(f"{argument}," for argument in _into(windowing)), ")"]
        came = f"windowed_{after}"
    if step.later and not is_side:
        stamp = f"hr.Map(stamped_later, {step.later})"
        lines.append(f"stamped_{after} = {came} | 'stamp {suffix}' >> {stamp}")
        came = f"stamped_{after}"
    return lines, came


def _into(windowing: WindowingStrategy) -> Iterator[str]:
    """Yield the arguments of a WindowInto, except defaults."""
    default = WindowingStrategy()
    yield code(windowing.window_fn)
    if windowing.trigger != default.trigger:
        yield f"trigger={windowing.trigger!r}"
    if (windowing.trigger, windowing.accumulation_mode) != (
        default.trigger,
        default.accumulation_mode,
    ):
        yield f"accumulation_mode={code(windowing.accumulation_mode)}"
    if windowing.allowed_lateness:
        yield f"allowed_lateness={in_seconds(windowing.allowed_lateness, 'Duration')}"
    if windowing.timestamp_combiner != default.timestamp_combiner:
        yield f"timestamp_combiner={code(windowing.timestamp_combiner)}"
    if windowing.on_time != default.on_time:
        yield f"on_time_behavior={code(windowing.on_time)}"
    if windowing.closing != default.closing:
        yield f"closing_behavior={code(windowing.closing)}"
