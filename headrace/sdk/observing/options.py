"""The observers that the options of a run ask for; their modules are imported only then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.sdk.metrics.observe_options import ObserveOptions
from headrace.sdk.metrics.observer import RunObserver
from headrace.sdk.options.pipeline_options import PipelineOptions


def observers_of(options: PipelineOptions) -> list[RunObserver]:
    """Return the observers that options ask for: given observers, then the observers of flags."""
    view = options.view_as(ObserveOptions)
    return [*view.observers, *_pages(view), *_exporters(view)]


def check_run(options: PipelineOptions) -> None:
    """Check that packages, files and ports that options ask for are there; runners do so before they start.

    Raises:
        PipelineError: something is missing, or cannot be written or served.
    """
    for observer in observers_of(options):
        observer.check()


def _pages(view: Any) -> Iterator[RunObserver]:
    """Yield the pages that flags ask for."""
    if view.report is not None:
        from headrace.sdk.observing.reports.report import HtmlReport

        yield HtmlReport(view.report)
    if view.serve is not None:
        from headrace.sdk.observing.live import LivePage

        yield LivePage(view.serve)


def _exporters(view: Any) -> Iterator[RunObserver]:
    """Yield the exporters that flags ask for."""
    if view.prometheus is not None:
        from headrace.sdk.observing.exporters.prometheus import PrometheusExporter

        yield PrometheusExporter(view.prometheus)
    if view.prometheus_gateway is not None:
        from headrace.sdk.observing.exporters.prometheus import PushgatewayExporter

        yield PushgatewayExporter(view.prometheus_gateway)
    if view.otlp is not None:
        from headrace.sdk.observing.exporters.opentelemetry import OtlpExporter

        yield OtlpExporter(view.otlp)
    if view.openlineage is not None:
        from headrace.sdk.observing.exporters.openlineage import OpenLineageObserver

        yield OpenLineageObserver(view.openlineage)
