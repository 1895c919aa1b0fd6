"""The class of a law of a grouping: its sentence, the groupings that it applies to, and its check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

import attrs

from headrace.sdk.testing.laws.law import LawBroken
from headrace.sdk.testing.runs.batch_oracle import Part
from headrace.sdk.testing.runs.run_on_runner import Pane
from headrace.sdk.testing.runs.steps import emits_panes

Broken = Iterator[dict[str, Any]]
"""The violations of a law: actual and expected results by name; empty if the law holds."""


@attrs.frozen
class PaneLaw:
    """A law of a grouping.

    Attributes:
        sentence: the law, as a sentence.
        sees: whether the law applies to a grouping.
        broken: yields the violations, with both sides.
        in_batch: whether the law applies to a batch, in which all elements arrive at once and none is late.
    """

    sentence: str
    sees: Callable[[Part], bool]
    broken: Callable[[Part], Broken]
    in_batch: bool = True

    def check(self, part: Part, given: Callable[[], str] = str) -> None:
        """Check a grouping, if the law applies to it.

        Args:
            part: the grouping.
            given: returns the description of the case, if the law is broken.

        Raises:
            LawBroken: the law does not hold.
        """
        if self.sees(part):
            for sides in self.broken(part):
                sides = {"grouping": part.step, **sides}
                raise LawBroken(self.sentence, given(), sides, "check how the runner groups")


def has_panes(part: Part) -> bool:
    """Apply to every grouping, but not to a stateful DoFn, whose outputs are not panes."""
    return emits_panes(part.step)


def by_event(part: Part) -> list[tuple[int, list[Pane]]]:
    """Return the panes of each event; all panes as one event if events are not known."""
    event = attrgetter("event") if part.events_known else (lambda pane: -1)
    ordered = sorted(part.observed.panes, key=event)
    return [(n, list(panes)) for n, panes in groupby(ordered, key=event)]
