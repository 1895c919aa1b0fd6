"""Options for the observation of a run, and the observers that they ask for."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.sdk.observing.live import LivePage
from headrace.sdk.observing.observer import RunObserver
from headrace.sdk.options import PipelineOptions


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


def observers_of(options: PipelineOptions) -> list[RunObserver]:
    """Return the observers that options ask for: those that are given, and those of flags."""
    view = options.view_as(ObserveOptions)
    return [*view.observers, *_pages(view), *_exporters(view)]


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


def _pages(view: Any) -> Iterator[RunObserver]:
    """Yield the pages that flags ask for."""
    if view.report is not None:
        from headrace.sdk.observing.report import Report

        yield Report(view.report)
    if view.serve is not None:
        yield LivePage(view.serve)


def _exporters(view: Any) -> Iterator[RunObserver]:
    """Yield the exporters that flags ask for; their modules are imported only then."""
    if view.prometheus is not None:
        from headrace.sdk.observing.prometheus import PrometheusExporter

        yield PrometheusExporter(view.prometheus)
    if view.prometheus_gateway is not None:
        from headrace.sdk.observing.prometheus import PushgatewayExporter

        yield PushgatewayExporter(view.prometheus_gateway)
    if view.otlp is not None:
        from headrace.sdk.observing.opentelemetry import OtlpExporter

        yield OtlpExporter(view.otlp)
    if view.openlineage is not None:
        from headrace.sdk.observing.openlineage import OpenLineageObserver

        yield OpenLineageObserver(view.openlineage)


def add_observers(options: PipelineOptions, observers: Sequence[RunObserver]) -> None:
    """Add observers to those of options."""
    if observers:
        view = options.view_as(ObserveOptions)
        view.observers = (*view.observers, *observers)
