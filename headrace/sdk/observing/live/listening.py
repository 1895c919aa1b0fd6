"""Sockets that listen before the run starts, so that a port that is taken is an error at once."""

from __future__ import annotations

import os
import socket
from ipaddress import ip_address

from headrace.errors import PipelineError
from headrace.sdk.observing.address import Address


def listen(address: Address) -> socket.socket:
    """Return a socket that listens on an address.

    Raises:
        PipelineError: the port is taken, or the host is not this machine.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server(address, family=family)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise PipelineError(
            f"--serve cannot listen on {address.url}: {reason}",
            remedy="stop what uses the port, or choose another one; --serve :0 takes one that is free",
        ) from error


def address_of(listener: socket.socket) -> Address:
    """Return the address on which a socket listens, with its real port."""
    host, port = listener.getsockname()[:2]
    return Address(host, port)


def is_loopback(listener: socket.socket) -> bool:
    """Return whether only programs on this machine reach a socket.

    >>> with listen(Address("127.0.0.1", 0)) as listener:
    ...     is_loopback(listener)
    True
    """
    return ip_address(address_of(listener).host).is_loopback


def url_of(listener: socket.socket) -> str:
    """Return the URL of a socket; if it listens on all addresses, with the name of this machine."""
    address = address_of(listener)
    if ip_address(address.host).is_unspecified:
        address = Address(socket.gethostname(), address.port)
    return f"{address.url}/"
