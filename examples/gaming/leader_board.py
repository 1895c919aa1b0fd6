"""The job leader_board: scores that are shown before they are complete, and corrected as events arrive."""

from __future__ import annotations

import headrace as hr
from headrace.transforms.trigger import AfterCount, Repeatedly
from headrace.transforms.window import FixedWindows

from .events import HOUR, Score
from .scores import team_row
from .windowing import corrected, current

EARLY = 10
LATE = 20
"""Numbers of events of a team after which its score in an hour is shown again, before and after its end."""


def leader_board(scores: hr.PCollection[Score]) -> dict[str, hr.PCollection[hr.Row]]:
    """Show the points of teams by hour, and the points of users so far."""
    teams = (
        scores
        | "Into hours" >> corrected(FixedWindows(HOUR), Repeatedly(AfterCount(EARLY)), LATE)
        | "By team" >> hr.Map(lambda score: (score.team, score.points))
        | "Sum of teams" >> hr.CombinePerKey(sum)
        | "Rows of teams" >> hr.Map(team_row)
    )
    users = (
        scores
        | "Into one window" >> current(after=EARLY)
        | "By user" >> hr.Map(lambda score: (score.user, score.points))
        | "Sum of users" >> hr.CombinePerKey(sum)
        | "Rows of users" >> hr.MapTuple(lambda user, points: hr.Row(user=user, points=points))
    )
    return {"teams": teams, "users": users}
