"""The live page of a run: an observer that keeps a history, which a web server shows."""

from __future__ import annotations

import atexit
import logging
import socket
import sys
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Final

from headrace.sdk.metrics.observer import RunObserver
from headrace.sdk.metrics.run_records import Round, RunOutline
from headrace.sdk.observing.address import Address, parse_address
from headrace.sdk.observing.history import History
from headrace.sdk.observing.live.listening import is_loopback, listen, url_of
from headrace.sdk.observing.live.plain_data import RunView, metrics_data
from headrace.sdk.observing.live.recent_logs import RecentLogs
from headrace.sdk.observing.live.snapshot import snapshot
from headrace.sdk.observing.packages import require_for
from headrace.sdk.pipelines.result import PipelineState

if TYPE_CHECKING:
    from headrace.sdk.observing.live.server import PageServer

_LOG: Final = logging.getLogger(__name__)


class LivePage(RunObserver):
    """Shows a run in the browser, until the program ends.

    Args:
        address: where to serve: ``":8080"`` on this machine only, ``"0.0.0.0:8080"`` on all its addresses;
            port 0 is any free port.

    Attributes:
        url: the URL of the page; empty before the run.

    >>> LivePage(":0").url
    ''
    """

    wants_samples: ClassVar[bool] = True
    _served: ClassVar[dict[Address, LivePage]] = {}

    def __init__(self, address: str) -> None:
        self._address = parse_address(address, "--serve")
        self._lock = Lock()
        self._history = History()
        self._logs = RecentLogs()
        self._engine: Mapping[str, float] = {}
        self._metrics: list[dict[str, object]] = []
        self._server: PageServer | None = None
        self.url = ""

    def check(self) -> None:
        """Check that the packages are installed, and that the port is free.

        Raises:
            PipelineError: the port is taken, or a package is missing.
        """
        require_for("--serve")
        if self._page_before() is None:
            listen(self._address).close()

    def start(self, run: RunOutline) -> None:
        """Serve the page.

        Raises:
            PipelineError: the port is taken.
        """
        self._end_the_page_before()
        listener = listen(self._address)
        self._history.start(run)
        self._logs.attach()
        self._serve(listener)
        _LOG.info("the live page of the run is at %s", self.url)
        print(f"live page: {self.url}", file=sys.stderr)

    def round(self, done: Round) -> None:
        """Add a round."""
        metrics = metrics_data(done.totals)
        with self._lock:
            self._history.round(done)
            self._engine, self._metrics = done.engine, metrics

    def end(self, state: str, error: BaseException | None = None) -> None:
        """Show the end of the run; the page stays."""
        self._logs.detach()
        with self._lock:
            self._history.end(state, error)

    def stop(self) -> None:
        """End the page; the program does this when it ends."""
        self._logs.detach()
        if self._server is not None:
            self._server.stop()
            self._server = None
            self._served.pop(self._address, None)
            atexit.unregister(self.stop)

    def view(self) -> RunView:
        """Return what the page shows now: a copy, which the run waits for, but not for its drawing."""
        with self._lock:
            history, engine, metrics = snapshot(self._history), self._engine, self._metrics
        return RunView(history, self._logs.records(), engine, metrics)

    def _end_the_page_before(self) -> None:
        before = self._page_before()
        if before is not None:
            before.stop()

    def _page_before(self) -> LivePage | None:
        """Return the page of an earlier run of this program at the same address, if that run has ended."""
        before = self._served.get(self._address)
        ended = before is not None and PipelineState.is_terminal(before._history.state)
        return before if ended else None

    def _serve(self, listener: socket.socket) -> None:
        from headrace.sdk.observing.live.app import live_app
        from headrace.sdk.observing.live.guard import LOOPBACK_NAMES, bracketed
        from headrace.sdk.observing.live.server import PageServer

        self.url = url_of(listener)
        hosts = LOOPBACK_NAMES | {bracketed(self._address.host)} if is_loopback(listener) else None
        self._server = PageServer(live_app(self.view, hosts), listener)
        self._server.start()
        atexit.register(self.stop)
        if self._address.port:
            self._served[self._address] = self
