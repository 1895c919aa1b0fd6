"""A web server in a thread of its own: Starlette's application on uvicorn.

Both are typed, small and maintained together. uvicorn runs in any thread without signal handlers, takes a
socket that listens already, so that a port that is taken is an error before the run, and stops when told.
"""

from __future__ import annotations

import socket
import time
from threading import Thread

import uvicorn
from starlette.types import ASGIApp


class PageServer:
    """Serves an application from a daemon thread.

    Args:
        app: what answers the requests.
        listener: a socket that listens; the server closes it.
    """

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=50,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = Thread(
            target=self._server.run,
            kwargs={"sockets": [listener]},
            name="headrace-live-page",
            daemon=True,
        )

    def start(self) -> None:
        """Serve from now on; the socket takes connections already."""
        self._thread.start()

    def stop(self) -> None:
        """Stop, and wait until the port is free."""
        while self._thread.is_alive() and not self._server.started:
            time.sleep(0.001)  # uvicorn does not close the socket if it is stopped while it starts
        self._server.should_exit = True
        self._thread.join()
