"""The job game_stats: who is a robot, what teams score without robots, and how long sessions last.

A spammer is a user with much more points in an hour than the mean, which is a side input. An output does
not change when its side input does later. So here windows wait until they are complete: the watermark trails
by the longest delay, and nothing is late.
"""

from __future__ import annotations

from typing import Any

import headrace as hr
from headrace.transforms.window import FixedWindows, Sessions

from .events import HOUR, MINUTE, Score
from .scores import team_row
from .windowing import start_of

SPAMMERS_WEIGHT = 2.5
"""A spammer has more than this many times the mean."""

GAP = 10 * MINUTE
"""A session ends when its user scores nothing for this time, in seconds."""


def game_stats(scores: hr.PCollection[Score]) -> dict[str, hr.PCollection[hr.Row]]:
    """Find spammers by hour; sum up what teams score without them; average the lengths of sessions."""
    in_hours = scores | "Into hours" >> hr.WindowInto(FixedWindows(HOUR))
    spammers = _spammers(in_hours)
    return {
        "spammers": spammers | "Rows of spammers" >> hr.Map(_spammer_row),
        "teams": _teams(in_hours, spammers),
        "sessions": _sessions(scores),
    }


def _spammers(in_hours: hr.PCollection[Score]) -> hr.PCollection[tuple[str, int]]:
    totals = (
        in_hours
        | "By user" >> hr.Map(lambda score: (score.user, score.points))
        | "Sum of users" >> hr.CombinePerKey(sum)
    )
    mean = (
        totals
        | "Totals" >> hr.Values()
        | "Mean" >> hr.CombineGlobally(hr.combiners.MeanCombineFn()).without_defaults()
    )
    return totals | "Spammers" >> hr.Filter(
        lambda total, mean: total[1] > SPAMMERS_WEIGHT * mean, hr.AsSingleton(mean)
    )


def _teams(
    in_hours: hr.PCollection[Score], spammers: hr.PCollection[tuple[str, int]]
) -> hr.PCollection[hr.Row]:
    return (
        in_hours
        | "Without spammers"
        >> hr.Filter(lambda score, spammers: score.user not in spammers, hr.AsDict(spammers))
        | "By team" >> hr.Map(lambda score: (score.team, score.points))
        | "Sum of teams" >> hr.CombinePerKey(sum)
        | "Rows of teams" >> hr.Map(team_row)
    )


def _sessions(scores: hr.PCollection[Score]) -> hr.PCollection[hr.Row]:
    """Average the lengths of the sessions that end in each hour."""
    return (
        scores
        | "Users" >> hr.Map(lambda score: (score.user, None))
        | "Into sessions" >> hr.WindowInto(Sessions(GAP))
        | "Sessions" >> hr.combiners.Count.PerKey()
        | "Lengths" >> hr.Map(_length)
        | "Sessions into hours" >> hr.WindowInto(FixedWindows(HOUR))
        | "Mean length" >> hr.CombineGlobally(hr.combiners.MeanCombineFn()).without_defaults()
        | "Rows of sessions" >> hr.Map(_session_row)
    )


def _length(session: tuple[str, int], window: Any = hr.DoFn.WindowParam) -> float:
    """Return the seconds from the first event of a session to a gap after the last one."""
    return float(window.end - window.start)


def _spammer_row(total: tuple[str, int], window: Any = hr.DoFn.WindowParam) -> hr.Row:
    user, points = total
    return hr.Row(start=start_of(window), user=user, points=points)


def _session_row(mean: float, window: Any = hr.DoFn.WindowParam) -> hr.Row:
    return hr.Row(start=start_of(window), seconds=mean)
