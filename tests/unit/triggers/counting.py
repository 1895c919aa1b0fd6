"""Things that count how often they are asked, for tests of what something costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from unittest.mock import patch

import attrs

from headrace.grouping.state import timer_queue
from headrace.runners.contents.reductions import BagOf
from headrace.triggers import Trigger
from headrace.windowing.window import IntervalWindow


@attrs.frozen(repr=False)
class CountingTrigger(Trigger):
    """Another trigger, whose state machine counts its calls."""

    inner: Trigger
    calls: Counter = attrs.field(factory=Counter, eq=False)

    @property
    def start(self):
        return self.inner.start

    def on_elements(self, *arguments):
        return self._ask("on_elements", *arguments)

    def on_merge(self, *arguments):
        return self._ask("on_merge", *arguments)

    def should_fire(self, *arguments):
        return self._ask("should_fire", *arguments)

    def on_fire(self, *arguments):
        return self._ask("on_fire", *arguments)

    def finished(self, *arguments):
        return self._ask("finished", *arguments)

    def wake(self, *arguments):
        return self._ask("wake", *arguments)

    def get_continuation_trigger(self):
        return self

    @property
    def has_on_time(self):
        return self.inner.has_on_time

    def _ask(self, name: str, *arguments: Any) -> Any:
        self.calls[name] += 1
        return getattr(self.inner, name)(*arguments)


@attrs.frozen
class CountingBag(BagOf):
    """Lists of values; counts the values that are touched."""

    touched: Counter = attrs.field(factory=Counter, eq=False)

    def of(self, values, diffs=None):
        self.touched["of"] += len(values)
        return values

    def merge(self, one, other):
        self.touched["merge"] += min(len(one), len(other))
        return super().merge(one, other)

    def result(self, content):
        self.touched["result"] += len(content)
        return super().result(content)


class CountingWindow(IntervalWindow):
    """A window that counts how often windows are compared with it."""

    __slots__ = ()
    compared: ClassVar[Counter] = Counter()

    def __lt__(self, other):
        self.compared["<"] += 1
        return tuple.__lt__(self, other)

    def __gt__(self, other):
        self.compared["<"] += 1
        return tuple.__gt__(self, other)


@contextmanager
def heap_pushes() -> Iterator[Counter]:
    """Count what is pushed on the heaps of timer queues."""
    pushed: Counter = Counter()
    push = timer_queue.heappush  # type: ignore[attr-defined]

    def count(heap: list, entry: tuple) -> None:
        pushed["push"] += 1
        push(heap, entry)

    with patch.object(timer_queue, "heappush", count):
        yield pushed
