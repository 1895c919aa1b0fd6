"""The published figures as data: each case is a script, how it is grouped, and what must come out.

See README.md here for what the files mean. Windows and triggers are kept as the expressions that
the files hold; :meth:`Case.windows` and :meth:`Case.trigger` read them in somebody's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import yaml

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 86_400 * SECOND
KEY = "k"
END = "end"

Event = tuple[str, Any]
"""("clock", instant), ("elements", [(value, timestamp)]) or ("watermark", instant or END)."""

Words = Mapping[str, Any]


@attrs.frozen
class Expected:
    """A pane as published; ``details`` and ``moment`` hold what the text says about it."""

    window: tuple[int | str, int | str] | str
    value: int
    diff: int = 1
    moment: int | str | None = None
    details: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Case:
    """A published run."""

    name: str
    window_expression: str
    trigger_expression: str
    mode: str
    lateness: int
    on_time: str
    events: tuple[tuple[int | str, Event], ...]
    panes: tuple[Expected, ...]
    in_order: bool

    def __str__(self) -> str:
        return self.name

    @property
    def script(self) -> list[Event]:
        return [event for _, event in self.events]

    def windows(self, words: Words) -> Any:
        return read(self.window_expression, words)

    def trigger(self, words: Words) -> Any:
        return read(self.trigger_expression, words)


def read(expression: str, words: Words) -> Any:
    """Evaluate an expression of the files in somebody's words."""
    return words[expression] if expression in words else eval(expression, {}, dict(words))


def cases() -> list[Case]:
    """All cases of all files."""
    folder = Path(__file__).parent
    return [case for path in sorted(folder.glob("*.yaml")) for case in _cases_of(path)]


def _cases_of(path: Path) -> Iterator[Case]:
    text = yaml.safe_load(path.read_text())
    for case in text["cases"]:
        panes = tuple(map(_pane, case["panes"]))
        yield Case(
            name=f"{path.stem}: {case['figure']}",
            window_expression=case["windows"],
            trigger_expression=case["trigger"],
            mode=case["mode"].upper(),
            lateness=_duration(case.get("lateness", "0 days")),
            on_time=case.get("on_time", "fire_always").upper(),
            events=tuple(_events(text, case)),
            panes=panes,
            in_order=any(p.moment is not None for p in panes),
        )


def _events(text: Mapping[str, Any], case: Mapping[str, Any]) -> Iterator[tuple[int | str, Event]]:
    """Merge elements, watermark and clock: at one moment first the clock, then the elements."""
    curve = text["watermarks"][case["watermark"]]
    moved = case.get("event_times", {})
    steps: list[tuple[Any, int, Event]] = [
        (instant(arrival), 1, ("elements", [(value, instant(moved.get(n, timestamp)))]))
        for n, (value, timestamp, arrival) in enumerate(text["elements"])
    ]
    steps += [(instant(at), 2, ("watermark", instant(to))) for at, to in curve if at != "start"]
    yield from ((0, ("watermark", instant(to))) for at, to in curve if at == "start")
    for moment, _, event in sorted([*steps, *_clock([moment for moment, *_ in steps])]):
        yield moment, event
    if case.get("to_infinity", True):
        yield END, ("watermark", END)


def _clock(moments: list[int]) -> list[tuple[int, int, Event]]:
    """Stop the clock at every moment, and at each whole minute up to the first after all."""
    stop = max(moments) // MINUTE * MINUTE + MINUTE
    minutes = range(min(moments) // MINUTE * MINUTE, stop + 1, MINUTE)
    return [(moment, 0, ("clock", moment)) for moment in sorted({*moments, *minutes})]


def _pane(row: list[Any]) -> Expected:
    *row, details = row if isinstance(row[-1], dict) else [*row, {}]
    if isinstance(row[-1], str):
        details = {**details, "timing": row.pop()}
    *where, value = row
    window, moment = _window(where)
    diff = -1 if details.pop("retraction", False) else 1
    return Expected(window, diff * value, diff, moment, details)


def _window(where: list[str]) -> tuple[tuple[int | str, int | str] | str, int | str | None]:
    """Take apart what stands in front of a value: a moment, or none, and the window."""
    window: tuple[int | str, int | str] | str
    if where[-1] == "global":
        window, moments = "global", where[:-1]
    else:
        *moments, start, end = where
        window = instant(start), "global" if "global" in end else instant(end)
    return window, instant(moments[0]) if moments else None


def instant(text: str) -> int | str:
    """Microseconds since midnight of the one day on which everything happens."""
    if text == END:
        return END
    hours, minutes, seconds = text.split(":")
    return round((int(hours) * 3600 + int(minutes) * 60 + float(seconds)) * SECOND)


def _duration(text: str) -> int:
    number = re.fullmatch(r"(\d+) days", text)
    if not number:
        raise ValueError(f"a duration in days, not {text!r}")
    return int(number[1]) * DAY
