"""The guard of the live page: read-only, with fixed headers, and for the right host only.

Without a check of the Host header, a web page of somebody else could read the live page: its host name
resolves first to its own server and then to 127.0.0.1 (DNS rebinding).
"""

from __future__ import annotations

import re
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHODS: Final = ("GET", "HEAD")

LOOPBACK_NAMES: Final = frozenset(("localhost", "127.0.0.1", "[::1]"))

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""The headers of every answer."""


class RequestGuard:
    """Passes on requests that only read, and adds the fixed headers to all answers.

    Args:
        app: what answers the requests.
        hosts: the hosts that a request may name, without port; None for any.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._refusal(scope) or self._app
        await answer(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        if scope["method"] not in METHODS:
            allowed = {"Allow": ", ".join(METHODS)}
            return PlainTextResponse("this page is read-only\n", 405, allowed)
        if self._hosts is not None and host_of(Headers(scope=scope)) not in self._hosts:
            return PlainTextResponse("this page is for its own machine only\n", 400)
        return None


def host_of(headers: Headers) -> str:
    """Return the host that a request names, in lower case, without the port.

    >>> host_of(Headers({"host": "[::1]:8080"}))
    '[::1]'
    """
    return re.sub(r":\d*$", "", headers.get("host", "").lower())


def bracketed(host: str) -> str:
    """Return a host as a Host header has it.

    >>> bracketed("::1")
    '[::1]'
    """
    return f"[{host}]" if ":" in host else host.lower()
