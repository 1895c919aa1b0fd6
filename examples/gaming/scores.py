"""The jobs user_score and hourly_team_score: sums of points."""

from __future__ import annotations

from typing import Any

import headrace as hr
from headrace.transforms.window import FixedWindows

from .events import HOUR, START, Score
from .windowing import corrected, current, start_of

FIRST_HOUR = START + HOUR
"""hourly_team_score leaves out what is earlier."""


def user_score(scores: hr.PCollection[Score]) -> dict[str, hr.PCollection[hr.Row]]:
    """Sum up the points of each user over all of time; always current."""
    users = (
        scores
        | "Into one window" >> current(after=1)
        | "By user" >> hr.Map(lambda score: (score.user, score.points))
        | "Sum" >> hr.CombinePerKey(sum)
        | "To rows" >> hr.MapTuple(lambda user, points: hr.Row(user=user, points=points))
    )
    return {"users": users}


def hourly_team_score(scores: hr.PCollection[Score]) -> dict[str, hr.PCollection[hr.Row]]:
    """Sum up the points of each team by hour, from a first hour on."""
    teams = (
        scores
        | "From the first hour" >> hr.Filter(lambda score: score.time >= FIRST_HOUR)
        | "Into hours" >> corrected(FixedWindows(HOUR))
        | "By team" >> hr.Map(lambda score: (score.team, score.points))
        | "Sum" >> hr.CombinePerKey(sum)
        | "To rows" >> hr.Map(team_row)
    )
    return {"teams": teams}


def team_row(total: tuple[str, int], window: Any = hr.DoFn.WindowParam) -> hr.Row:
    """Return the points of a team in a window."""
    team, points = total
    return hr.Row(start=start_of(window), team=team, points=points)
