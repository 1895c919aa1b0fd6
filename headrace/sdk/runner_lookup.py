"""How a pipeline finds its runner: by name, when it runs, so that nothing here knows any runner."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Protocol

from headrace.errors import UnsupportedError
from headrace.sdk.graph import Graph
from headrace.sdk.options import PipelineOptions
from headrace.sdk.result import PipelineResult

DEFAULT_RUNNER: Final = "local"

_BEAM_NAMES: Final = {"directrunner": "local", "direct": "local", "sparkrunner": "spark"}


class Runner(Protocol):
    """Something that can run a graph: a module of :mod:`headrace.runners`, or an object.

    One that sends functions to workers says so by a true ``ships_functions``; then they are checked.
    """

    def run(self, graph: Graph, options: PipelineOptions) -> PipelineResult:
        """Run a graph."""


def find_runner(runner: str | Runner | None) -> Any:
    """Return the runner of a name; what is not a name is taken for a runner.

    Raises:
        UnsupportedError: there is no runner of that name.
    """
    if runner is None or isinstance(runner, str):
        name = (runner or DEFAULT_RUNNER).lower()
        module = f"headrace.runners.{_BEAM_NAMES.get(name, name)}"
        if not name.isidentifier() or find_spec(module) is None:
            raise UnsupportedError(
                f"there is no runner {runner!r}", remedy="take --runner=local or --runner=spark"
            )
        return import_module(module)
    return runner
