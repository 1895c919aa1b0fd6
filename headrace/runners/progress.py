"""A bar that shows how a run gets on, drawn by rich."""

from __future__ import annotations

from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any

from headrace.errors import PipelineError


class Progress:
    """Counts elements read on the terminal, if it is wanted.

    Args:
        wanted: whether to show anything.

    Raises:
        PipelineError: it is wanted, and rich is not installed.
    """

    def __init__(self, wanted: bool) -> None:
        if wanted and find_spec("rich") is None:
            raise PipelineError(
                "--progress needs the package rich, which is not installed",
                remedy="pip install 'headrace[demo]', or leave the flag out",
            )
        self._wanted = wanted
        self._stack = ExitStack()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        """Show the bar."""
        if self._wanted:
            from rich.progress import Progress as Bar
            from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = (
                SpinnerColumn(),
                TextColumn("{task.completed:,.0f} elements read"),
                TimeElapsedColumn(),
            )
            self._bar = self._stack.enter_context(Bar(*columns))
            self._task = self._bar.add_task("read", total=None)
        return self

    def advance(self, elements: int) -> None:
        """Count elements that were read."""
        if self._bar is not None:
            self._bar.advance(self._task, elements)

    def __exit__(self, *exception: object) -> None:
        """Leave the bar as it stands."""
        self._stack.close()
