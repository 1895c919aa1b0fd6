"""Addresses on which observers serve: ``host:port``, on this machine only if there is no host."""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.errors import PipelineError

LOOPBACK: Final = "127.0.0.1"

_LAST_PORT: Final = (1 << 16) - 1


class Address(NamedTuple):
    """An address to serve on.

    Attributes:
        host: name or number of an interface.
        port: number of the port; 0 for a free one.
    """

    host: str
    port: int

    @property
    def url(self) -> str:
        """The address as a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def parse_address(text: str, flag: str) -> Address:
    """Return the address that a flag gives; without a host it is the loopback interface.

    Args:
        text: ``host:port``, ``:port``, ``port`` or ``[IPv6]:port``.
        flag: the flag, for error messages.

    Raises:
        PipelineError: there is no port, or it is not a number up to 65535.

    >>> parse_address(":9100", "--prometheus"), parse_address("0.0.0.0:9100", "--prometheus")
    (Address(host='127.0.0.1', port=9100), Address(host='0.0.0.0', port=9100))
    >>> parse_address("[::1]:9100", "--prometheus").url
    'http://[::1]:9100'
    """
    host, _, port = text.strip().rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= _LAST_PORT):
        raise PipelineError(
            f"{flag} {text!r} is not an address",
            remedy=f"use a port such as {flag} :9100, or host:port",
        )
    return Address(host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port))
