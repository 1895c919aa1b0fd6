"""A small HTTP server that keeps what it receives: a push gateway, a collector or a lineage server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import attrs


@attrs.frozen
class Request:
    """A request: method, path, headers by lower-case name, and body."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@attrs.frozen
class Receiver:
    """A server on this machine; it answers each request with ``status``."""

    url: str
    requests: list[Request]


@contextmanager
def receiving(status: int = 200) -> Iterator[Receiver]:
    """Receive requests while the body runs."""
    requests: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        def _keep(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            requests.append(Request(self.command, self.path, headers, body))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_PUT = _keep

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Receiver(f"http://127.0.0.1:{server.server_port}", requests)
        finally:
            server.shutdown()
            thread.join()
