"""A small server for scrapes: answers each request in a thread, logs none, and stops within a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socket import AF_INET6
from socketserver import ThreadingMixIn
from threading import Thread
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from headrace.sdk.observing.address import Address

_POLL_SECONDS: Final = 0.05
"""Maximum time in which the server notices that it shall stop, in seconds."""


@contextmanager
def serving(app: Callable[..., Any], asked: Address) -> Iterator[Address]:
    """Serve a WSGI application while the body runs.

    Args:
        app: the application.
        asked: the address to serve on; port 0 for a free one.

    Yields:
        The address with the port that is used.
    """
    kind = _ServerIPv6 if ":" in asked.host else _Server
    with make_server(asked.host, asked.port, app, kind, _QuietHandler) as server:
        thread = Thread(target=server.serve_forever, args=(_POLL_SECONDS,), daemon=True)
        thread.start()
        try:
            yield Address(asked.host, server.server_port)
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingMixIn, WSGIServer):
    """A server that answers requests in threads."""

    daemon_threads = True


class _ServerIPv6(_Server):
    """A server with an address of IPv6."""

    address_family = AF_INET6


class _QuietHandler(WSGIRequestHandler):
    """A handler that does not log requests."""

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""
