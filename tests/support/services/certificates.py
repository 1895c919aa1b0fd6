"""Certificates of the tests' own for TLS, made with openssl: an authority, a server and a client."""

from __future__ import annotations

import subprocess
from pathlib import Path

import attrs

KEY_PASSWORD = "a-password-of-the-key"
"""The password of the client's key."""

_NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "3650"]


@attrs.frozen
class Certificates:
    """Files in PEM format, in a folder.

    Args:
        folder: the folder.
    """

    folder: Path

    @classmethod
    def made(cls, folder: Path) -> Certificates:
        """Make an authority, a server at 127.0.0.1 and a client, whose key has a password."""
        made = cls(folder)
        made._sign("authority", "-nodes")
        authority = ["-CA", str(made.authority), "-CAkey", str(folder / "authority.key")]
        made._sign("server", "-nodes", *authority, "-addext", "subjectAltName=IP:127.0.0.1")
        made._sign("client", "-passout", f"pass:{KEY_PASSWORD}", *authority)
        both = [(folder / f"server.{part}").read_text() for part in ("key", "pem")]
        made.server.write_text("".join(both))
        return made

    @property
    def authority(self) -> Path:
        """The certificate of the authority."""
        return self.folder / "authority.pem"

    @property
    def server(self) -> Path:
        """The key of the server, and its certificate."""
        return self.folder / "server-with-key.pem"

    @property
    def client(self) -> Path:
        """The certificate of the client."""
        return self.folder / "client.pem"

    @property
    def client_key(self) -> Path:
        """The key of the client, encrypted with the password."""
        return self.folder / "client.key"

    def _sign(self, name: str, *how: str) -> None:
        files = [
            "-keyout",
            str(self.folder / f"{name}.key"),
            "-out",
            str(self.folder / f"{name}.pem"),
        ]
        command = ["openssl", "req", "-x509", *_NEW_KEY, "-subj", f"/CN={name}", *files, *how]
        subprocess.run(command, check=True, capture_output=True)
