"""A proxy that loses connections at a chosen moment, as a network or a server that fails does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import attrs


@attrs.define(eq=False)
class Proxy:
    """Passes bytes on to a port of loopback, until a client sends some word.

    Attributes:
        port: where it listens.
        word: what a client sends before its connection is cut; empty for nothing.
        before: whether to cut before the word has reached the server, or after its answer has left it.
        cuts: how many connections are still to be cut.
    """

    server: int
    port: int = 0
    word: bytes = b""
    before: bool = False
    cuts: int = 0

    def arm(self, word: bytes, before: bool, cuts: int = 1) -> None:
        """Cut the next connections that send a word."""
        self.word, self.before, self.cuts = word, before, cuts

    def serve(self, listener: socket.socket) -> None:
        """Accept connections until the listener is closed."""
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, suppress(ConnectionRefusedError):  # the server is down
            self._pass_both_ways(client)

    def _pass_both_ways(self, client: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self.server)) as server:
            cut = threading.Event()
            back = threading.Thread(target=self._answers, args=(server, client, cut), daemon=True)
            back.start()
            with suppress(OSError):
                self._requests(client, server, cut)
            for end in (server, client):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            back.join()

    def _requests(self, client: socket.socket, server: socket.socket, cut: threading.Event) -> None:
        while sent := client.recv(1 << 16):
            if self.cuts and self.word in sent:
                self.cuts -= 1
                if self.before:
                    return
                cut.set()
            server.sendall(sent)
            if cut.is_set():
                while client.recv(1 << 16):
                    pass

    def _answers(self, server: socket.socket, client: socket.socket, cut: threading.Event) -> None:
        """Pass answers on until the server ends, or one is to be lost; then the client is at its end too."""
        with suppress(OSError):
            while (answer := server.recv(1 << 16)) and not cut.is_set():
                client.sendall(answer)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy(port: int) -> Iterator[Proxy]:
    """A proxy to a port of loopback, which is gone afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = Proxy(port, listener.getsockname()[1])
        thread = threading.Thread(target=made.serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield made
        finally:
            listener.shutdown(socket.SHUT_RDWR)
    thread.join()
