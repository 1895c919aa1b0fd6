"""Secrets: values such as passwords that only the process that connects to a server knows.

A pipeline, its plan, reports, logs and checkpoints contain where a secret is found, and not the secret.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

from headrace.errors import PipelineError

SHOWN_SECRET: Final = "***"
"""The text that stands for a secret."""


class Secret:
    """A password, key or token that is looked up in the process that connects, each time that it connects.

    On Spark these are the driver and the workers: the environment variable or the file must be there.
    A secret never shows its text: ``repr`` and ``str`` name the place.

    >>> password = hr.io.Secret.from_env("KAFKA_PASSWORD")
    >>> password
    Secret.from_env('KAFKA_PASSWORD')
    >>> {"sasl.username": "quay", "sasl.password": password}["sasl.password"]
    Secret.from_env('KAFKA_PASSWORD')
    """

    # Not an attrs class: nothing that walks over fields can find the text.
    __slots__ = ("_kind", "_place")

    def __init__(self, kind: str, place: str) -> None:
        self._kind = kind
        self._place = place

    @classmethod
    def from_env(cls, name: str) -> Secret:
        """Return the secret in an environment variable.

        Args:
            name: name of the variable.
        """
        return cls("env", name)

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Secret:
        """Return the secret in a file, without the line break at its end.

        Args:
            path: a path that exists wherever the program connects.
        """
        return cls("file", fspath(path))

    @classmethod
    def given(cls, text: str) -> Secret:
        """Return a secret from its text, which travels in the pickled program to the workers.

        Args:
            text: the secret.

        >>> hr.io.Secret.given("hunter2")
        Secret.given('***')
        """
        return cls("given", text)

    def resolve(self) -> str:
        """Return the text.

        Raises:
            PipelineError: the environment variable or the file does not exist here.
        """
        if self._kind == "env":
            return self._from_environment()
        return self._from_file() if self._kind == "file" else self._place

    def _from_environment(self) -> str:
        found = os.environ.get(self._place)
        if found is None:
            raise PipelineError(
                f"the environment variable {self._place} of a secret is not set",
                remedy="set it in the environment of the program and of the workers (on Spark: "
                f"spark.executorEnv.{self._place}), or use Secret.from_file",
            )
        return found

    def _from_file(self) -> str:
        try:
            return Path(self._place).read_text().removesuffix("\n")
        except OSError as error:
            raise PipelineError(
                f"the file of a secret cannot be read: {error}",
                remedy="every process that connects needs the file: the driver and the workers",
            ) from error

    def __repr__(self) -> str:
        place = SHOWN_SECRET if self._kind == "given" else self._place
        method = self._kind if self._kind == "given" else f"from_{self._kind}"
        return f"Secret.{method}({place!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return (self._kind, self._place) == (other._kind, other._place)

    def __hash__(self) -> int:
        return hash((self._kind, self._place))

    def __reduce__(self) -> tuple[Any, ...]:
        return Secret, (self._kind, self._place)


def resolved(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the texts of their secrets.

    >>> resolved({"user": "quay", "password": hr.io.Secret.given("hunter2")})
    {'user': 'quay', 'password': 'hunter2'}
    """
    return {
        name: value.resolve() if isinstance(value, Secret) else value
        for name, value in settings.items()
    }
