"""A progress bar, drawn by rich."""

from __future__ import annotations

from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any

from headrace.errors import PipelineError


class Progress:
    """Shows on the terminal how many elements have been read.

    Args:
        enabled: whether to show anything.

    Raises:
        PipelineError: it is enabled, and rich is not installed.
    """

    def __init__(self, enabled: bool) -> None:
        if enabled and find_spec("rich") is None:
            raise PipelineError(
                "--progress needs the package rich, which is not installed",
                remedy="run pip install 'headrace[demo]', or remove the flag",
            )
        self._enabled = enabled
        self._stack = ExitStack()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        """Show the bar."""
        if self._enabled:
            from rich.progress import Progress as Bar, SpinnerColumn, TextColumn, TimeElapsedColumn

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
        """Stop the bar; it stays on the terminal."""
        self._stack.close()
