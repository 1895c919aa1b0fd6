"""Beam's runners as objects: the local runner and the Spark runner; the services of others are refused."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar, Final

from headrace.errors import UnsupportedError
from headrace.sdk.options.pipeline_options import PipelineOptions
from headrace.sdk.pipelines.graph import Graph
from headrace.sdk.pipelines.result import PipelineResult

REFUSED_RUNNERS: Final = {
    "dataflowrunner": "Dataflow is a service of Google",
    "testdataflowrunner": "Dataflow is a service of Google",
    "flinkrunner": "Headrace has no runner for Flink",
    "kafkastreamsrunner": "Headrace has no runner for Kafka Streams",
    "samzarunner": "Headrace has no runner for Samza",
    "portablerunner": "Headrace has no job servers",
    "prismrunner": "Prism is a runner of Beam's Go SDK",
    "interactiverunner": "in a notebook each runner shows its pipelines",
    "daskrunner": "Headrace has no runner for Dask",
    "rayrunner": "Headrace has no runner for Ray",
}
"""Beam's runners that Headrace does not have, in lower case, with the reason."""

_USE: Final = "use --runner=local, or --runner=spark on a cluster, such as one of Dataproc"


class PipelineRunner:
    """The base of runners as objects (Beam's name); a custom runner defines :meth:`run`.

    >>> isinstance(DirectRunner(), PipelineRunner)
    True
    """

    def run(self, graph: Graph, options: PipelineOptions) -> PipelineResult:
        """Run a graph."""
        raise NotImplementedError(f"{type(self).__name__} does not define run")


class NamedRunner(PipelineRunner):
    """A runner that is given as an object in place of its name.

    Attributes:
        runner_name: the name of the runner.
    """

    runner_name: ClassVar[str]

    def run(self, graph: Graph, options: PipelineOptions) -> PipelineResult:
        result: PipelineResult = import_module(f"headrace.runners.{self.runner_name}").run(
            graph, options
        )
        return result

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class DirectRunner(NamedRunner):
    """The local runner (Beam's name).

    >>> with Pipeline(runner=DirectRunner()) as p:
    ...     _ = p | Create([1]) | Map(print)
    1
    """

    runner_name = "local"


class BundleBasedDirectRunner(DirectRunner):
    """The local runner, under another name that Beam has for its own.

    >>> BundleBasedDirectRunner().runner_name
    'local'
    """


class SwitchingDirectRunner(DirectRunner):
    """The local runner, under another name that Beam has for its own.

    >>> SwitchingDirectRunner().runner_name
    'local'
    """


class FnApiRunner(DirectRunner):
    """The local runner, under another name that Beam has for its own.

    >>> FnApiRunner().runner_name
    'local'
    """


class SparkRunner(NamedRunner):
    """The Spark runner (Beam's name).

    >>> SparkRunner().runner_name
    'spark'
    """

    runner_name = "spark"


class RefusedRunner(NamedRunner):
    """A Beam runner that Headrace does not have.

    Raises:
        UnsupportedError: always.
    """

    def __init__(self, *_: object, **__: object) -> None:
        raise no_runner(type(self).__name__)


class DataflowRunner(RefusedRunner):
    """Google's service, which Headrace does not use (Beam's name).

    Raises:
        UnsupportedError: always.

    >>> DataflowRunner()
    Traceback (most recent call last):
    headrace.errors.UnsupportedError: there is no runner 'DataflowRunner': Dataflow is a service of Google...
    """


class FlinkRunner(RefusedRunner):
    """Beam's runner on Flink, which Headrace does not have.

    Raises:
        UnsupportedError: always.
    """


class PortableRunner(RefusedRunner):
    """Beam's runner on a job server, which Headrace does not have.

    Raises:
        UnsupportedError: always.
    """


class PrismRunner(RefusedRunner):
    """Beam's runner in Go, which Headrace does not have.

    Raises:
        UnsupportedError: always.
    """


class InteractiveRunner(RefusedRunner):
    """Beam's runner in notebooks; here ``hr.show`` shows the elements of a collection on any runner.

    Raises:
        UnsupportedError: always.
    """


def simple_name(name: str) -> str:
    """Return the name of a runner in lower case, without its module.

    >>> simple_name("apache_beam.runners.DirectRunner")
    'directrunner'
    """
    return name.lower().rpartition(".")[2]


def refuse_runner(runner: object) -> None:
    """Check the runner of a new pipeline, if it is a name.

    Raises:
        UnsupportedError: it is one of Beam's runners that Headrace does not have.
    """
    if isinstance(runner, str) and _reason(runner) is not None:
        raise no_runner(runner)


def _reason(name: str) -> str | None:
    return REFUSED_RUNNERS.get(f"{simple_name(name).removesuffix('runner')}runner")


def no_runner(name: str) -> UnsupportedError:
    """Return the error for a runner that Headrace does not have.

    >>> print(no_runner("FlinkRunner"))
    there is no runner 'FlinkRunner': Headrace has no runner for Flink...
    """
    reason = _reason(name)
    if reason is None:
        return UnsupportedError(
            f"there is no runner {name!r}", remedy="use --runner=local or --runner=spark"
        )
    return UnsupportedError(f"there is no runner {name!r}: {reason}", remedy=_USE)
