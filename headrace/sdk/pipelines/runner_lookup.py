"""Finds the runner of a pipeline by name at run time, so that the SDK does not depend on runners."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Final, Protocol, cast

from headrace.sdk.options.pipeline_options import PipelineOptions
from headrace.sdk.pipelines.beam_runners import NamedRunner, no_runner, simple_name
from headrace.sdk.pipelines.graph import Graph
from headrace.sdk.pipelines.result import PipelineResult

DEFAULT_RUNNER: Final = "local"

_BEAM_NAMES: Final = {
    **dict.fromkeys(
        (
            "direct",
            "directrunner",
            "bundlebaseddirectrunner",
            "switchingdirectrunner",
            "testdirectrunner",
            "fnapirunner",
        ),
        "local",
    ),
    "sparkrunner": "spark",
}
"""Beam's runners in memory, and its runner on Spark."""


class Runner(Protocol):
    """Runs a graph: a module of :mod:`headrace.runners`, or an object.

    A runner that sends functions to workers has a true attribute ``ships_functions``; then the pipeline
    checks that its functions can be pickled. The local runner also has ``explain(graph)``, the plan as text;
    another runner may have ``planned(graph, options)``, the plan as it runs it.
    """

    def run(self, graph: Graph, options: PipelineOptions) -> PipelineResult:
        """Run a graph."""


class Explained(Protocol):
    """A plan: its ``str`` is the text, and a notebook shows the HTML."""

    def _repr_html_(self) -> str | None:
        """Return the plan as a fragment of HTML."""


class Planner(Runner, Protocol):
    """A runner that explains plans."""

    def explain(self, graph: Graph) -> Explained:
        """Return the plan of a graph."""


def find_runner(runner: str | Runner | None) -> Runner:
    """Return the runner with a name; an object is returned as it is.

    Raises:
        UnsupportedError: there is no runner with that name.
    """
    if isinstance(runner, NamedRunner):
        runner = runner.runner_name
    if runner is None or isinstance(runner, str):
        name = simple_name(runner or DEFAULT_RUNNER)
        path = f"headrace.runners.{_BEAM_NAMES.get(name, name)}"
        module = import_module(path) if name.isidentifier() and find_spec(path) else None
        if module is None or not hasattr(module, "run"):
            raise no_runner(str(runner))
        return cast(Runner, module)
    return runner


def find_planner() -> Planner:
    """Return the runner that explains plans: the local one, for all, since all run the same plan."""
    return cast(Planner, find_runner(DEFAULT_RUNNER))


def is_local(runner: object) -> bool:
    """Return whether a runner is the local one.

    >>> is_local(find_runner(None)), is_local(object())
    (True, False)
    """
    return getattr(runner, "__name__", "") == "headrace.runners.local"
