"""The proxy of the fault tests behaves as a network does where no connection is cut."""

from __future__ import annotations

import socket

import pytest

from tests.support.services.cut_connection import proxy

TIMEOUT = 10


@pytest.fixture
def connected():
    """A client and a server with a proxy between them."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        proxy(listener.getsockname()[1]) as between,
        socket.create_connection(("127.0.0.1", between.port), TIMEOUT) as client,
    ):
        server, _ = listener.accept()
        with server:
            server.settimeout(TIMEOUT)
            yield client, server


def test_a_client_that_waits_sees_the_end_of_its_server(connected):
    client, server = connected
    client.sendall(b"request")
    assert server.recv(100) == b"request"
    server.sendall(b"half of an answer")
    server.close()
    with client.makefile("rb") as answers:
        assert answers.read() == b"half of an answer"


def test_a_server_sees_the_end_of_its_client(connected):
    client, server = connected
    client.close()
    assert server.recv(100) == b""
