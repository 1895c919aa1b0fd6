"""The arguments that functions receive for side inputs; an unchanged content keeps its argument."""

from __future__ import annotations

from typing import Any

import attrs

from headrace.errors import FileError, HeadraceError
from headrace.runners.contents.side_input_files import CACHE_BYTES
from headrace.runners.side_inputs.side_input_gate import Released
from headrace.runners.side_inputs.side_input_state import SideContent, SideWindow
from headrace.sdk.elements.side_containers import argument_of_calls
from headrace.sdk.pipelines.graph import ParDoWithSideInputs, StatefulParDo

VIEWS: int = 256
"""Maximum number of arguments that are kept for the next round."""


@attrs.frozen
class MadeArgument:
    """An argument, and the content that it was made of.

    Attributes:
        content: the content.
        version: its version then.
        identity: its identity then.
        argument: the argument.
    """

    content: SideContent
    version: int
    identity: tuple[Any, ...] | None
    argument: Any

    def is_of(self, content: SideContent) -> bool:
        """Return whether the argument belongs to a content as it is now."""
        same = content is self.content and content.version == self.version
        return same or (self.identity is not None and self.identity == content.identity)


@attrs.define(eq=False)
class Views:
    """The arguments that the contents of side windows become; an unchanged content keeps its argument."""

    node: ParDoWithSideInputs | StatefulParDo
    _known: dict[SideWindow, MadeArgument] = attrs.field(factory=dict, init=False)

    def of(self, released: Released) -> list[Any]:
        """Return the argument for each side input."""
        pairs = zip(released.needs, released.contents, strict=True)
        return [self._view(number, *pair) for number, pair in enumerate(pairs)]

    def _view(self, number: int, window: Any, content: SideContent | None) -> object:
        if content is None:
            return self._new_view(number, window, [])
        known = self._known.pop((number, window), None)
        if known is None or not known.is_of(content):
            argument = self._new_view(number, window, self._values(number, window, content))
            known = MadeArgument(content, content.version, content.identity, argument)
            self._forget()
        self._known[number, window] = known
        return known.argument

    def _values(self, number: int, window: object, content: SideContent) -> list[Any]:
        try:
            return content.values
        except FileError as error:
            error.where = f"{self.node.label}, {self.node.names[number]} in the window {window!r}"
            raise

    def _new_view(self, number: int, window: object, values: list[object]) -> object:
        view, name = self.node.views[number], self.node.names[number]
        try:
            return argument_of_calls(lambda: view(values, name))
        except HeadraceError as error:
            error.where = error.where or f"{self.node.label}, in the window {window!r}"
            raise

    def _forget(self) -> None:
        """Forget the views that were not used for the longest time, if there are many or large ones."""
        large = sum(view.content.bytes_in_files for view in self._known.values())
        while self._known and (len(self._known) >= VIEWS or large > CACHE_BYTES):
            view = self._known.pop(next(iter(self._known)))
            large -= view.content.bytes_in_files
