"""The keyed operator of a node with side inputs: elements wait until the windows that they need are ready.

A window of a side input is ready when its first pane has arrived, or when the watermark of that side input
has passed the end of the window and its allowed lateness; then it is empty. In a round the panes of side
inputs come first. So an element sees all panes of its own round and of the rounds before it, and no later
ones. The node has one key in each key group, since every element can need every side input.

An element that is late, by the windows of the main input, is dropped. A window of a side input is removed
when all elements that can need it would be late: when the watermark of the main input passes its end and the
allowed lateness of the main input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.keyed_operator import Moments
from headrace.runners.contents.side_input_files import SideInputFiles
from headrace.runners.side_inputs.side_input_state import (
    GateState,
    NeededWindows,
    SideContent,
    SideWindow,
    Waiting,
)
from headrace.sdk.pardo.binding import exploded
from headrace.sdk.pardo.window_mapping import side_window
from headrace.stored_formats import SIDE_INPUT_STATE, check_format
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window_fn import Windows
from headrace.windowing.windows import GlobalWindows


class RoundInput(NamedTuple):
    """Arrivals of a round.

    Attributes:
        panes: panes of side inputs, each with the number of the side input.
        elements: elements of the main input.
    """

    panes: Sequence[tuple[int, Bundle]]
    elements: Sequence[Bundle]


class Released(NamedTuple):
    """Elements whose side windows are ready.

    Attributes:
        bundle: the elements.
        needs: the side windows.
        contents: the content of each side window; None if it is empty.
    """

    bundle: Bundle
    needs: NeededWindows
    contents: tuple[SideContent | None, ...]


@attrs.define(eq=False)
class GateOutputs:
    """Elements that a gate releases.

    Attributes:
        released: the elements.
        dropped: the number of late elements that were dropped.
        holds_before: the watermarks at which elements that waited held their keys, by encoding.
        holds: the watermarks at which elements that still wait hold their keys.
    """

    released: list[Released] = attrs.field(factory=list)
    dropped: int = 0
    holds_before: Mapping[bytes, int] = attrs.field(factory=dict)
    holds: Mapping[bytes, int] = attrs.field(factory=dict)


class SideInputGate:
    """The keyed operator of one node with side inputs.

    Args:
        strategy: the windowing strategy of the main input.
        sides: the windowing strategy of each side input.
        files: the files for large panes; None if there are none.

    Attributes:
        watermarks: the watermark of each side input in the current round, in microseconds.
        needed_files: the names of the files that the state needs after the last call; None if there was none
            since it was set to None.
    """

    def __init__(
        self,
        strategy: WindowingStrategy,
        sides: Sequence[WindowingStrategy],
        files: SideInputFiles | None = None,
    ) -> None:
        self.watermarks: Sequence[int] = [MIN_MICROS] * len(sides)
        self.needed_files: frozenset[str] | None = None
        self._files = files
        self._strategy = strategy
        self._sides = sides
        everything = GlobalWindows()
        self._by_window = any(side.window_fn != everything for side in sides)

    @property
    def sides(self) -> int:
        """The number of side inputs."""
        return len(self._sides)

    def new_state(self) -> GateState:
        """Return the state of a key group."""
        return GateState()

    def process(
        self, state: GateState, elements: RoundInput, clock: Clock, out: GateOutputs
    ) -> None:
        """Add the panes of side inputs, and let elements wait; those that are ready leave in ``wake``."""
        for content in self._changed(state, elements.panes):
            if self._files is not None:
                content.pack()
        for bundle in elements.elements:
            for needs, part in self._by_needs(bundle, clock, out):
                self._add(state, needs, part, clock)
        self._note_files(state)

    def _add(self, state: GateState, needs: NeededWindows, elements: Bundle, clock: Clock) -> None:
        """Let elements wait."""
        state.waiting.setdefault(needs, Waiting()).add(elements)

    def _changed(
        self, state: GateState, panes: Sequence[tuple[int, Bundle]]
    ) -> Iterable[SideContent]:
        """Add panes to their contents; return the contents."""
        changed: dict[SideWindow, SideContent] = {}
        for number, bundle in panes:
            mode = self._sides[number].accumulation_mode
            for (_, values), _, (window,), pane, diff in bundle.rows():
                content = state.contents.setdefault((number, window), SideContent(self._files))
                content.add(values, pane, diff, mode)
                changed[number, window] = content
        return changed.values()

    def _note_files(self, state: GateState) -> None:
        self.needed_files = frozenset(
            file.name for content in state.contents.values() for file in content.stored
        )

    def wake(self, state: GateState, clock: Clock, out: GateOutputs) -> None:
        """Release the elements that are ready, and remove the side windows that nothing needs any more."""
        for needs in [needs for needs in state.waiting if self._ready(state, needs)]:
            contents = tuple(
                None if window is None else state.contents.get((number, window))
                for number, window in enumerate(needs)
            )
            bundle = Bundle.concat(state.waiting.pop(needs).bundles)
            out.released.append(Released(bundle, needs, contents))
        needed = {pair for needs in state.waiting for pair in enumerate(needs)}
        for number, window in list(state.contents):
            expired = self._strategy.is_late(window.last, clock.watermark)
            if expired and (number, window) not in needed:
                del state.contents[number, window]
        self._note_files(state)

    def _ready(self, state: GateState, needs: NeededWindows) -> bool:
        return all(
            window is None
            or (number, window) in state.contents
            or self._sides[number].is_late(window.last, self.watermarks[number])
            for number, window in enumerate(needs)
        )

    def _by_needs(
        self, bundle: Bundle, clock: Clock, out: GateOutputs
    ) -> Iterator[tuple[NeededWindows, Bundle]]:
        """Divide a bundle by the side windows that its elements need; drop late elements.

        Elements in no window are dropped, too, but they are not late.
        """
        if self._by_window:
            bundle = exploded(bundle)
        if not len(bundle):
            return
        needs_of = {
            windows: self._needs(windows, clock.watermark) for windows in distinct_windows(bundle)
        }
        for needs, part in _divided(bundle, needs_of):
            if needs is None:
                out.dropped += sum(
                    bool(windows) for _, windows in zip(part.values, part.windows, strict=False)
                )
            else:
                yield needs, part

    def _needs(self, windows: Windows, watermark: int) -> NeededWindows | None:
        """Return the side windows that elements in some windows need; None if the elements are late."""
        if all(self._strategy.is_late(window.last, watermark) for window in windows):
            return None
        return tuple(side_window(side.window_fn, windows[0]) for side in self._sides)

    def moments(self, state: GateState) -> Moments | None:
        """Return the next timers and the hold; while elements wait, each round wakes the operator."""
        if not (state.contents or state.waiting):
            return None
        if state.waiting:
            hold = min(waiting.hold for waiting in state.waiting.values())
            return Moments(event_timer=MIN_MICROS, hold=hold)
        expiry = min(self._strategy.expiry(window.last) for _, window in state.contents)
        return Moments(event_timer=expiry, hold=NEVER)

    def freeze(self, state: GateState) -> tuple[Any, ...]:
        """Return the state as plain data."""
        contents = {key: content.freeze() for key, content in state.contents.items()}
        self._note_files(state)
        waiting = [
            (needs, waiting.hold, Bundle.concat(waiting.bundles).as_data())
            for needs, waiting in state.waiting.items()
        ]
        return SIDE_INPUT_STATE, contents, waiting

    def thaw(self, frozen: tuple[Any, ...]) -> GateState:
        """Return the state that :meth:`freeze` stored."""
        check_format("the stored state", frozen[0], "side input state")
        _, contents, waiting = frozen
        return GateState(
            {key: SideContent.thaw(content, self._files) for key, content in contents.items()},
            {needs: Waiting([Bundle.from_data(columns)], hold) for needs, hold, columns in waiting},
        )


def distinct_windows(bundle: Bundle) -> Iterable[Windows]:
    """Return the windows that elements of a bundle are in, in the order of their first elements."""
    windows = bundle.windows
    return [next(windows)] if isinstance(windows, repeat) else dict.fromkeys(windows)


def _divided(
    bundle: Bundle, needs_of: Mapping[Windows, NeededWindows | None]
) -> Iterable[tuple[NeededWindows | None, Bundle]]:
    """Divide a bundle by what its elements need."""
    first, *others = set(needs_of.values())
    if not others:
        return [(first, bundle)]
    rows: dict[NeededWindows | None, list[int]] = {}
    for row, windows in enumerate(bundle.windows):
        rows.setdefault(needs_of[windows], []).append(row)
    return [(needs, bundle.take(some)) for needs, some in rows.items()]
