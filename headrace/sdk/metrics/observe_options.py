"""Options for the observation of a run: flags, and observers that are given by name.

Runners ask :mod:`headrace.sdk.observing.options` for the observers; a pipeline only keeps what is asked for.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence

from headrace.sdk.metrics.observer import RunObserver
from headrace.sdk.options.pipeline_options import PipelineOptions


class ObserveOptions(PipelineOptions):
    """Options for the observation of a run; ``observers`` can be set by name only.

    >>> ObserveOptions(observers=[RunObserver()]).observers[0].wants_samples
    False
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.set_defaults(observers=())
        parser.add_argument(
            "--report",
            metavar="FILE",
            help="HTML file to write at the end of the run: graph, charts, and a picture of each grouping",
        )
        parser.add_argument(
            "--serve",
            metavar="ADDRESS",
            help="show the run on a live page: :8080 on this machine only, 0.0.0.0:8080 on all addresses",
        )
        _add_exporters(parser)


def add_observers(options: PipelineOptions, observers: Sequence[RunObserver]) -> None:
    """Add observers to the observers of options."""
    if observers:
        view = options.view_as(ObserveOptions)
        view.observers = (*view.observers, *observers)


def _add_exporters(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--prometheus",
        metavar="ADDRESS",
        help="address on which Prometheus scrapes metrics, such as :9100 (without a host: of this machine "
        "only; port 0: a free one, which is logged)",
    )
    parser.add_argument(
        "--prometheus_gateway",
        "--prometheus-gateway",
        metavar="URL",
        help="push gateway to push metrics to, every ten seconds and at the end",
    )
    parser.add_argument(
        "--otlp",
        metavar="URL",
        help="OpenTelemetry collector to export metrics to, such as http://localhost:4318",
    )
    parser.add_argument(
        "--openlineage",
        metavar="URL",
        nargs="?",
        const="",
        help="OpenLineage server to send run events to (without a URL: as OPENLINEAGE_URL and the other "
        "settings of its client say)",
    )
