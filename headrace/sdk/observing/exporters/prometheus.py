"""Exporters for Prometheus: an endpoint that Prometheus scrapes, and a push gateway for short runs."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import ExitStack
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import PipelineError
from headrace.sdk.metrics.cells import MetricResults
from headrace.sdk.metrics.run_records import RunOutline
from headrace.sdk.observing.address import Address, parse_address
from headrace.sdk.observing.exporters.exporter import MetricsExporter
from headrace.sdk.observing.exporters.prometheus_families import families
from headrace.sdk.observing.packages import require_for

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric

_LOG: Final = logging.getLogger(__name__)

_PUSH_SECONDS: Final = 10.0
"""Maximum time of a push, in seconds."""


class _Latest:
    """A collector of what was exported last; a scrape in another thread sees a whole export."""

    def __init__(self) -> None:
        self.families: list[Metric] = []

    def collect(self) -> Iterable[Metric]:
        """Return the metric families."""
        return self.families


class _RegistryExporter(MetricsExporter):
    """Exports into a registry of its own."""

    def __init__(self, flag: str) -> None:
        require_for(flag)
        from prometheus_client import CollectorRegistry

        self.registry: CollectorRegistry = CollectorRegistry()
        self._latest: Any = _Latest()
        self.registry.register(self._latest)

    def start(self, run: RunOutline) -> None:
        """Begin a run without metrics."""
        super().start(run)
        self._latest.families = []

    def export(self, metrics: MetricResults, run: RunOutline) -> None:
        """Put the metrics into the registry."""
        if self.last is not None:
            self._latest.families = families(run, self.last, self.rounds)


class PrometheusExporter(_RegistryExporter):
    """Serves the metrics of a run to Prometheus, under ``/metrics``, until the run ends.

    Args:
        address: ``host:port``; without a host only this machine can connect. Port 0 is a free port, which is
            logged. None for no server: the program serves :attr:`registry` itself.

    Attributes:
        registry: the registry of ``prometheus-client`` that has the metrics.
        address: the address that it serves on; None if it does not.
        interval: minimum number of seconds between two looks at the metrics.

    Raises:
        PipelineError: ``prometheus-client`` is not installed, or the address is not one or is in use.

    >>> exporter = PrometheusExporter(address=None)
    >>> with Pipeline(observers=[exporter]) as p:
    ...     _ = p | Create([3, 4]) | "Double" >> Map(lambda x: 2 * x)
    >>> exporter.registry.get_sample_value("headrace_elements_out_total", {"step": "Double"})
    2
    """

    interval = 1.0

    def __init__(self, address: str | None = ":9100") -> None:
        super().__init__("--prometheus")
        self._asked = None if address is None else parse_address(address, "--prometheus")
        self._stack = ExitStack()
        self.address: Address | None = None

    def check(self) -> None:
        """Check that the address can be served on."""
        if self._asked is not None and self._asked.port:
            self._serve(self._asked)
            self._stack.close()

    def start(self, run: RunOutline) -> None:
        """Start the server."""
        super().start(run)
        if self._asked is not None:
            self.address = self._serve(self._asked)
            _LOG.info("Prometheus finds the metrics at %s/metrics", self.address.url)

    def _serve(self, asked: Address) -> Address:
        from prometheus_client import make_wsgi_app

        from headrace.sdk.observing.exporters.scrape_server import serving

        try:
            return self._stack.enter_context(serving(make_wsgi_app(self.registry), asked))
        except OSError as error:
            raise PipelineError(
                f"the metrics cannot be served on {asked.host}:{asked.port}: {error.strerror or error}",
                where="--prometheus",
                remedy="use another port; port 0 is a free one",
            ) from error

    def end(self, state: str, error: BaseException | None = None) -> None:
        """Stop the server."""
        with self._stack:
            super().end(state, error)
        self.address = None


class PushgatewayExporter(_RegistryExporter):
    """Pushes the metrics of a run to a push gateway of Prometheus, while it runs and at its end.

    The metrics are grouped by the name of the program as ``job``; the next run of the program replaces them.
    A push during the run happens in a thread, so that a slow gateway does not slow the run down.

    Args:
        url: URL of the push gateway.

    Raises:
        PipelineError: ``prometheus-client`` is not installed.

    >>> PushgatewayExporter("http://localhost:9091").interval
    10.0
    """

    def __init__(self, url: str) -> None:
        super().__init__("--prometheus-gateway")
        self.url = url
        self._pushing: Thread | None = None

    def export(self, metrics: MetricResults, run: RunOutline) -> None:
        """Push the metrics, unless the push before has not ended."""
        super().export(metrics, run)
        if self._pushing is None or not self._pushing.is_alive():
            self._pushing = Thread(
                target=self._push, args=(run,), name="headrace-push", daemon=True
            )
            self._pushing.start()

    def end(self, state: str, error: BaseException | None = None) -> None:
        """Push the metrics of the whole run, and wait until they are pushed."""
        self._join()
        super().end(state, error)
        self._join()

    def _join(self) -> None:
        if self._pushing is not None:
            self._pushing.join()

    def _push(self, run: RunOutline) -> None:
        from prometheus_client import push_to_gateway

        try:
            push_to_gateway(self.url, run.job, self.registry, timeout=_PUSH_SECONDS)
        except Exception as error:  # of the network; the run goes on
            _LOG.warning("the metrics were not pushed to %s: %s", self.url, error)
